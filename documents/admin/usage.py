"""What models have cost, by namespace and month."""

from django.contrib import admin

from documents.models import EmbeddingUsage, LanguageModelUsage

from .readonly import LookOnlyAdmin


@admin.register(EmbeddingUsage)
class EmbeddingUsageAdmin(LookOnlyAdmin):
    list_display = ("month", "namespace", "model_identity", "tokens", "cost")
    list_filter = ("month", "namespace")
    list_select_related = ("namespace",)


@admin.register(LanguageModelUsage)
class LanguageModelUsageAdmin(LookOnlyAdmin):
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
