"""The query log: the list with its filters, the results of a question, and asking it again.

In: rows of the log. Out: pages, and questions added to golden sets. May import everything that
`evaluation.admin` may.
"""

from . import changelist

__all__ = ["changelist"]
