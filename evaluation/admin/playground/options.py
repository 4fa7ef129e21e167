"""The form of one configuration: every option of POST /query, and the resulting query."""

import json
from collections.abc import Mapping
from typing import Any

from django import forms
from rest_framework.exceptions import ValidationError

from retrieval.api.serializers import STAGES, QuerySerializer, request_of
from retrieval.requests import SearchRequest

# Set by the page itself, which shows highlighted words and every candidate.
ALWAYS = {"highlight": True, "explain": True}
QUESTION_FIELDS = ("query", *ALWAYS)  # of a query, but not options of a configuration


def _defaults() -> dict[str, Any]:
    fields = QuerySerializer().fields
    return {name: field.default for name, field in fields.items() if not field.required}


def _choices(name: str) -> list[tuple[str, str]]:
    field: Any = QuerySerializer().fields[name]
    return [(value, value) for value in field.choices]


class ConfigurationForm(forms.Form):
    """A blank field means the default of POST /query."""

    k = forms.IntegerField(required=False, label="Results (k)")
    mode = forms.ChoiceField(required=False)
    fusion = forms.ChoiceField(required=False)
    weight_semantic = forms.FloatField(required=False, label="Weight of vectors")
    weight_lexical = forms.FloatField(required=False, label="Weight of words")
    rrf_k = forms.IntegerField(required=False, label="RRF k")
    rerank = forms.ChoiceField(required=False)
    fast = forms.BooleanField(required=False, label="Fast: auto never reranks")
    include_facts = forms.BooleanField(required=False, label="Facts among the passages")
    feedback_boost = forms.BooleanField(required=False, label="Boost from feedback")
    min_relevance = forms.FloatField(required=False, label="Lowest relevance")
    max_per_document = forms.IntegerField(required=False, label="Maximum per document")
    mmr_lambda = forms.FloatField(required=False, label="MMR lambda")
    expand = forms.ChoiceField(required=False)
    token_budget = forms.IntegerField(required=False, label="Token budget")
    context_format = forms.ChoiceField(required=False, label="Context format")
    filters = forms.CharField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 2, "placeholder": '{"tags": ["manual"]}'}),
        label="Filters, as JSON",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for stage in STAGES:
            self.fields[f"threshold_{stage}"] = forms.FloatField(
                required=False, label=f"Lowest {stage} score"
            )
        defaults = _defaults()
        for name, field in self.fields.items():
            if isinstance(field, forms.ChoiceField):
                field.choices = _choices(name)
                field.initial = defaults[name]
            elif isinstance(field, forms.IntegerField):  # FloatField is a subclass of it
                field.widget.attrs |= {"step": "any", "placeholder": _placeholder(name, defaults)}

    def body(self, query: str) -> dict[str, Any]:
        """Return the equivalent body of POST /query, with only the options that differ from the
        defaults."""
        given = {
            name: value for name, value in self.cleaned_data.items() if value not in (None, "")
        }
        body: dict[str, Any] = {"query": query}
        filters = given.pop("filters", None)
        thresholds = {
            stage: given.pop(f"threshold_{stage}")
            for stage in STAGES
            if f"threshold_{stage}" in given
        }
        weights = {
            leg: given.pop(f"weight_{leg}")
            for leg in ("semantic", "lexical")
            if f"weight_{leg}" in given
        }
        defaults = _defaults()
        body |= {name: value for name, value in given.items() if value != defaults.get(name)}
        if weights:
            body["weights"] = {"semantic": 0.5, "lexical": 0.5, **weights}
        if thresholds:
            body["threshold"] = thresholds
        if filters:
            body["filters"] = filters
        return body | ALWAYS

    def clean_filters(self) -> Any:
        text = self.cleaned_data["filters"].strip()
        if not text:
            return None
        try:
            filters = json.loads(text)
        except (ValueError, RecursionError):
            raise forms.ValidationError("This is not JSON.") from None
        if not isinstance(filters, dict):
            raise forms.ValidationError('Give an object, e.g. {"tags": ["manual"]}.')
        return filters

    def request(self, query: str) -> SearchRequest | None:
        """Return the search request; None if the API would refuse it, with the reasons in
        `errors`."""
        try:
            return request_of(self.body(query))
        except ValidationError as error:
            self._add_errors(error.detail)
            return None

    def _add_errors(self, detail: Any) -> None:
        if not isinstance(detail, Mapping):
            detail = {"query": detail}
        for name, wrong in detail.items():
            for path, sentence in _sentences(wrong):
                self.add_error(*self._placed(name, path, sentence))

    def _placed(self, name: str, path: str, sentence: str) -> tuple[str | None, str]:
        """Return the form's field for the API's name, and the error."""
        prefix = {"weights": "weight", "threshold": "threshold"}.get(name)
        if prefix and f"{prefix}_{path}" in self.fields:
            return f"{prefix}_{path}", sentence
        if name in self.fields:
            return name, f"{path}: {sentence}" if path else sentence
        return None, f"{name}: {sentence}"

    @property
    def summary(self) -> str:
        """Return the differences from the defaults in one line."""
        if not self.is_bound or not self.is_valid():
            return "options"
        changed = {
            name: value for name, value in self.body("").items() if name not in QUESTION_FIELDS
        }
        return ", ".join(f"{k} {_short(v)}" for k, v in changed.items()) or "defaults"


def _placeholder(name: str, defaults: Mapping[str, Any]) -> str:
    if name.startswith("weight_"):
        return "0.5"
    value = defaults.get(name)
    return f"{value:g}" if isinstance(value, int | float) else "none"


def _short(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _sentences(wrong: Any, path: str = "") -> list[tuple[str, str]]:
    """Return the (path, message) of each error in a serializer's nested errors."""
    if isinstance(wrong, Mapping):
        found: list[tuple[str, str]] = []
        for name, inner in wrong.items():
            step = "" if name == "non_field_errors" else str(name)
            found += _sentences(inner, ".".join(filter(None, (path, step))))
        return found
    if isinstance(wrong, list | tuple):
        return [pair for one in wrong for pair in _sentences(one, path)]
    return [(path, str(wrong))]
