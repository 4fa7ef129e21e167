"""Start a run from the admin: a form with the options; workers carry it out."""

import uuid
from collections.abc import Callable
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import reverse

from documents.admin.visible import only_visible
from evaluation.errors import EvaluationError
from evaluation.models import GoldenSet
from evaluation.runs import lifecycle
from evaluation.runs.options import RunOptions
from ragsite.database.tenancy import namespace

DEFAULTS = RunOptions()


class StartForm(forms.Form):
    label = forms.CharField(max_length=200, required=False, help_text="Label of the run.")
    mode = forms.ChoiceField(choices=[(m, m) for m in ("hybrid", "semantic", "lexical")])
    fusion = forms.ChoiceField(choices=[(f, f) for f in ("weighted", "rrf")])
    semantic_weight = forms.FloatField(
        min_value=0,
        max_value=1,
        initial=DEFAULTS.semantic_weight,
        help_text="Weight of vectors in weighted fusion.",
    )
    rerank = forms.ChoiceField(choices=[])
    k = forms.IntegerField(min_value=1, max_value=100, initial=DEFAULTS.k)
    depth = forms.IntegerField(min_value=1, max_value=1000, initial=DEFAULTS.depth)
    max_per_document = forms.IntegerField(
        min_value=1,
        max_value=100,
        required=False,
        help_text="Empty: several documents are preferred, without a limit.",
    )
    token_budget = forms.IntegerField(
        min_value=1,
        max_value=1_000_000,
        required=False,
        help_text="Token budget of the context. Empty: the service's default.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        rerank = self.fields["rerank"]
        assert isinstance(rerank, forms.ChoiceField)  # noqa: S101
        rerank.choices = [(name, name) for name in ("auto", "none", *settings.RERANKERS)]


def start_view(model_admin: admin.ModelAdmin) -> Callable[..., HttpResponse]:
    def view(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
        golden_set = get_object_or_404(only_visible(request, GoldenSet.objects.all()), pk=pk)
        if not model_admin.has_change_permission(request, golden_set):
            raise PermissionDenied
        form = StartForm(request.POST or None)
        if request.method == "POST" and form.is_valid():
            options = dict(form.cleaned_data)
            label = options.pop("label")
            try:
                with namespace(golden_set.namespace_id):
                    run = lifecycle.create(golden_set, RunOptions(**options), label=label)
            except EvaluationError as error:
                messages.error(request, str(error))
            else:
                return HttpResponseRedirect(
                    reverse("admin:evaluation_evaluationrun_change", args=[run.pk])
                )
        context = {
            **model_admin.admin_site.each_context(request),
            "title": f"Measure {golden_set.name}",
            "opts": model_admin.opts,
            "golden_set": golden_set,
            "form": form,
        }
        return TemplateResponse(request, "admin/evaluation/start.html", context)

    return view
