"""What models have cost, by namespace and month."""

from django.contrib import admin

from documents.models import EmbeddingUsage, LanguageModelUsage

from ..readonly import ReadOnlyAdmin

WHEN_EMPTY = "It is counted once a model is used whose tokens cost something."


@admin.register(EmbeddingUsage)
class EmbeddingUsageAdmin(ReadOnlyAdmin):
    list_display = ("month", "namespace", "model_identity", "tokens", "cost")
    list_filter = ("month", "namespace")
    list_select_related = ("namespace",)
    row_noun = "row"
    when_empty = WHEN_EMPTY


@admin.register(LanguageModelUsage)
class LanguageModelUsageAdmin(ReadOnlyAdmin):
    list_display = (
        "month",
        "namespace",
        "model_identity",
        "calls",
        "prompt_tokens",
        "completion_tokens",
        "cost",
    )
    list_filter = ("month", "namespace")
    list_select_related = ("namespace",)
    row_noun = "row"
    when_empty = WHEN_EMPTY
