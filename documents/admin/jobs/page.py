"""The page of one job: why it waits or failed, and how long each stage took."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from documents.jobs.waiting import why_waiting
from documents.models import IngestJob

RELATED = ("document", "namespace")
OTHERS = 20  # number of jobs of the same document to list

Stage = IngestJob.Stage
MEANINGS = {
    Stage.EXTRACT: "reading the file",
    Stage.SPLIT: "cutting it into passages",
    Stage.EMBED: "embedding the passages",
    Stage.STORE: "storing them",
}


@dataclass(frozen=True, slots=True)
class StageTime:
    stage: str
    meaning: str
    ms: float
    start: float  # percent of the whole
    width: float


def context_of(job: IngestJob) -> dict[str, Any]:
    """Inside operator()."""
    others = IngestJob.objects.filter(
        namespace=job.namespace_id, document=job.document_id
    ).order_by("-created_at")
    is_open = job.state in (job.State.QUEUED, job.State.RUNNING)
    return {
        "title": f"Job: {str(job.document)[:120]}",
        "job": job,
        "is_open": is_open,
        "reasons": why_waiting([job]).get(job.pk, []),
        "stages": list(stage_times(job)),
        "others": others.exclude(pk=job.pk)[:OTHERS],
        "action": reverse("admin:documents_ingestjob_changelist"),
        "took": _took(job),
    }


def stage_times(job: IngestJob) -> Iterator[StageTime]:
    """Return the stages in their order, with their shares of the total."""
    times = {stage: job.times_ms[stage] for stage in MEANINGS if stage in job.times_ms}
    whole = sum(times.values()) or 1.0
    at = 0.0
    for stage, ms in times.items():
        width = 100 * ms / whole
        yield StageTime(str(stage), MEANINGS[stage], ms, round(at, 2), round(width, 2))
        at += width


def _took(job: IngestJob) -> float | None:
    if job.started_at is None or job.finished_at is None:
        return None
    return (job.finished_at - job.started_at).total_seconds()
