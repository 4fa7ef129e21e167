"""What a passage of several chunks costs: what ingestion counted, and only the rest is counted."""

import uuid
from dataclasses import fields

import pytest

from retrieval.context.hits import _hit
from retrieval.ranking.diversity import Pick
from retrieval.requests import Candidate, Hit
from retrieval.stored_chunk import StoredChunk

TEXT = "alpha beta gamma delta epsilon zeta eta theta"


def passage(*chunks: str, around: str = "") -> Hit:
    """The hit of these parts of TEXT, the first of which was found."""
    rows = {}
    for n, chunk in enumerate(chunks):
        start = TEXT.index(chunk)
        own = {"start": start, "end": start + len(chunk), "tokens": len(chunk.split())}
        own |= {"content": chunk, "document_metadata": "{}", "chunk_metadata": "{}", "ordinal": n}
        rest = [field.name for field in fields(StoredChunk) if field.name not in own]
        rows[uuid.UUID(int=n)] = StoredChunk(**dict.fromkeys(rest, ""), **own)
    shown = [row.start for row in rows.values()] + ([TEXT.index(around)] if around else [])
    ends = [row.end for row in rows.values()] + (
        [TEXT.index(around) + len(around)] if around else []
    )
    first, *others = rows
    pick = Pick(Candidate(first, uuid.UUID(int=99)), min(shown), max(ends), merged=others)
    return _hit(pick, rows, {first: TEXT[pick.start : pick.end]})


@pytest.mark.parametrize(
    ("chunks", "around", "uncounted"),
    [
        (["alpha beta"], "", ""),
        (["alpha beta", "gamma delta"], "", ""),  # a space between them has no tokens
        (["gamma delta", "alpha beta"], "", ""),
        (["alpha beta gamma", "beta gamma delta"], "", "delta"),  # what both have counts once
        (["alpha beta", "delta epsilon"], "", "gamma"),
        (["delta", "zeta eta"], TEXT, "alpha beta gamma epsilon theta"),
        (["gamma delta epsilon", "delta"], TEXT, "alpha beta zeta eta theta"),
    ],
)
def test_each_word_is_counted_once(chunks: list[str], around: str, uncounted: str):
    hit = passage(*chunks, around=around)
    assert " ".join(hit.uncounted.split()) == uncounted
    assert hit.tokens + len(hit.uncounted.split()) == len(hit.content.split())
