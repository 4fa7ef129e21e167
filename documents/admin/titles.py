"""Wording of lists and forms: specific titles instead of "Select … to change"; relative times;
titles of filters, and labels of fields that have no visible one."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.contrib.admin.widgets import AdminSplitDateTime, RelatedFieldWidgetWrapper
from django.core.exceptions import FieldDoesNotExist
from django.db.models import DateTimeField, ForeignKey, Model
from django.forms.formsets import DELETION_FIELD_NAME
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.text import capfirst

from ragsite.web.markup import when


class Titled:
    """Mixed into a ModelAdmin. A change form's subtitle is the row itself. `filter_titles`
    overrides the title of a filter where the field's own name is unclear."""

    opts: Any
    model: type[Model]
    filter_titles: Mapping[str, str] = MappingProxyType({})

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        """Times are relative, and exact on hover."""
        columns = super().get_list_display(request)  # type: ignore[misc]
        return [_moment(self, name) if _is_moment(self.model, name) else name for name in columns]

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        changelist = super().get_changelist_instance(request)  # type: ignore[misc]
        for one in changelist.filter_specs:
            one.title = self.filter_titles.get(getattr(one, "field_path", ""), one.title)
        return changelist

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        title = capfirst(self.opts.verbose_name_plural)
        context = {"title": title, **(extra_context or {})}
        return super().changelist_view(request, context)  # type: ignore[misc]

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: Any = None,
    ) -> HttpResponse:
        context = {"title": capfirst(self.opts.verbose_name), **(extra_context or {})}
        return super().change_view(request, object_id, form_url, context)  # type: ignore[misc]

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: Any = None
    ) -> HttpResponse:
        """Show the audit log's entries for this row; Django's own history only knows changes in the
        admin."""
        if not request.user.has_perm("documents.view_auditevent"):
            return super().history_view(request, object_id, extra_context)  # type: ignore[misc]
        if self.get_object(request, unquote(object_id)) is None:  # type: ignore[attr-defined]
            raise Http404
        listed = reverse("admin:documents_auditevent_changelist")
        asked = urlencode({"target_id__exact": unquote(object_id)})
        return HttpResponseRedirect(f"{listed}?{asked}")

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """A time has two inputs, which Django does not label. Choices are plain selects."""
        field = super().formfield_for_dbfield(db_field, request, **kwargs)  # type: ignore[misc]
        if field is None:
            return None
        if isinstance(db_field, ForeignKey) and isinstance(field.widget, RelatedFieldWidgetWrapper):
            # without buttons that open other forms in pop-up windows
            field.widget = field.widget.widget
        if isinstance(field.widget, AdminSplitDateTime):
            for part, name in zip(field.widget.widgets, ("date", "time"), strict=True):
                part.attrs["aria-label"] = f"{capfirst(db_field.verbose_name)}, {name}"
        return field


def _is_moment(model: type[Model], name: Any) -> bool:
    try:
        return isinstance(name, str) and isinstance(model._meta.get_field(name), DateTimeField)
    except FieldDoesNotExist:
        return False


def _moment(model_admin: Any, name: str) -> Any:
    field = model_admin.model._meta.get_field(name)

    @admin.display(description=field.verbose_name, ordering=name)
    def shown(row: Any) -> Any:
        return when(getattr(row, name))

    shown.__name__ = name
    return shown


class NamedCells:
    """Mixed into a tabular inline, whose fields have only column headings: gives them labels."""

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        field = super().formfield_for_dbfield(db_field, request, **kwargs)  # type: ignore[misc]
        if field is not None:
            field.widget.attrs.setdefault("aria-label", capfirst(db_field.verbose_name))
        return field

    def get_formset(self, request: HttpRequest, obj: Any = None, **kwargs: Any) -> Any:
        """Label the checkbox that deletes a row."""
        formset: Any = super().get_formset(request, obj, **kwargs)  # type: ignore[misc]

        class Named(formset):
            def add_fields(self, form: Any, index: int | None) -> None:
                super().add_fields(form, index)
                if box := form.fields.get(DELETION_FIELD_NAME):
                    box.widget.attrs["aria-label"] = "Delete this row"

        return Named
