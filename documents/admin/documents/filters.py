"""Filters of the list of documents. None of them reads the whole table for its choices."""

import uuid
from collections import Counter
from collections.abc import Iterable
from itertools import chain
from typing import Any
from urllib.parse import parse_qsl

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from documents.admin.visible import only_visible
from documents.extractors.formats import kind_name
from documents.models import Collection, CollectionDocument, Document
from ragsite.platform.wording import words_of

SAMPLE = 500  # number of the newest documents whose tags and errors are offered
OFFERED = 12
COLLECTIONS = 30


class TypedFilter(admin.SimpleListFilter):
    """Offers some values as links, and accepts any other value in a text field."""

    template = "admin/documents/typed_filter.html"

    def has_output(self) -> bool:
        return True

    def choices(self, changelist: Any) -> Any:
        kept = changelist.get_query_string(remove=[self.parameter_name, "p"]).removeprefix("?")
        first = {"kept": parse_qsl(kept), "value": self.value() or "", "name": self.parameter_name}
        return chain([first], list(super().choices(changelist)))


class TagFilter(TypedFilter):
    title = "tag"
    parameter_name = "tag"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        newest = model_admin.get_queryset(request).order_by("-created_at", "-id")
        tags = chain.from_iterable(newest.values_list("tags", flat=True)[:SAMPLE])
        return _most_frequent(tags, self.used_parameters.get("tag"))

    def queryset(self, request: HttpRequest, queryset: QuerySet[Document]) -> QuerySet[Document]:
        return queryset.filter(tags__contains=[self.value()]) if self.value() else queryset


class ErrorFilter(admin.SimpleListFilter):
    title = "error"
    parameter_name = "error"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        failed = model_admin.get_queryset(request).filter(status=Document.Status.FAILED)
        codes = failed.order_by("-created_at").values_list("error_code", flat=True)[:SAMPLE]
        frequent = _most_frequent(codes, self.used_parameters.get("error"))
        return [(code, words_of(code)) for code, _ in frequent]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Document]) -> QuerySet[Document]:
        if not self.value():
            return queryset
        return queryset.filter(status=Document.Status.FAILED, error_code=self.value())


class AddedFilter(admin.DateFieldListFilter):
    """Django's date filter, with the title of the column."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.title = "date added"


class TypeFilter(admin.SimpleListFilter):
    title = "type"
    parameter_name = "type"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        newest = model_admin.get_queryset(request).order_by("-created_at", "-id")
        kinds = newest.values_list("source_type", flat=True)[:SAMPLE]
        frequent = _most_frequent(kinds, self.used_parameters.get("type"))
        return [(value, kind_name(value)) for value, _ in frequent]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Document]) -> QuerySet[Document]:
        return queryset.filter(source_type=self.value()) if self.value() else queryset


class CollectionFilter(admin.SimpleListFilter):
    title = "collection"
    parameter_name = "collection"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        collections = Collection.objects.select_related("namespace").order_by("-created_at")
        visible = only_visible(request, collections)
        return [(str(one.pk), f"{one} ({one.namespace})") for one in visible[:COLLECTIONS]]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Document]) -> QuerySet[Document]:
        if not self.value():
            return queryset
        members = CollectionDocument.objects.filter(collection=uuid.UUID(self.value()))
        return queryset.filter(pk__in=members.values("document_id"))


def _most_frequent(values: Iterable[str], chosen: str | None) -> list[tuple[str, str]]:
    """Return the most frequent values, and the chosen one even if it is not among them."""
    offered = [value for value, _ in Counter(filter(None, values)).most_common(OFFERED)]
    if chosen and chosen not in offered:
        offered.insert(0, chosen)
    return [(value, value) for value in offered]
