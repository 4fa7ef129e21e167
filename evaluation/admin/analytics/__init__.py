"""The operators' page of figures over time: questions, results and costs.

In: the operator, a period and perhaps a namespace. Out: the values of
templates/admin/analytics/analytics.html. Every figure comes from one bounded statement. May import
what `evaluation.admin` may.
"""

from .page import analytics_view

__all__ = ["analytics_view"]
