"""The dashboard, and the admin pages of golden sets, feedback, the query log and runs.

In: requests of operators. Out: lists, judgements, started and compared runs. May import everything
in `evaluation` except the API.
"""

from . import dashboard, feedback, golden, namespace_panels, query_log, runs

__all__ = ["dashboard", "feedback", "golden", "namespace_panels", "query_log", "runs"]
