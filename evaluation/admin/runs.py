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
from evaluation.reports import pictures
from evaluation.reports.tables import STAGES, answer_line, answer_lines, described
from evaluation.runs import lifecycle
from evaluation.runs.comparison import Comparison, compare
from ragsite.database.tenancy import namespace
from ragsite.platform.wording import plural

SHOWN = ("ndcg@10", metrics.ANSWER, "mrr@10", "recall@10", "recall@100")


@admin.register(EvaluationRun)
class EvaluationRunAdmin(ReadOnlyAdmin):
    list_display = (
        "started",
        "golden_set",
        "label",
        "state",
        "progress",
        "ndcg",
        "answered",
        "mrr",
        "recall",
        "p95",
        "code_version",
    )
    list_filter = ("golden_set", "state", "namespace")
    list_select_related = ("golden_set",)
    search_fields = ("label", "=id", "golden_set__name")
    actions = ("compare_two", "cancel")

    @admin.display(description="run", ordering="created_at")
    def started(self, run: EvaluationRun) -> str:
        return f"{run.created_at:%Y-%m-%d %H:%M}"

    @admin.display
    def progress(self, run: EvaluationRun) -> SafeString:
        bar = '<progress max="{}" value="{}"></progress> {}/{}'
        done, total = run.queries_done, run.queries_total
        return format_html(bar, total or 1, done, done, total)

    @admin.display(description="nDCG@10")
    def ndcg(self, run: EvaluationRun) -> str:
        return _mean(run, "ndcg@10")

    @admin.display(description="answer@context")
    def answered(self, run: EvaluationRun) -> str:
        mean = _mean(run, metrics.ANSWER)
        return f"{mean} at {run.tokens.get('mean', 0):.0f} tokens" if mean else ""

    @admin.display(description="MRR@10")
    def mrr(self, run: EvaluationRun) -> str:
        return _mean(run, "mrr@10")

    @admin.display(description="recall@10")
    def recall(self, run: EvaluationRun) -> str:
        return _mean(run, "recall@10")

    @admin.display(description="p95 ms")
    def p95(self, run: EvaluationRun) -> str:
        total = run.latency_ms.get("total")
        return f"{total['p95']:.0f}" if total else ""

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
            path(
                "compare/<slug:chart>.svg", view(self.compare_chart), name=f"{name}_compare_chart"
            ),
            path("<uuid:pk>/chart/<slug:chart>.svg", view(self.run_chart), name=f"{name}_chart"),
            *super().get_urls(),
        ]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        run = self._run(request, object_id)
        rows = [
            {
                "text": score.text,
                "query_id": score.query_id,
                "values": [
                    f"{score.metrics[name]:.3f}" if name in score.metrics else "–" for name in SHOWN
                ],
                "ms": score.times_ms.get("total", 0),
                "tokens": score.tokens,
                "judged": score.judged,
                "fallbacks": score.fallbacks,
            }
            for score in run.scores.defer("ranking")
        ]
        context = {
            **self.admin_site.each_context(request),
            "title": f"{run.golden_set.name}: {run}",
            "opts": self.opts,
            "run": run,
            "described": described(run),
            "answered": list(filter(None, (answer_line(run), *answer_lines(run)))),
            "measures": [
                (name, run.metrics[name])
                for name in (*metrics.REPORTED, *metrics.OF_ANSWERS)
                if name in run.metrics
            ],
            "charts": list(pictures.of_run(run)) if run.metrics else [],
            "shown": SHOWN,
            "rows": rows,
            "others": EvaluationRun.objects.filter(
                golden_set=run.golden_set_id, state="succeeded"
            ).exclude(pk=run.pk)[:20],
            "configuration": run.configuration,
        }
        return TemplateResponse(request, "admin/evaluation/run.html", context)

    def run_chart(self, request: HttpRequest, pk: uuid.UUID, chart: str) -> HttpResponse:
        draw = pictures.of_run(self._run(request, pk)).get(chart)
        return _svg(draw)

    def compare_view(self, request: HttpRequest) -> HttpResponse:
        comparison = self._comparison(request)
        if isinstance(comparison, HttpResponse):
            return comparison
        pair = urlencode({"a": comparison.a.pk, "b": comparison.b.pk})
        context = {
            **self.admin_site.each_context(request),
            "title": "Two runs compared",
            "opts": self.opts,
            "comparison": comparison,
            "a": described(comparison.a),
            "b": described(comparison.b),
            "charts": list(pictures.of_comparison(comparison)),
            "pair": pair,
            "stages": STAGES,
        }
        return TemplateResponse(request, "admin/evaluation/compare.html", context)

    def compare_chart(self, request: HttpRequest, chart: str) -> HttpResponse:
        comparison = self._comparison(request)
        if isinstance(comparison, HttpResponse):
            raise Http404
        return _svg(pictures.of_comparison(comparison).get(chart))

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
    return f"{run.metrics[name]['mean']:.4f}" if name in run.metrics else ""


def _svg(draw: pictures.Draw | None) -> HttpResponse:
    if draw is None:
        raise Http404
    return HttpResponse(draw("svg"), content_type="image/svg+xml")
