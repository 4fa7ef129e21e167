"""The page of one reindex: its progress, the comparison, and the possible next steps."""

import uuid
from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from documents.models import Document, Reindex
from documents.reindex import switching
from documents.reindex.switching import ReindexProgress
from ragsite.database.tenancy import namespace
from ragsite.platform.wording import duration

State = Reindex.State
FAILURES_SHOWN = 100


@dataclass(frozen=True, slots=True)
class Step:
    """A button. If `asks` is set, it leads to the list's action, which asks for confirmation."""

    action: str
    label: str
    meaning: str
    asks: bool = False
    is_dangerous: bool = False


COMPARE = Step("compare", "Compare", "Both profiles answer the same questions.")
SWITCH = Step(
    "switch", "Switch", "Searches use the new profile. The old one is kept for a rollback."
)
SWITCH_ANYWAY = Step(
    "switch_anyway",
    "Switch although documents failed …",
    "The failed documents are no longer found.",
    asks=True,
)
ROLL_BACK = Step("roll_back", "Roll back", "Searches use the old profile again.")
RECLAIM = Step(
    "reclaim",
    "Reclaim …",
    "The old chunks are deleted. This cannot be undone.",
    asks=True,
    is_dangerous=True,
)
CANCEL = Step("cancel", "Cancel …", "The new chunks are deleted.", asks=True, is_dangerous=True)


def context_of(reindex: Reindex) -> dict[str, Any]:
    """Inside operator()."""
    is_open = reindex.state in Reindex.OPEN
    progress = progress_of(reindex) if is_open else None
    return {
        "title": f"{reindex.namespace}: {reindex.replaces.name} → {reindex.profile.name}",
        "reindex": reindex,
        "is_open": is_open,
        "progress": progress,
        "time_left": time_left(reindex, progress) if progress and reindex.has_work else "",
        "steps": steps_of(reindex, progress),
        "report": _report(reindex),
        "failures": _failures(reindex),
        "list_address": reverse("admin:documents_reindex_changelist"),
    }


def progress_of(reindex: Reindex) -> ReindexProgress:
    with namespace(reindex.namespace_id):
        return switching.progress(reindex)


def time_left(reindex: Reindex, progress: ReindexProgress) -> str:
    """Return the estimated time left, or the stage if that is unknown."""
    if not progress.seconds_left:
        return str(reindex.stage)
    return f"about {duration(progress.seconds_left)}"


def steps_of(reindex: Reindex, progress: ReindexProgress | None) -> tuple[Step, ...]:
    """Return the steps that are possible in its state, in their usual order."""
    if reindex.state == State.BUILDING:
        return (CANCEL,)
    if reindex.state == State.BUILT:
        failed = progress is not None and progress.failed > 0
        return (COMPARE, SWITCH_ANYWAY if failed else SWITCH, CANCEL)
    return (COMPARE, ROLL_BACK, RECLAIM) if reindex.state == State.SWITCHED else ()


def _report(reindex: Reindex) -> dict[str, Any] | None:
    report = reindex.parity
    if not report:
        return None
    return {
        "by": report["by"],
        "questions": report["questions"],
        "passages": _percent(report["overlap_at_10"]),
        "documents": _percent(report["documents_overlap_at_10"]),
        "shift": report["score_shift"],
        "measures": [
            (name, values["before"], values["after"], round(values["after"] - values["before"], 4))
            for name, values in report.get("measures", {}).items()
        ],
        "least_alike": [
            (least["question"], _percent(least["overlap"]))
            for least in report.get("least_alike", ())
        ],
    }


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.0%}"


def _failures(reindex: Reindex) -> list[dict[str, Any]]:
    """Return the documents that could not be indexed, with their names."""
    rows = list(reindex.failures.values())[:FAILURES_SHOWN]
    ids = [uuid.UUID(row["document_id"]) for row in rows]
    documents = Document.objects.only("title", "source_uri").in_bulk(ids)
    return [{**row, "document": documents.get(pk)} for pk, row in zip(ids, rows, strict=True)]
