"""Drop candidates whose scores are too low."""

from collections.abc import Sequence

from retrieval.requests import Candidate, SearchRequest


def split_by_thresholds(
    candidates: Sequence[Candidate], request: SearchRequest
) -> tuple[list[Candidate], list[Candidate]]:
    """Return the candidates that reach every threshold, and the others with the reason in
    `dropped`. Each threshold applies to its own stage's score, because scores of different stages
    are not comparable."""
    good, weak = [], []
    for candidate in candidates:
        reason = _reason_to_drop(candidate, request)
        if reason:
            candidate.dropped = reason
            weak.append(candidate)
        else:
            good.append(candidate)
    return good, weak


def _reason_to_drop(candidate: Candidate, request: SearchRequest) -> str:
    for stage, minimum in request.thresholds:
        score = candidate.score(stage)
        if score is None or score < minimum:
            return f"threshold: {stage}"
    if candidate.relevance is not None and candidate.relevance < request.min_relevance:
        return "min_relevance"
    return ""
