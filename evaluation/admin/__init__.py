"""The operator's pages: curate golden sets, search and judge, look at runs and compare them."""

from . import golden, query_log, runs

__all__ = ["golden", "query_log", "runs"]
