"""How likely a passage answers the question, from 0 to 1, independent of the other results.

Fused scores are stretched over one question's candidates, so the best is always near 1, even for
nonsense. Relevance is a logistic model over features that mean the same for every question: the
cosine similarity, and the BM25 score as a fraction of the total weight of the question's words.

The coefficients were fitted on half of 1,566 judged questions (XQuAD, hand-written questions over
documentation, SciFact), each asked with its answer indexed, with it removed, and of other
libraries; the other half was used for evaluation. docs/decisions/0020-relevance.md has the numbers
and says how to refit. The coefficients are valid for the bundled embedding model; with another one
only words count.
"""

import math
from collections.abc import Iterable, Sequence

from retrieval.candidates.bm25 import Term
from retrieval.requests import Candidate

# Beyond these bounds, more similarity or more words carry no information. They also ensure that
# relevance never falls when either feature rises, in spite of the product term.
MAX_COSINE, MAX_SHARE = 0.75, 1.2

# Logits. Both: constant, cosine, share, their product (either is evidence enough by itself).
BOTH = (-8.34, 13.98, 8.57, -10.96)
COSINE_ONLY = (-5.37, 10.82)
WORDS_ONLY = (-8.15, 10.37)  # of the share's square root

# A passage is discounted by how far its logit is below the best one's. The judged sets name one
# passage per question and would give 4; 1 leaves room for a second passage that answers as well.
GAP = 1.0

CALIBRATED_MODEL = "all-MiniLM-L6-v2"
NOTHING_NEAR = 0.1  # below this, not even related


def is_calibrated(model_identity: str) -> bool:
    """Whether the coefficients were fitted to this model's cosines."""
    _, _, model = model_identity.partition("/")
    return model.partition("@")[0].partition("/")[0] == CALIBRATED_MODEL


def judge(
    candidates: Sequence[Candidate],
    *,
    terms: Sequence[Term],
    model_identity: str,
    min_relevance: float = 0.0,
) -> tuple[str, ...]:
    """Set each candidate's relevance, or None if it cannot be judged, and return notes for people.
    `terms` are the question's words; none if the lexical leg did not run."""
    cosines, words_worth = is_calibrated(model_identity), sum(term.worth for term in terms)
    logits = [
        logit(
            candidate.similarity if cosines else None,
            (candidate.lexical or 0.0) / words_worth if words_worth else None,
        )
        for candidate in candidates
    ]
    best = max((own for own in logits if own is not None), default=0.0)
    for candidate, own in zip(candidates, logits, strict=True):
        if own is not None:
            candidate.relevance = round(_sigmoid(own - GAP * (best - own)), 4)
    is_known = _is_any_known(terms, candidates) if terms else None
    return _notes(candidates, is_known=is_known, min_relevance=min_relevance)


def logit(cosine: float | None, share: float | None) -> float | None:
    cosine = None if cosine is None else min(max(cosine, 0.0), MAX_COSINE)
    share = None if share is None else min(max(share, 0.0), MAX_SHARE)
    if cosine is not None and share is not None:
        constant, of_cosine, of_share, of_both = BOTH
        return constant + of_cosine * cosine + of_share * share + of_both * cosine * share
    if cosine is not None:
        return COSINE_ONLY[0] + COSINE_ONLY[1] * cosine
    if share is not None:
        return WORDS_ONLY[0] + WORDS_ONLY[1] * math.sqrt(share)
    return None


def best_of(candidates: Iterable[Candidate]) -> float | None:
    """Return the relevance of the best passage: 0 without passages, None if none could be
    judged."""
    shown = [candidate.relevance for candidate in candidates]
    judged = [value for value in shown if value is not None]
    if shown and not judged:
        return None
    return max(judged, default=0.0)


def _is_any_known(terms: Sequence[Term], candidates: Sequence[Candidate]) -> bool:
    """Whether a document has a word as typed. Counts may be older than the newest chunks."""
    if any(term.chunks and not term.is_guess for term in terms):
        return True
    return not any(term.is_guess for term in terms) and any(c.lexical for c in candidates)


def _notes(
    candidates: Sequence[Candidate], *, is_known: bool | None, min_relevance: float
) -> tuple[str, ...]:
    """`is_known`: whether any document has any word of the question; None if that was not
    checked."""
    best = best_of(candidates)
    if best is None:
        if not min_relevance:
            return ()
        return (
            "min_relevance_ignored: relevance is not calibrated for this embedding model, "
            "and no words were compared",
        )
    found = []
    if best < NOTHING_NEAR and not is_known:
        unknown = "" if is_known is None else "no document has a word of the question, and "
        found.append(f"nothing_near: {unknown}no passage is close to it")
    if candidates and best < min_relevance:
        found.append(f"min_relevance: the best passage found has a relevance of {best:.2f}")
    return tuple(found)


def _sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value))
