"""The form by which an operator states a fact."""

import json
from typing import Any

from django import forms

from documents.memory.statements import MAX_OBJECT, UNSET, StatedFact
from documents.memory.writing import remember
from documents.metadata import storable
from documents.models import Fact
from documents.passages import MAX_FACT_NAME
from ragsite.platform.errors import ApiError

MAX_TAG = 200


class FactForm(forms.ModelForm):
    """Stored through the pipeline: it may confirm a fact that is held, or close one."""

    subject = forms.CharField(max_length=MAX_FACT_NAME, help_text="Whom or what it is about.")
    predicate = forms.CharField(max_length=MAX_FACT_NAME, help_text="Such as: works at")
    value = forms.CharField(
        label="Object",
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text='A text, or JSON such as 12, true or {"street": "Long Lane"}.',
    )
    certainty = forms.FloatField(min_value=0, max_value=1, initial=1.0)
    user = forms.CharField(
        max_length=200, required=False, help_text="Whose memory it belongs to; blank: nobody's."
    )
    tags = forms.CharField(required=False, help_text="Separated by commas.")
    source_uri = forms.CharField(label="Source", max_length=2048, required=False)
    valid_from = forms.DateTimeField(
        required=False, help_text="Since when it holds, in UTC. Blank: since now."
    )
    since_ever = forms.BooleanField(required=False, help_text="It has always held.")
    valid_to = forms.DateTimeField(
        required=False, help_text="Until when it holds, in UTC. Blank: until further notice."
    )

    class Meta:
        model = Fact
        fields = ("namespace",)

    def clean_value(self) -> Any:
        written = storable(self.cleaned_data["value"])
        try:
            value = json.loads(written, parse_constant=_no_number)
        except (ValueError, RecursionError):
            value = written
        if value in (None, ""):
            raise forms.ValidationError("May not be blank.")
        if len(json.dumps(value, ensure_ascii=False)) > MAX_OBJECT:
            raise forms.ValidationError(f"At most {MAX_OBJECT:,} characters of JSON.")
        return value

    def clean_tags(self) -> tuple[str, ...]:
        tags = [tag.strip() for tag in self.cleaned_data["tags"].split(",")]
        if any(len(tag) > MAX_TAG for tag in tags):
            raise forms.ValidationError(f"A tag has at most {MAX_TAG} characters.")
        return tuple(dict.fromkeys(filter(None, tags)))

    def clean(self) -> dict[str, Any]:
        """Try it here, where what is refused can still be shown beside the fields."""
        fields = super().clean() or self.cleaned_data
        if self.errors:
            return fields
        since = None if fields["since_ever"] else fields["valid_from"] or UNSET
        stated = StatedFact(
            fields["subject"],
            fields["predicate"],
            fields["value"],
            certainty=fields["certainty"],
            user=fields["user"],
            tags=fields["tags"],
            source_uri=fields["source_uri"],
            valid_from=since,
            valid_to=fields["valid_to"],
        )
        try:
            (self.outcome,) = remember(fields["namespace"].pk, [stated])
        except ApiError as error:
            raise forms.ValidationError(str(error)) from None
        return fields


def _no_number(constant: str) -> None:
    """NaN and Infinity are texts: JSON has no such numbers."""
    raise ValueError(constant)
