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


_COST = _number("cost", decimals=4)
EMBEDDING: Any = (_month, "namespace", "model_identity", _number("tokens"), _COST)
LANGUAGE_MODELS: Any = (
    *EMBEDDING[:3],
    _number("calls"),
    _number("prompt_tokens"),
    _number("completion_tokens"),
    _COST,
)


@admin.register(EmbeddingUsage)
class EmbeddingUsageAdmin(ReadOnlyAdmin):
    list_display = fields = readonly_fields = EMBEDDING
    list_filter = ("month", "namespace")
    list_select_related = ("namespace",)
    row_noun = "row"
    when_empty = WHEN_EMPTY


@admin.register(LanguageModelUsage)
class LanguageModelUsageAdmin(ReadOnlyAdmin):
    list_display = fields = readonly_fields = LANGUAGE_MODELS
    list_filter = ("month", "namespace")
    list_select_related = ("namespace",)
    row_noun = "row"
    when_empty = WHEN_EMPTY
