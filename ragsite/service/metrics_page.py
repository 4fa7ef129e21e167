"""GET /metrics for Prometheus: only if METRICS_TOKEN is set, and only with that token."""

import hmac
from collections.abc import Iterator

from django.conf import settings
from django.db import Error as DatabaseError
from django.db.models import Count, Min, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST
from prometheus_client.core import GaugeMetricFamily

from documents.jobs import heartbeat
from documents.jobs.queue import OPEN_STATES
from documents.models import IngestJob, WebhookDelivery
from documents.stores import outbox
from ragsite.database.tenancy import operator
from ragsite.platform import metrics


@require_safe
def metrics_page(request: HttpRequest) -> HttpResponse:
    if not settings.METRICS_TOKEN:
        raise Http404
    if not opens(request.headers.get("Authorization", "")):
        return HttpResponse(
            "Send METRICS_TOKEN as a bearer token.\n",
            status=401,
            content_type="text/plain",
            headers={"WWW-Authenticate": "Bearer"},
        )
    shown = metrics.exposition([QueueCollector()])
    return HttpResponse(
        shown, content_type=CONTENT_TYPE_LATEST, headers={"Cache-Control": "no-store"}
    )


def opens(authorization: str) -> bool:
    """Whether the header `Authorization` holds the token."""
    expected = f"Bearer {settings.METRICS_TOKEN}"
    return hmac.compare_digest(authorization.encode(), expected.encode())


class QueueCollector:
    """Metrics that are read from the database at each scrape."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        up = GaugeMetricFamily("ragsite_database_up", "1 if the database answers.")
        try:
            yield from self._queue()
            up.add_metric([], 1)
        except DatabaseError:
            up.add_metric([], 0)
        yield up

    def _queue(self) -> Iterator[GaugeMetricFamily]:
        with operator():
            open_jobs = IngestJob.objects.filter(state__in=OPEN_STATES).order_by()
            found = open_jobs.values_list("state").annotate(Count("pk"), Min("created_at"))
            rows = {state: (count, oldest) for state, count, oldest in found}
        jobs = GaugeMetricFamily(
            "ragsite_jobs", "Ingest jobs that have not ended.", labels=["state"]
        )
        for state in OPEN_STATES:
            jobs.add_metric([str(state)], rows.get(state, (0, None))[0])
        yield jobs
        _, oldest = rows.get(IngestJob.State.QUEUED, (0, None))
        age = (timezone.now() - oldest).total_seconds() if oldest else 0.0
        yield GaugeMetricFamily(
            "ragsite_oldest_queued_job_seconds", "Age of the oldest waiting job.", value=age
        )
        yield from self._stores()
        yield from self._webhooks()
        silent = heartbeat.youngest_age()
        if silent is not None:
            yield GaugeMetricFamily(
                "ragsite_worker_silent_seconds", "Since a worker last reported.", value=silent
            )

    def _stores(self) -> Iterator[GaugeMetricFamily]:
        waiting = GaugeMetricFamily(
            "ragsite_store_waiting_documents",
            "Documents that a search store does not have yet.",
            labels=["profile"],
        )
        lag = GaugeMetricFamily(
            "ragsite_store_lag_seconds", "Age of the oldest of these.", labels=["profile"]
        )
        for backlog in outbox.backlogs():
            waiting.add_metric([str(backlog.profile_id)], backlog.documents)
            age = (timezone.now() - backlog.since).total_seconds()
            lag.add_metric([str(backlog.profile_id)], age)
        yield waiting
        yield lag

    def _webhooks(self) -> Iterator[GaugeMetricFamily]:
        """Return how many events wait, and the age of the oldest that is due and may be sent."""
        now = timezone.now()
        is_due = Q(run_after__lte=now, endpoint__status="enabled") & (
            Q(endpoint__paused_until=None) | Q(endpoint__paused_until__lte=now)
        )
        with operator():
            pending = WebhookDelivery.objects.filter(state="pending").order_by()
            count, oldest = pending.aggregate(
                count=Count("pk"), oldest=Min("run_after", filter=is_due)
            ).values()
        yield GaugeMetricFamily(
            "ragsite_webhooks_pending", "Events that are not delivered yet.", value=count
        )
        age = (now - oldest).total_seconds() if oldest else 0.0
        yield GaugeMetricFamily(
            "ragsite_oldest_webhook_seconds", "Age of the oldest event that is due.", value=age
        )
