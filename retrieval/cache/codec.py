"""Encode cache entries as JSON, and decode search results."""

import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import orjson

from retrieval.requests import (
    Candidate,
    Diagnostics,
    Explanation,
    Highlight,
    Hit,
    SearchResult,
    TermMatch,
)


def encoded(key: str, value: Any) -> bytes | None:
    """Encode the value together with its key; None if JSON cannot represent it."""
    try:
        return orjson.dumps([key, value], default=_without_bytes)
    except orjson.JSONEncodeError:  # e.g. numbers beyond 64 bits
        return None


def _without_bytes(value: Any) -> None:
    """Drop a candidate's vector, which is not cached."""
    if not isinstance(value, bytes):
        raise TypeError(f"A {type(value).__name__} cannot be kept.")


def search_result(data: Mapping[str, Any]) -> SearchResult:
    """Rebuild the result that `data` was encoded from."""
    return SearchResult(
        **{
            **data,
            "hits": tuple(_hit(hit) for hit in data["hits"]),
            "diagnostics": _diagnostics(data["diagnostics"]),
        }
    )


def _hit(data: Mapping[str, Any]) -> Hit:
    return Hit(
        **{
            **data,
            "candidate": _candidate(data["candidate"]),
            "tags": tuple(data["tags"]),
            "collections": tuple(data["collections"]),
            "created_at": _datetime(data["created_at"]),
            "dated_at": _datetime(data["dated_at"]),
            "highlights": tuple(Highlight(**span) for span in data["highlights"]),
            "merged": tuple(uuid.UUID(chunk_id) for chunk_id in data["merged"]),
        }
    )


def _candidate(data: Mapping[str, Any]) -> Candidate:
    return Candidate(
        **{
            **data,
            "chunk_id": uuid.UUID(data["chunk_id"]),
            "document_id": uuid.UUID(data["document_id"]),
            "packed": b"",
            "votes": tuple(data["votes"]),
        }
    )


def _diagnostics(data: Mapping[str, Any]) -> Diagnostics:
    filters = data["filters"]
    dates = {name: _datetime(filters[name]) for name in ("date_from", "date_to") if name in filters}
    return Diagnostics(
        **{
            **data,
            "fallbacks": tuple(data["fallbacks"]),
            "notes": tuple(data["notes"]),
            "dropped": tuple(
                {**entry, "chunk_id": uuid.UUID(entry["chunk_id"])} for entry in data["dropped"]
            ),
            "filters": {**filters, **dates},
            "terms": tuple(data["terms"]),
            "facts": tuple(data["facts"]),
            "candidates": tuple(_explanation(each) for each in data["candidates"]),
        }
    )


def _explanation(data: Mapping[str, Any]) -> Explanation:
    terms = tuple(TermMatch(**match) for match in data["terms"])
    return Explanation(_candidate(data["candidate"]), terms)


def _datetime(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
