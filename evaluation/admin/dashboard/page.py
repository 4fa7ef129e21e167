"""The values of the dashboard, for one operator."""

from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from documents.admin.visible import visible_namespaces
from documents.jobs.status import WorkStatus, work_status
from documents.models import Namespace

from . import figures
from .chart import drawn
from .figures import PERIODS, QuestionCount
from .troubles import troubles


def dashboard(request: HttpRequest) -> dict[str, Any]:
    visible = visible_namespaces(request)
    period = PERIODS.get(request.GET.get("period", ""), PERIODS["day"])
    asked, total = figures.questions(period, visible)
    work = work_status(visible)
    return {
        "work": work,
        "documents": [
            {"status": status, "count": count, "address": _documents(status__exact=status)}
            for status, count in work.documents.items()
        ],
        "failures": _failures(work),
        "failed_address": _jobs(state__exact="failed", finished_at__gte=_yesterday()),
        "queued_address": _jobs(state__exact="queued"),
        "running_address": _jobs(state__exact="running"),
        "period": period,
        "periods": list(PERIODS.values()),
        "questions": total,
        **_questions(total, period.since(timezone.now())),
        "chart": drawn(asked, period) if total.count else None,
        "last": figures.last_run(visible),
        "storage": figures.storage() if visible is None else None,
        "profiles": figures.profiles(visible),
        "troubles": troubles(visible),
        "has_namespaces": Namespace.objects.exists(),
    }


def _failures(work: WorkStatus) -> list[dict[str, Any]]:
    return [
        {
            "code": code,
            "count": count,
            "address": _jobs(state__exact="failed", error_code=code, finished_at__gte=_yesterday()),
        }
        for code, count in work.failures
    ]


def _questions(total: QuestionCount, since: datetime) -> dict[str, str]:
    """Link the number of questions and its percentiles to the lists behind them."""
    listed = reverse("admin:retrieval_querylog_changelist")
    asked = {"created_at__gte": since.isoformat(timespec="seconds")}

    def slower(ms: float | None) -> str:
        return f"{listed}?{urlencode({**asked, 'slower': int(ms or 0)})}"

    return {
        "asked_address": f"{listed}?{urlencode(asked)}",
        "p50_address": slower(total.p50),
        "p95_address": slower(total.p95),
    }


def _yesterday() -> str:
    return (timezone.now() - timedelta(days=1)).isoformat(timespec="seconds")


def _documents(**filters: str) -> str:
    return f"{reverse('admin:documents_document_changelist')}?{urlencode(filters)}"


def _jobs(**filters: str) -> str:
    return f"{reverse('admin:documents_ingestjob_changelist')}?{urlencode(filters)}"
