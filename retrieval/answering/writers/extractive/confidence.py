"""How likely the best unit answers the question at all, and what is missing if it does not."""

import math

from .features import Question
from .ranking import Ranking
from .words import is_unspaced

# The best score at which an answer is as likely refused as given under the default setting: there
# the confidence is 0.2. Few answerable questions lie below; the decision page has the figures.
WITH_COSINES = 9.7  # of the score and the relevance of the best passage
RELEVANCE = 3.0  # points of score that a wholly relevant passage adds
WORDS_ONLY = {"en": 6.3, "de": 5.5, "es": 6.3, "ru": 5.0, "zh": 4.0, "ar": 4.0}
OTHER_LANGUAGE, OTHER_UNSPACED = 5.3, 4.0
DEFAULT_MIN_RELEVANCE = 0.2
SLOPE = 0.9  # logits for each point of score
MAX_NAMED = 3  # words


def confidence(ranking: Ranking, *, language: str) -> float:
    """From 0 to 1, and about the probability that the answer is there. An answer is given from the
    task's `min_relevance` on."""
    if not ranking.units:
        return 0.0
    if ranking.has_cosines:
        above = ranking.best_score + RELEVANCE * ranking.relevance - WITH_COSINES
    else:
        above = ranking.best_score - _level_of_words(ranking, language)
    at_level = math.log(DEFAULT_MIN_RELEVANCE / (1 - DEFAULT_MIN_RELEVANCE))
    logit = at_level + SLOPE * above
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, logit))))


def missing_words(question: Question) -> tuple[str, ...]:
    """The question's words that nothing has; the longest of all if each stands somewhere."""
    unknown = [word for key, word in question.words.items() if key not in question.found]
    words = list(dict.fromkeys(unknown or question.words.values()))
    longest = set(sorted(words, key=lambda word: -len(word))[:MAX_NAMED])  # they say the most
    return tuple(word for word in words if word in longest)


def _level_of_words(ranking: Ranking, language: str) -> float:
    if is_unspaced(ranking.question.text):
        return WORDS_ONLY.get(language, OTHER_UNSPACED)
    return WORDS_ONLY.get(language, OTHER_LANGUAGE)
