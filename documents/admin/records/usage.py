"""What models have cost, by namespace and month."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.utils.formats import number_format

from documents.models import EmbeddingUsage, LanguageModelUsage
from ragsite.web.markup import NOTHING

from ..readonly import ReadOnlyAdmin

WHEN_EMPTY = "It is counted once a model is used whose tokens cost something."


def _number(name: str, *, decimals: int | None = None) -> Callable[[Any], str]:
    @admin.display(description=name.replace("_", " "), ordering=name)
    def shown(row: Any) -> str:
        value = getattr(row, name)
        if decimals is None:
            return f"{value:,}"
        return number_format(value, decimals) if value else NOTHING

    shown.__name__ = name
    return shown


@admin.display(description="month", ordering="month")
def _month(row: Any) -> str:
    return f"{row.month:%B %Y}"


TOKENS, COST = _number("tokens"), _number("cost", decimals=4)


@admin.register(EmbeddingUsage)
class EmbeddingUsageAdmin(ReadOnlyAdmin):
    list_display = (_month, "namespace", "model_identity", TOKENS, COST)
    list_filter = ("month", "namespace")
    fields = list_display
    readonly_fields = list_display
    list_select_related = ("namespace",)
    row_noun = "row"
    when_empty = WHEN_EMPTY


@admin.register(LanguageModelUsage)
class LanguageModelUsageAdmin(ReadOnlyAdmin):
    list_display = (
        _month,
        "namespace",
        "model_identity",
        _number("calls"),
        _number("prompt_tokens"),
        _number("completion_tokens"),
        COST,
    )
    list_filter = ("month", "namespace")
    fields = list_display
    readonly_fields = list_display
    list_select_related = ("namespace",)
    row_noun = "row"
    when_empty = WHEN_EMPTY
