"""The tables: golden sets with judgements, runs with scores, and users' feedback."""

from .feedback import Feedback, SelectedPassage
from .golden import GoldenQuery, GoldenSet, Judgement
from .runs import EvaluationRun, QueryScore

__all__ = [
    "EvaluationRun",
    "Feedback",
    "GoldenQuery",
    "GoldenSet",
    "Judgement",
    "QueryScore",
    "SelectedPassage",
]
