"""The tables: what is right (golden) and what was measured (runs)."""

from .golden import GoldenQuery, GoldenSet, Judgement
from .runs import EvaluationRun, QueryScore

__all__ = ["EvaluationRun", "GoldenQuery", "GoldenSet", "Judgement", "QueryScore"]
