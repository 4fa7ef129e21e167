"""What both clients know about waiting until documents are searchable."""

from typing import Any, TypedDict

from .models import Document, IngestAnswer, Result
from .options import Chunking

MAX_SERVER_WAIT = 25.0  # seconds; longer waits are split, so that no proxy cuts them
PENDING = ("queued", "processing")


class IngestOptions(TypedDict, total=False):
    source_uri: str  # what the document is known by: the same again is a new version
    title: str
    tags: list[str]
    metadata: dict[str, Any]
    encoding: str  # of the file's text; found out if left out
    rows_as_facts: bool
    chunking: Chunking


def server_wait(wait: float) -> float:
    return max(0.0, min(wait, MAX_SERVER_WAIT))


def unfinished(answer: IngestAnswer) -> list[str]:
    """Ids of the documents that are still being indexed."""
    found = (one.document_id for one in answer.results if one.status in PENDING)
    return list(dict.fromkeys(one for one in found if one))


def brought_up_to_date(answer: IngestAnswer, documents: list[Document]) -> IngestAnswer:
    done = {document.id: document for document in documents if document.status not in PENDING}
    results = [_result(one, done.get(one.document_id or "")) for one in answer.results]
    failures = [one.error for one in results if one.error]
    changes: dict[str, Any] = {
        "results": results,
        "indexed": sum(one.status == "ready" for one in results),
        "failed": sum(one.status in ("failed", "rejected") for one in results),
    }
    if answer.error is None and failures:
        changes["error"] = failures[0]
    return answer.model_copy(update=changes)


def _result(result: Result, document: Document | None) -> Result:
    if document is None or result.status not in PENDING:
        return result
    error = document.error
    changes: dict[str, Any] = {"status": document.status, "chunks_count": document.chunks_count}
    return result.model_copy(update=changes | ({"error": error} if error else {}))
