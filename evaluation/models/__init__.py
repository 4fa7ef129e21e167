"""The tables: what is right (golden), what was measured (runs), what people said (feedback)."""

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
