"""How much work is queued and whether workers are alive, for the admin's index page."""

from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Count, Min, Q
from django.db.models.functions import Now
from django.utils import timezone
from django_q.models import OrmQ

from documents.models import DocumentRemoval, IngestJob

from . import heartbeat

SILENT_AFTER = 60.0  # seconds, as in /readyz


@dataclass(frozen=True, slots=True)
class WorkStatus:
    waiting: int
    running: int
    failed_today: int
    oldest_waiting_seconds: float | None
    deletions: int
    queue_length: int
    heartbeat_age: float | None

    @property
    def is_silent(self) -> bool:
        return self.heartbeat_age is None or self.heartbeat_age > SILENT_AFTER


def work_status() -> WorkStatus:
    """Count the work of all namespaces. Inside operator()."""
    recently = Q(state="failed", finished_at__gt=Now() - timedelta(days=1))
    jobs = IngestJob.objects.filter(Q(state__in=("queued", "running")) | recently).aggregate(
        waiting=Count("pk", filter=Q(state="queued")),
        running=Count("pk", filter=Q(state="running")),
        failed=Count("pk", filter=Q(state="failed")),
        oldest=Min("created_at", filter=Q(state="queued")),
    )
    oldest = jobs["oldest"] and (timezone.now() - jobs["oldest"]).total_seconds()
    return WorkStatus(
        waiting=jobs["waiting"],
        running=jobs["running"],
        failed_today=jobs["failed"],
        oldest_waiting_seconds=oldest,
        deletions=DocumentRemoval.objects.exclude(state="done").count(),
        queue_length=OrmQ.objects.count(),
        heartbeat_age=heartbeat.youngest_age(),
    )
