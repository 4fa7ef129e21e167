"""Titles that say where you are: `Documents`, `Document`, never "Select … to change"; and names for
fields that have no visible label."""

from typing import Any

from django.contrib.admin.widgets import AdminSplitDateTime
from django.http import HttpRequest, HttpResponse
from django.utils.text import capfirst


class Titled:
    """Mixed into a ModelAdmin. A change form's subtitle is the row itself."""

    opts: Any

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

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """A moment has two inputs, and Django labels neither."""
        field = super().formfield_for_dbfield(db_field, request, **kwargs)  # type: ignore[misc]
        if field is not None and isinstance(field.widget, AdminSplitDateTime):
            for part, name in zip(field.widget.widgets, ("date", "time"), strict=True):
                part.attrs["aria-label"] = f"{capfirst(db_field.verbose_name)}, {name}"
        return field


class NamedCells:
    """Mixed into a tabular inline: its fields have no labels, only the heads of their columns."""

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        field = super().formfield_for_dbfield(db_field, request, **kwargs)  # type: ignore[misc]
        if field is not None:
            field.widget.attrs.setdefault("aria-label", capfirst(db_field.verbose_name))
        return field
