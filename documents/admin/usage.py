"""What embedding has cost, by namespace and month."""

from django.contrib import admin

from documents.models import EmbeddingUsage

from .readonly import LookOnlyAdmin


@admin.register(EmbeddingUsage)
class EmbeddingUsageAdmin(LookOnlyAdmin):
    list_display = ("month", "namespace", "model_identity", "tokens", "cost")
    list_filter = ("month", "namespace")
    list_select_related = ("namespace",)
