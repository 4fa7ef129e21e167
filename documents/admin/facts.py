"""Facts, read-only."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from documents.memory.rules.rendering import object_text
from documents.models import Fact

from .readonly import ReadOnlyAdmin


@admin.register(Fact)
class FactAdmin(ReadOnlyAdmin):
    list_display = ("subject", "predicate", "beginning", "certainty", "source", "document")
    list_filter = ("source", "namespace", ("retracted_at", admin.EmptyFieldListFilter))
    list_select_related = ("document",)
    search_fields = ("subject", "predicate", "object", "=document__id")
    exclude = ("words",)
    show_full_result_count = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Fact]:
        return super().get_queryset(request).defer("words")

    def lookup_allowed(self, lookup: str, value: Any, request: Any = None) -> bool:
        return lookup == "document__id__exact" or super().lookup_allowed(lookup, value, request)

    @admin.display(description="object")
    def beginning(self, fact: Fact) -> str:
        return object_text(fact.object)[:120]
