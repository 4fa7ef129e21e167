"""Notes for people: why a result is empty, or how the question was interpreted."""

from collections.abc import Sequence

from documents.text.lexemes import ParsedQuery
from retrieval.requests import Candidate, Hit, SearchRequest

NO_RESULTS = "no_results: No matching documents found"
CONVERSATIONS_LEFT_OUT = (
    "conversations_left_out: the namespace holds conversations, and they are searched only if the "
    "filters ask for them, as source_types or include_conversations do"
)
EMPTY_FILTER = "empty_filter: a list in the filters is empty, and an empty list matches nothing"


def notes_for(
    query: ParsedQuery,
    request: SearchRequest,
    *,
    shown: Sequence[Hit],
    dropped: Sequence[Candidate],
    budget: int,
    chunks: int,
) -> tuple[str, ...]:
    """`chunks` is the number of chunks in the namespace."""
    notes = list(query.notes)
    if request.filters.matches_nothing:
        notes.append(EMPTY_FILTER)
    if shown:
        return tuple(notes)
    too_long = [candidate for candidate in dropped if candidate.dropped == "token_budget"]
    weak = [candidate for candidate in dropped if candidate.dropped.startswith("threshold")]
    if too_long:
        notes.append(
            f"token_budget_too_small: {len(too_long)} passages were found and none fits into "
            f"{budget} tokens"
        )
    elif weak:
        notes.append(f"{NO_RESULTS}: all {len(weak)} candidates are below the threshold")
    elif not chunks:
        notes.append(f"{NO_RESULTS}: the namespace holds no searchable text yet")
    else:
        notes.append(NO_RESULTS)
    return tuple(notes)
