"""A choice of golden set beside an action: where the selected rows are added."""

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin.helpers import ActionForm
from django.http import HttpRequest

from documents.admin.parameters import uuid_or_404
from evaluation.models import GoldenSet


class SetChoiceForm(ActionForm):
    golden_set = forms.ModelChoiceField(GoldenSet.objects.none(), required=False, label="Set:")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["golden_set"]
        assert isinstance(field, forms.ModelChoiceField)  # noqa: S101
        field.queryset = GoldenSet.objects.all()


def chosen_set(request: HttpRequest) -> GoldenSet | None:
    """The chosen set; None, with a warning to the user, if none was chosen."""
    chosen = request.POST.get("golden_set")
    golden_set = GoldenSet.objects.filter(pk=uuid_or_404(chosen)).first() if chosen else None
    if golden_set is None:
        messages.warning(request, "Choose the set beside the action.")
    return golden_set
