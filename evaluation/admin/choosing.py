"""The choice of a golden set beside an action, to which the selected rows are added."""

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin.helpers import ActionForm
from django.http import HttpRequest, HttpResponse

from documents.admin.parameters import uuid_or_404
from documents.admin.visible import only_visible
from evaluation.models import GoldenSet


class SetChoiceForm(ActionForm):
    golden_set = forms.ModelChoiceField(GoldenSet.objects.none(), required=False, label="Set:")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["golden_set"]
        assert isinstance(field, forms.ModelChoiceField)  # noqa: S101
        field.queryset = GoldenSet.objects.all()  # the choices are limited by ChoosesSet


class ChoosesSet:
    """Mixed into a ModelAdmin with that form: offers the sets that the operator sees."""

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        response: Any = super().changelist_view(request, extra_context)  # type: ignore[misc]
        if form := (getattr(response, "context_data", None) or {}).get("action_form"):
            form.fields["golden_set"].queryset = only_visible(request, GoldenSet.objects.all())
        return response


def chosen_set(request: HttpRequest) -> GoldenSet | None:
    """Return the chosen set; None, with a warning to the user, if none was chosen."""
    chosen = request.POST.get("golden_set")
    sets = only_visible(request, GoldenSet.objects.all())
    golden_set: GoldenSet | None = sets.filter(pk=uuid_or_404(chosen)).first() if chosen else None
    if golden_set is None:
        messages.warning(request, "Choose the set beside the action.")
    return golden_set
