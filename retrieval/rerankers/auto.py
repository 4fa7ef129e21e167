"""The rules of `rerank: "auto"`; the first that applies decides."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

Speed = Literal["fast", "balanced", "thorough"]

LONG = 20  # words
CLAUSE = 4  # words; "salt and pepper" is not a second clause
# Scripts without spaces: two characters count as a word.
WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]{1,2}|\w+(?:['’.-]\w+)*")
QUESTION_MARK = re.compile(r"[?？؟]+")
JOINT = re.compile(
    r"[;,:.!?。，、；：！？؟]\s*"
    r"|\b(?:and|or|but|while|whereas|although|because|if|when|und|oder|aber|weil|wenn|obwohl"
    r"|et|ou|mais|parce que|quand|y|o|pero|porque|cuando)\b",
    re.IGNORECASE,
)
COMPARISON = re.compile(
    r"\b(?:compar\w*|versus|vs|differ(?:s|ed|ence|ences|ent|ently)?|better|worse|instead of"
    r"|rather than|trade-?offs?|pros and cons|advantages?|disadvantages?|relationship between"
    r"|vergleich\w*|unterschied\w*|différences?|diferencias?|mejor|meilleure?s?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Situation:
    query: str
    is_configured: bool
    speed: Speed = "balanced"
    for_answer: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    reranks: bool
    reason: str


class Rule(NamedTuple):
    reason: str
    reranks: bool
    applies: Callable[[Situation], bool]


def decide(situation: Situation) -> Decision:
    rule = next(rule for rule in TABLE if rule.applies(situation))
    return Decision(rule.reranks, rule.reason)


def _several_questions(situation: Situation) -> bool:
    return len(QUESTION_MARK.findall(situation.query)) > 1


def _compares(situation: Situation) -> bool:
    return bool(COMPARISON.search(situation.query))


def _several_clauses(situation: Situation) -> bool:
    clauses = JOINT.split(situation.query)
    return sum(len(WORD.findall(clause)) >= CLAUSE for clause in clauses) > 1


def _is_long(situation: Situation) -> bool:
    return len(WORD.findall(situation.query)) >= LONG


TABLE = (
    Rule("no_reranker", False, lambda s: not s.is_configured),
    Rule("fast", False, lambda s: s.speed == "fast"),
    Rule("answer", True, lambda s: s.for_answer),
    Rule("thorough", True, lambda s: s.speed == "thorough"),
    Rule("several_questions", True, _several_questions),
    Rule("comparison", True, _compares),
    Rule("several_clauses", True, _several_clauses),
    Rule("long", True, _is_long),
    Rule("short", False, lambda s: True),
)
