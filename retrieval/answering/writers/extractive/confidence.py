"""How likely the best unit answers the question, and what is missing if it does not."""

import math

from .features import ParsedQuestion
from .ranking import Ranking
from .words import is_unspaced

# The best score at which the confidence is 0.2, the default threshold for answering. Few answerable
# questions are below it; the decision page has the numbers.
WITH_COSINES = 9.7  # of the score and the relevance of the best passage
RELEVANCE = 3.0  # score points that a fully relevant passage adds
WORDS_ONLY = {"en": 6.3, "de": 5.5, "es": 6.3, "ru": 5.0, "zh": 4.0, "ar": 4.0}
OTHER_LANGUAGE, OTHER_UNSPACED = 5.3, 4.0
DEFAULT_MIN_RELEVANCE = 0.2
SLOPE = 0.9  # logits per score point
MAX_NAMED = 3  # words


def confidence(ranking: Ranking, *, language: str) -> float:
    """Return roughly the probability that the answer is present. The answer is given if it reaches
    the task's `min_relevance`."""
    if not ranking.units:
        return 0.0
    if ranking.has_cosines:
        above = ranking.best_score + RELEVANCE * ranking.relevance - WITH_COSINES
    else:
        above = ranking.best_score - _level_of_words(ranking, language)
    at_level = math.log(DEFAULT_MIN_RELEVANCE / (1 - DEFAULT_MIN_RELEVANCE))
    logit = at_level + SLOPE * above
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, logit))))


def missing_words(question: ParsedQuestion) -> tuple[str, ...]:
    """Return the question's words that no passage has, or the longest ones if there are none."""
    unknown = [word for key, word in question.words.items() if key not in question.found]
    words = list(dict.fromkeys(unknown or question.words.values()))
    longest = set(sorted(words, key=lambda word: -len(word))[:MAX_NAMED])  # the most specific
    return tuple(word for word in words if word in longest)


def _level_of_words(ranking: Ranking, language: str) -> float:
    if is_unspaced(ranking.question.text):
        return WORDS_ONLY.get(language, OTHER_UNSPACED)
    return WORDS_ONLY.get(language, OTHER_LANGUAGE)
