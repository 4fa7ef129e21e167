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
    too_long: int,
    shown: Sequence[Hit],
    weak: Sequence[Candidate],
    budget: int,
    chunks: int,
) -> tuple[str, ...]:
    """`too_long` passages did not fit the token budget, `shown` did; `weak` is what a threshold
    refused; `chunks` is how many the namespace has."""
    notes = list(query.notes)
    if request.filters.matches_nothing:
        notes.append(EMPTY_FILTER)
    if shown:
        return tuple(notes)
    if too_long:
        notes.append(
            f"token_budget_too_small: {too_long} passages were found and none fits into "
            f"{budget} tokens with its heading"
        )
    elif weak:
        notes.append(f"{NO_RESULTS}: all {len(weak)} candidates are below the threshold")
    elif not chunks:
        notes.append(f"{NO_RESULTS}: the namespace holds no searchable text yet")
    else:
        notes.append(NO_RESULTS)
    return tuple(notes)
