"""Ingest jobs: the list, and the page of one job.

In: requests of operators. Out: jobs with the reason why they wait or failed; jobs can be cancelled
and repeated. May import what `documents.admin` may.
"""

from . import changelist

__all__ = ["changelist"]
