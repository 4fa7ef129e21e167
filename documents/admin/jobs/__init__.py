"""Ingest jobs: the list, and the page of one job.

In: clicks of operators. Out: jobs with the reason why they wait or failed, cancelled and repeated
ones. May import what `documents.admin` may.
"""

from . import changelist

__all__ = ["changelist"]
