"""Filters of the query log: poor results and slow questions."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from evaluation.admin.analytics.figures import LOW
from evaluation.golden.feedback import disliked, without_selection
from ragsite.platform.wording import duration
from retrieval.models import QueryLog

LOWEST = 10  # percent of the questions, by their best hit's similarity
SLOW_MS = (300, 1000, 3000)

Lines = QuerySet[QueryLog]


class DifficultFilter(admin.SimpleListFilter):
    title = "poor results"
    parameter_name = "difficult"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [
            ("nothing", "No results"),
            ("low", f"Low relevance (below {LOW})"),
            ("fallback", "Answered with a fallback"),
            ("far", f"Best hit far away (lowest {LOWEST} %)"),
            ("negative", "Negative feedback"),
            ("unchosen", "Nothing was chosen"),
        ]

    def queryset(self, request: HttpRequest, queryset: Lines) -> Lines:
        kinds = {
            "nothing": lambda: queryset.filter(hits=0),
            "low": lambda: queryset.filter(hits__gt=0, relevance__lt=LOW),
            "fallback": lambda: queryset.exclude(fallbacks=[]),
            "far": lambda: _far(queryset),
            "negative": lambda: disliked(queryset),
            "unchosen": lambda: without_selection(queryset),
        }
        wanted = kinds.get(self.value() or "")
        return wanted() if wanted else queryset


def _far(queryset: Lines) -> Lines:
    near = queryset.filter(best_vector__isnull=False).order_by("best_vector")
    last = max(1, near.count() * LOWEST // 100)
    bound = near.values_list("best_vector", flat=True)[last - 1 : last].first()
    return near.filter(best_vector__lte=bound) if bound is not None else near


class SlowFilter(admin.SimpleListFilter):
    """Accepts any number of milliseconds, for the links of the dashboard's percentiles."""

    title = "time taken"
    parameter_name = "slower"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        chosen = {self.bound} if self.bound is not None else set()
        return [(str(ms), f"Over {duration(ms / 1000)}") for ms in sorted({*SLOW_MS, *chosen})]

    def queryset(self, request: HttpRequest, queryset: Lines) -> Lines:
        return queryset if self.bound is None else queryset.filter(times_ms__total__gt=self.bound)

    @property
    def bound(self) -> int | None:
        value = str(self.used_parameters.get(self.parameter_name, ""))
        return int(value) if value.isascii() and value.isdigit() and len(value) < 10 else None
