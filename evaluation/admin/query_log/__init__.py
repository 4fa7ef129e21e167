"""The query log: the list with its filters, what a question returned, and the same question asked
again.

In: rows of the log. Out: pages, and questions added to golden sets. May import everything that
`evaluation.admin` may.
"""

from . import changelist

__all__ = ["changelist"]
