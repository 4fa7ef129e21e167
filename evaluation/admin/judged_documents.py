"""The choice of a document to judge: only those of the query's own namespace are offered."""

import uuid
from typing import Any

from django.contrib import admin
from django.contrib.admin.views.autocomplete import AutocompleteJsonView
from django.contrib.admin.widgets import AutocompleteSelect
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import get_object_or_404
from django.urls import reverse

from documents.admin.visible import only_visible
from documents.models import Document
from evaluation.models import GoldenQuery

URL_NAME = "evaluation_goldenquery_documents"


class DocumentsOfQuery(AutocompleteJsonView):
    def get_queryset(self) -> QuerySet[Document]:
        query = get_object_or_404(
            only_visible(self.request, GoldenQuery.objects.all()), pk=self.kwargs["pk"]
        )
        found: QuerySet[Document] = super().get_queryset()
        return found.filter(namespace=query.namespace_id)


class DocumentSelect(AutocompleteSelect):
    """Uses DocumentsOfQuery instead of Django's own view, which offers all namespaces."""

    def __init__(self, field: Any, site: admin.AdminSite, query_id: str) -> None:
        super().__init__(field, site)
        self.query_id = query_id

    def get_url(self) -> str:
        return reverse(f"admin:{URL_NAME}", args=[self.query_id])


def documents_view(request: HttpRequest, pk: uuid.UUID) -> HttpResponseBase:
    return DocumentsOfQuery.as_view(admin_site=admin.site)(request, pk=pk)
