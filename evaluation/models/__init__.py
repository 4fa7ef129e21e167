"""The tables: golden sets with judgements, runs with scores, and users' feedback.

May import the models of documents and retrieval, and nothing else of evaluation.
"""

from .feedback import Feedback, FeedbackVector, SelectedPassage
from .golden import GoldenQuery, GoldenSet, Judgement
from .runs import EvaluationRun, QueryScore

__all__ = [
    "EvaluationRun",
    "Feedback",
    "FeedbackVector",
    "GoldenQuery",
    "GoldenSet",
    "Judgement",
    "QueryScore",
    "SelectedPassage",
]
