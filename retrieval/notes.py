"""What a person should know about an answer: why it is empty, or why the question was read
otherwise than it was typed."""

from collections.abc import Sequence

from documents.lexemes import ParsedQuery

from .requests import Candidate, Hit, SearchRequest

NO_RESULTS = "no_results: No matching documents found"
EMPTY_FILTER = "empty_filter: a list in the filters is empty, and an empty list matches nothing"


def notes_for(
    query: ParsedQuery,
    request: SearchRequest,
    *,
    found: Sequence[Hit],
    shown: Sequence[Hit],
    weak: Sequence[Candidate],
    budget: int,
    chunks: int,
) -> tuple[str, ...]:
    """`found` before the token budget and `shown` after it; `weak` is what a threshold refused;
    `chunks` is how many the namespace has."""
    notes = list(query.notes)
    if request.filters.matches_nothing:
        notes.append(EMPTY_FILTER)
    if shown:
        return tuple(notes)
    if found:
        smallest = min(hit.tokens for hit in found)
        notes.append(
            f"token_budget_too_small: {len(found)} passages were found and none fits into "
            f"{budget} tokens; the shortest has {smallest}, and its heading comes on top"
        )
    elif weak:
        notes.append(f"{NO_RESULTS}: all {len(weak)} candidates are below the threshold")
    elif not chunks:
        notes.append(f"{NO_RESULTS}: the namespace holds no searchable text yet")
    else:
        notes.append(NO_RESULTS)
    return tuple(notes)
