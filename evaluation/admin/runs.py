"""Runs: the list, one run with its charts and queries, and two runs compared."""

import uuid
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from documents.accounts import audit
from documents.admin.confirmation import confirm_first
from documents.admin.readonly import ReadOnlyAdmin
from evaluation.errors import EvaluationError
from evaluation.measures import metrics
from evaluation.models import EvaluationRun
from evaluation.reports.tables import configured
from evaluation.runs import lifecycle
from evaluation.runs.comparison import Comparison, compare
from ragsite.database.tenancy import namespace
from ragsite.platform.wording import plural
from ragsite.web.markup import badge, progress_bar, when

from . import charts, run_page


@admin.register(EvaluationRun)
class EvaluationRunAdmin(ReadOnlyAdmin):
    list_display = (
        "shown_label",
        "golden_set",
        "shown_state",
        "progress",
        "ndcg",
        "answered",
        "recall",
        "p95",
        "started",
    )
    list_filter = ("golden_set", "state", "namespace")
    list_select_related = ("golden_set",)
    search_fields = ("label", "=id", "golden_set__name")
    search_help_text = "Label, golden set or exact id"
    actions = ("compare_two", "cancel")
    row_noun = "run"
    when_empty = "Choose a golden set, then “Start a run”."

    @admin.display(description="run", ordering="label")
    def shown_label(self, run: EvaluationRun) -> str:
        return str(run)

    @admin.display(description="state", ordering="state")
    def shown_state(self, run: EvaluationRun) -> SafeString:
        return badge(run.state)

    @admin.display(description="started", ordering="created_at")
    def started(self, run: EvaluationRun) -> SafeString:
        return when(run.created_at)

    @admin.display
    def progress(self, run: EvaluationRun) -> SafeString | str:
        """Show the progress. The number of queries is unknown until the run has begun."""
        if not run.queries_total:
            return "waiting for a worker" if run.state == run.State.QUEUED else "–"
        if run.state == run.State.SUCCEEDED:
            return f"{run.queries_done:,}"
        return progress_bar(run.queries_done, run.queries_total)

    @admin.display(description="nDCG @10")
    def ndcg(self, run: EvaluationRun) -> str:
        return _mean(run, "ndcg@10")

    @admin.display(description="answer@ context")  # two words, so that the column is narrow
    def answered(self, run: EvaluationRun) -> SafeString | str:
        mean = _mean(run, metrics.ANSWER)
        tokens = plural(round(run.tokens.get("mean", 0)), "token")
        return format_html('{} <small class="quiet">{}</small>', mean, tokens) if mean else ""

    @admin.display(description="recall @10")
    def recall(self, run: EvaluationRun) -> str:
        return _mean(run, "recall@10")

    @admin.display(description="p95 ms")
    def p95(self, run: EvaluationRun) -> str:
        total = run.latency_ms.get("total")
        return f"{total['p95']:,.0f}" if total else ""

    @admin.action(description="Compare two runs (the older is a)")
    def compare_two(
        self, request: HttpRequest, queryset: QuerySet[EvaluationRun]
    ) -> HttpResponse | None:
        chosen = list(queryset.order_by("created_at"))
        if len(chosen) != 2:
            self.message_user(request, "Choose two runs.", messages.WARNING)
            return None
        pair = urlencode({"a": chosen[0].pk, "b": chosen[1].pk})
        return HttpResponseRedirect(f"{reverse('admin:evaluation_evaluationrun_compare')}?{pair}")

    @admin.action(description="Cancel", permissions=["operate"])
    @confirm_first(
        "Cancel {rows}?",
        noun="run",
        consequence="What they have measured so far is not reported. Runs that have ended are "
        "left alone.",
    )
    def cancel(self, request: HttpRequest, queryset: QuerySet[EvaluationRun]) -> None:
        cancelled = 0
        for run in queryset:
            with namespace(run.namespace_id):
                if lifecycle.cancel(run.pk):
                    audit.record("evaluationrun.cancel", target=run)
                    cancelled += 1
        self.message_user(request, f"{plural(cancelled, 'run')} cancelled.")

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        name = "evaluation_evaluationrun"
        return [
            path("compare/", view(self.compare_view), name=f"{name}_compare"),
            *super().get_urls(),
        ]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        run = self._run(request, object_id)
        context = {
            **self.admin_site.each_context(request),
            "title": f"{run.golden_set.name}: {run}",
            "opts": self.opts,
            **run_page.context_of(run, request.GET.get("p", "1")),
        }
        return TemplateResponse(request, "admin/evaluation/run.html", context)

    def compare_view(self, request: HttpRequest) -> HttpResponse:
        comparison = self._comparison(request)
        if isinstance(comparison, HttpResponse):
            return comparison
        context = {
            **self.admin_site.each_context(request),
            "title": f"Two runs of {comparison.a.golden_set.name} compared",
            "opts": self.opts,
            "comparison": comparison,
            "sides": [
                (name, run, configured(run))
                for name, run in (("a", comparison.a), ("b", comparison.b))
            ],
            "charts": charts.of_comparison(comparison),
        }
        return TemplateResponse(request, "admin/evaluation/compare.html", context)

    def _run(self, request: HttpRequest, pk: Any) -> EvaluationRun:
        if not self.has_view_permission(request):
            raise PermissionDenied
        try:
            found = uuid.UUID(str(pk))
        except ValueError:
            raise Http404 from None
        return get_object_or_404(self.get_queryset(request).select_related("golden_set"), pk=found)

    def _comparison(self, request: HttpRequest) -> Comparison | HttpResponse:
        a, b = (self._run(request, request.GET.get(name, "")) for name in ("a", "b"))
        if a.namespace_id != b.namespace_id:
            raise Http404
        try:
            return compare(a, b)
        except EvaluationError as error:
            messages.error(request, str(error))
            return HttpResponseRedirect(reverse("admin:evaluation_evaluationrun_changelist"))


def _mean(run: EvaluationRun, name: str) -> str:
    return f"{run.metrics[name]['mean']:.3f}" if name in run.metrics else ""
