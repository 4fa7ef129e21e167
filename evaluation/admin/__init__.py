"""The operator's pages: curate golden sets, search and judge, feedback, runs and comparing them."""

from . import feedback, golden, query_log, runs

__all__ = ["feedback", "golden", "query_log", "runs"]
