"""Evidence for tests, from plain texts."""

import hashlib
import uuid
from datetime import UTC, datetime
from typing import Any

from retrieval.answering.checks.checking import AnswerChecker
from retrieval.answering.requests import Evidence
from retrieval.requests import Candidate, Hit


def evidence(evidence_id: str, text: str, **values: Any) -> Evidence:
    start = values.pop("start", 100)
    as_of = values.pop("as_of", None)
    document_id = values.pop("document_id", uuid.uuid4())
    defaults: dict[str, Any] = {
        "document_version": 1,
        "title": f"Document {evidence_id}",
        "source_uri": f"{evidence_id}.md",
        "section": "",
        "page": None,
        "kind": "text",
        "metadata": {},
        "chunk_metadata": {},
        "tags": (),
        "language": "en",
    }
    hit = Hit(
        candidate=Candidate(uuid.uuid4(), document_id),
        start=start,
        end=start + len(text),
        content=text,
        checksum=hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
        **{**defaults, **values},
    )
    return Evidence(evidence_id, hit, as_of=as_of)


def day(year: int, month: int = 1, number: int = 1) -> datetime:
    return datetime(year, month, number, tzinfo=UTC)


def checked(text: str, *sources: Evidence, size: int = 0, **options: Any) -> AnswerChecker:
    """The checker after it saw the whole text, `size` characters at a time."""
    checker = AnswerChecker(sources, **options)
    pieces = [text[n : n + size] for n in range(0, len(text), size)] if size else [text]
    left = [part for piece in pieces for part in checker.feed(piece)]
    left += checker.finish()
    assert "".join(part.text for part in left) == checker.text
    assert tuple(citation for part in left for citation in part.citations) == checker.citations
    return checker
