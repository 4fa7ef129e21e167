"""One chunk: its content, vector and neighbours, and a trace of a search for it."""

import json
from typing import Any

from django import forms
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from documents.admin.parameters import uuid_or_404
from documents.admin.readonly import ReadOnlyAdmin
from documents.errors import IngestError
from documents.models import Chunk
from ragsite.platform.errors import ApiError
from retrieval import reranking
from retrieval.inspection import tracing
from retrieval.inspection.neighbours import Neighbour, nearest
from retrieval.requests import SearchRequest

MAX_QUESTION = 2000  # characters
NEIGHBOURS = 10
DEFAULTS = {"k": "10", "mode": "hybrid", "rerank": "auto"}


class TraceForm(forms.Form):
    """What to search for, when tracing a chunk."""

    question = forms.CharField(
        max_length=MAX_QUESTION, widget=forms.TextInput(attrs={"type": "search"})
    )
    k = forms.IntegerField(min_value=1, max_value=100, initial=10, required=False)
    mode = forms.ChoiceField(
        choices=[(mode, mode) for mode in ("hybrid", "semantic", "lexical")], required=False
    )
    rerank = forms.ChoiceField(
        choices=[(choice, choice) for choice in reranking.CHOICES], required=False
    )

    def search_request(self) -> SearchRequest:
        fields = self.cleaned_data
        return SearchRequest(
            query=fields["question"],
            k=fields["k"] or 10,
            mode=fields["mode"] or "hybrid",
            rerank=fields["rerank"] or "auto",
        )


class ChunkPages(ReadOnlyAdmin):
    """The page below the list."""

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        if not self.has_view_permission(request) or request.method == "POST":
            raise PermissionDenied
        chunk = self._find(request, object_id)
        form = TraceForm({**DEFAULTS, **request.GET.dict()} if "question" in request.GET else None)
        around = _around(chunk)
        context = {
            **self.admin_site.each_context(request),
            "title": f"{str(chunk.document)[:120]}, chunk {chunk.ordinal}",
            "opts": self.opts,
            "chunk": chunk,
            "document": chunk.document,
            "vector": _vector(chunk),
            "is_searched": chunk.profile_id == chunk.namespace.active_profile_id,
            "before": around.get(chunk.ordinal - 1),
            "after": around.get(chunk.ordinal + 1),
            "metadata": json.dumps(chunk.metadata, indent=2) if chunk.metadata else "",
            "form": form,
            **_neighbours(chunk),
            **(_traced(chunk, form) if form.is_valid() else {}),
            **(extra_context or {}),
        }
        return TemplateResponse(request, "admin/chunks/chunk.html", context)

    def _find(self, request: HttpRequest, object_id: str) -> Chunk:
        chunks: QuerySet[Chunk] = self.get_queryset(request).defer(None)
        chunks = chunks.defer("document__metadata", "document__given")
        related = ("document", "namespace", "profile", "version")
        chunks = chunks.select_related(*related).defer("version__text", "version__outline")
        found = chunks.filter(pk=uuid_or_404(object_id)).first()
        if found is None:
            raise Http404
        return found


def _around(chunk: Chunk) -> dict[int, Chunk]:
    """Return the chunks before and after it, by ordinal."""
    beside = Q(ordinal=chunk.ordinal + 1) | Q(ordinal=chunk.ordinal - 1)
    chunks = Chunk.objects.filter(beside, version=chunk.version_id, profile=chunk.profile_id)
    return {found.ordinal: found for found in chunks.only("pk", "ordinal")}


def _vector(chunk: Chunk) -> dict[str, Any]:
    numbers = list(chunk.embedding)
    return {"dimensions": len(numbers), "is_zero": not any(numbers)}


def _neighbours(chunk: Chunk) -> dict[str, Any]:
    found: list[Neighbour] = nearest(chunk.namespace_id, chunk.pk, limit=NEIGHBOURS)
    return {"neighbours": found, "duplicates": sum(each.repeats for each in found)}


def _traced(chunk: Chunk, form: TraceForm) -> dict[str, Any]:
    try:
        trace = tracing.trace(chunk.namespace_id, chunk.pk, form.search_request())
    except (ApiError, IngestError) as error:
        return {"trace_error": str(error)}
    return {"trace": trace}
