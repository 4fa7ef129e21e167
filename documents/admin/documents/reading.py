"""The contents of a document's page: its text with the chunks' borders, versions, jobs with
timings."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.db.models.functions import Length, Substr
from django.http import QueryDict

from documents.models import Chunk, Document, DocumentVersion, IndexProfile, IngestJob
from documents.pages.passage import SHOWN, Window, window

from .borders import TextPiece, pieces

VERSIONS_SHOWN = JOBS_SHOWN = 20
STAGES = ("extract", "split", "embed", "store")
BAR_WIDTH = 240  # height of the diagram of timings


@dataclass(frozen=True, slots=True)
class DrawnText:
    """A window of the live version's text with the borders of the chunks under one profile."""

    pieces: list[TextPiece]
    length: int
    first: int
    last: int
    earlier: int | None
    later: int | None
    profile: IndexProfile | None
    profiles: list[IndexProfile]  # all profiles under which it has chunks
    chunk_id: uuid.UUID | None  # the requested one


@dataclass(frozen=True, slots=True)
class StageBar:
    """One stage in the diagram of a job's timings."""

    stage: str
    ms: float
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class JobRow:
    job: IngestJob
    bars: list[StageBar]
    total_ms: float


def drawn_text(document: Document, parameters: QueryDict) -> DrawnText | None:
    """Return the text selected by the parameters `from`, `chunk` and `profile`; None if there is
    none yet. Only the part that is shown is read."""
    versions = DocumentVersion.objects.filter(document=document, number=document.live_version or 0)
    found = versions.annotate(length=Length("text")).values_list("pk", "length").first()
    if found is None:
        return None
    version_id, length = found
    chunks = Chunk.objects.filter(document=document, version=version_id)
    profiles = list(
        IndexProfile.objects.filter(pk__in=chunks.order_by().values("profile").distinct())
    )
    wanted = _chunk(chunks, parameters.get("chunk", ""))
    profile = _profile(document, profiles, wanted, parameters.get("profile", ""))
    seen = _window(length, wanted, parameters.get("from", ""))
    text = versions.values_list(Substr("text", seen.first + 1, SHOWN), flat=True)[0]
    inside = chunks.filter(profile=profile, start__lt=seen.last, end__gt=seen.first)
    drawn = inside.defer("embedding", "content", "metadata").order_by("ordinal")
    return DrawnText(
        pieces=pieces(text, first=seen.first, chunks=list(drawn)) if text else [],
        length=length,
        first=seen.first,
        last=seen.last,
        earlier=max(seen.first - SHOWN, 0) if seen.first else None,
        later=seen.last if seen.last < length else None,
        profile=profile,
        profiles=profiles,
        chunk_id=wanted.pk if wanted else None,
    )


def _chunk(chunks: QuerySet[Chunk], value: str) -> Chunk | None:
    try:
        wanted = uuid.UUID(value)
    except ValueError:
        return None
    return chunks.only("start", "end", "profile_id").filter(pk=wanted).first()


def _profile(
    document: Document, profiles: Sequence[IndexProfile], wanted: Chunk | None, value: str
) -> IndexProfile | None:
    """Return the profile of the chunk, else the named one, else the one that searches use."""
    by_id = {str(profile.pk): profile for profile in profiles}
    if wanted is not None:
        return by_id.get(str(wanted.profile_id))
    active = by_id.get(str(document.namespace.active_profile_id))
    return by_id.get(value) or active or next(iter(profiles), None)


def _window(length: int, wanted: Chunk | None, value: str) -> Window:
    first = int(value) if value.isascii() and value.isdecimal() and len(value) < 10 else None
    if first is not None:
        return window(length, start=first, end=first, first=first)
    if wanted is not None:
        return window(length, start=wanted.start, end=wanted.end)
    return window(length, start=0, end=0)


def versions_of(document: Document) -> list[DocumentVersion]:
    found = DocumentVersion.objects.filter(document=document).defer("text", "outline")
    return list(found.order_by("-number")[:VERSIONS_SHOWN])


def jobs_of(document: Document) -> list[JobRow]:
    """Return the newest jobs first, with their stages drawn to one scale."""
    jobs = IngestJob.objects.filter(document=document).select_related("version")
    found = list(jobs.defer("version__text", "version__outline").order_by("-created_at", "-id"))
    shown = found[:JOBS_SHOWN]
    totals = [sum(ms for _, ms in _times(job)) for job in shown]
    longest = max(totals, default=0.0)
    return [
        JobRow(job, _bars(job, longest), total) for job, total in zip(shown, totals, strict=True)
    ]


def _times(job: IngestJob) -> list[tuple[str, float]]:
    known: dict[str, Any] = job.times_ms
    return [(stage, float(known[stage])) for stage in STAGES if known.get(stage)]


def _bars(job: IngestJob, longest: float) -> list[StageBar]:
    bars, x = [], 0.0
    for stage, ms in _times(job):
        width = round(BAR_WIDTH * ms / longest, 1) if longest else 0.0
        bars.append(StageBar(stage, ms, round(x, 1), width))
        x += width
    return bars
