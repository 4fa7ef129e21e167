"""How likely the best unit answers the question at all."""

import math

from .features import NAMES, Question
from .ranking import Ranking

# Logits, fitted on XQuAD-en asked with and without its answers, and shifted so that 0.2 is where
# at most a tenth of answerable questions is refused.
WITH_COSINES = {"constant": -9.0, "score": 0.5, "relevance": 3.0, "coverage": 2.0, "cosine": 2.0}
WORDS_ONLY = {"constant": -8.0, "score": 0.6, "relevance": 3.0, "coverage": 2.0}
MAX_MISSING = 4  # words that are named


def confidence(ranking: Ranking) -> float:
    """From 0 to 1; below the task's `min_relevance` the question is not answered."""
    if not ranking.units:
        return 0.0
    weights = WITH_COSINES if ranking.has_cosines else WORDS_ONLY
    best = ranking.units[0]
    values = dict(zip(NAMES, best.values, strict=True)) | {"constant": 1.0, "score": best.score}
    logit = sum(weight * values[name] for name, weight in weights.items())
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, logit))))


def missing(question: Question) -> str:
    """What the evidence says nothing about, as a noun phrase."""
    unknown = [word for key, word in question.words.items() if key not in question.found]
    words = unknown or sorted(
        question.words.values(), key=lambda word: -question.weights.get(word, 0.0)
    )
    named = ", ".join(f"“{word}”" for word in words[:MAX_MISSING])
    return f"{NOTHING_ABOUT} {named}" if unknown else f"{NO_STATEMENT} {named}"


# The words that people read, in one place for translation.
NOTHING_ABOUT = "anything about"
NO_STATEMENT = "a statement that links"
