"""A document's page, and the actions on it."""

import json
import uuid
from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.files.base import File
from django.db.models import Prefetch
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    HttpResponseRedirect,
    JsonResponse,
)
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse

from documents.errors import IngestError
from documents.extractors.formats import kind_name
from documents.intake import originals
from documents.jobs.queue import OPEN_STATES
from documents.models import CollectionDocument, Document, DocumentVersion, Fact, IngestJob
from documents.pages.links import passage_url
from ragsite.web.markup import badge
from ragsite.web.streaming import file_response

from ..confirmation import confirmation_page, fingerprint_of
from ..parameters import uuid_or_404
from . import actions, cells, reading
from .moving import MovePage
from .removing import CONSEQUENCE, QUESTION, request_removal
from .uploading import UploadPage

Answer = Callable[[HttpRequest, Document], HttpResponseBase]


class DocumentPages(UploadPage, MovePage):
    """The pages below the list."""

    def get_urls(self) -> list[URLPattern]:
        def one(view: Answer) -> Any:
            return self.admin_site.admin_view(self._of_one(view))

        name = "documents_document"
        return [
            path("upload/", self.admin_site.admin_view(self.upload_view), name=f"{name}_upload"),
            path("<uuid:pk>/progress/", one(self.progress_view), name=f"{name}_progress"),
            path("<uuid:pk>/original/", one(self.original_view), name=f"{name}_original"),
            path("<uuid:pk>/text/", one(self.text_view), name=f"{name}_text"),
            path("<uuid:pk>/index-again/", one(self.index_view), name=f"{name}_index_again"),
            path("<uuid:pk>/tags/", one(self.tags_view), name=f"{name}_tags"),
            path("<uuid:pk>/move/", one(self.move_view), name=f"{name}_move"),
            path("<uuid:pk>/remove/", one(self.remove_view), name=f"{name}_remove"),
            *super().get_urls(),
        ]

    def _of_one(self, view: Answer) -> Any:
        """Wrap a view of a document that the operator may see; others get 404."""

        def answer(request: HttpRequest, pk: uuid.UUID) -> HttpResponseBase:
            if not self.has_view_permission(request):
                raise PermissionDenied
            return view(request, self._find(request, pk))

        return answer

    def _find(self, request: HttpRequest, pk: uuid.UUID) -> Document:
        jobs = IngestJob.objects.filter(state__in=OPEN_STATES)
        documents = self.get_queryset(request).filter(pk=pk).defer(None)
        documents = documents.select_related("namespace__active_profile").prefetch_related(None)
        found: Document | None = documents.prefetch_related(
            Prefetch("jobs", jobs, to_attr="open_jobs")
        ).first()
        if found is None:
            raise Http404
        return found

    def _require_operator(self, request: HttpRequest) -> None:
        if not self.has_operate_permission(request):
            raise PermissionDenied

    def _back(self, document: Document) -> HttpResponseRedirect:
        return HttpResponseRedirect(reverse("admin:documents_document_change", args=[document.pk]))

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        if not self.has_view_permission(request) or request.method == "POST":
            raise PermissionDenied
        document = self._find(request, uuid_or_404(object_id))
        members = CollectionDocument.objects.filter(document=document)
        context = {
            **self.admin_site.each_context(request),
            "title": str(document)[:200],
            "subtitle": None,
            "opts": self.opts,
            "document": document,
            "kind": kind_name(document.source_type),
            "status": cells.status(document),
            "is_busy": bool(document.open_jobs),  # type: ignore[attr-defined]
            "may_operate": self.has_operate_permission(request),
            "drawn": reading.drawn_text(document, request.GET),
            "versions": reading.versions_of(document),
            "jobs": reading.jobs_of(document),
            "collections": [m.collection for m in members.select_related("collection")[:20]],
            "facts": Fact.objects.filter(namespace=document.namespace_id, document=document)[
                :101
            ].count(),
            "metadata": json.dumps(document.metadata, indent=2, ensure_ascii=False),
            "chunks_address": cells.chunks_address(document),
            "page_address": _page_address(document),
            **(extra_context or {}),
        }
        return TemplateResponse(request, "admin/documents/document.html", context)

    def progress_view(self, request: HttpRequest, document: Document) -> HttpResponse:
        jobs: list[IngestJob] = document.open_jobs  # type: ignore[attr-defined]
        job = jobs[0] if jobs else None
        return JsonResponse(
            {
                "badge": badge(document.status),
                "text": cells.progress_text(job) if job else document.error_message,
                "done": job.passages_done if job else 0,
                "total": job.passages_total if job else 0,
                "is_busy": job is not None,
                "title": str(document)[:160],
                "chunks": cells.chunk_count(document),
            }
        )

    def original_view(self, request: HttpRequest, document: Document) -> HttpResponseBase:
        version = _version(document, request.GET.get("version"))
        if not version.storage_key:  # a conversation: its original is its turns
            return self.text_view(request, document)
        try:
            original = originals.verified(version.storage_key, sha256=version.content_sha256)
        except (originals.OriginalLost, originals.StorageUnavailable) as error:
            messages.error(request, str(error))
            return self._back(document)
        name = version.file_name or str(document.pk)
        return file_response(
            File(original), name=name, media_type=version.media_type, size=version.byte_size
        )

    def text_view(self, request: HttpRequest, document: Document) -> HttpResponseBase:
        """Return the whole text as plain text, which no browser executes."""
        version = _version(document, request.GET.get("version"))
        if version.published_at is None:
            messages.warning(request, "The text of this version has not been read yet.")
            return self._back(document)
        return HttpResponse(version.text, content_type="text/plain; charset=utf-8")

    def index_view(self, request: HttpRequest, document: Document) -> HttpResponseBase:
        self._require_operator(request)
        if request.method != "POST":
            return self._back(document)  # after signing in again, the browser comes back with GET
        actions.index_again(Document.objects.filter(pk=document.pk))
        messages.success(request, "Queued: it is indexed again.")
        return self._back(document)

    def tags_view(self, request: HttpRequest, document: Document) -> HttpResponseBase:
        """Replace the tags by those in the form."""
        self._require_operator(request)
        if request.method != "POST":
            return self._back(document)  # after signing in again, the browser comes back with GET
        try:
            wanted = actions.read_tags(request.POST.get("tags", ""))
            change = actions.TagChange(wanted, tuple(set(document.tags) - set(wanted)))
            actions.change_tags(Document.objects.filter(pk=document.pk), change)
        except (actions.InvalidTags, IngestError) as error:
            messages.error(request, str(error))
        else:
            messages.success(request, "Tags changed. Searches filter by them at once.")
        return self._back(document)

    def remove_view(self, request: HttpRequest, document: Document) -> HttpResponseBase:
        """Delete this document, like the action of the list."""
        self._require_operator(request)
        queryset = Document.objects.filter(pk=document.pk)
        fingerprint = fingerprint_of("remove", [document.pk])
        if request.method == "POST" and request.POST.get("confirmed") == fingerprint:
            request_removal(request, queryset)
            return HttpResponseRedirect(reverse("admin:documents_document_changelist"))
        return confirmation_page(
            self,
            request,
            queryset,
            question=QUESTION,
            noun="document",
            consequence=CONSEQUENCE,
            fingerprint=fingerprint,
        )


def _version(document: Document, value: str | None) -> DocumentVersion:
    """Return the version with this number; by default the one that searches use, or else the
    newest."""
    versions = DocumentVersion.objects.filter(document=document)
    number = document.live_version or document.document_version
    if value and value.isascii() and value.isdecimal() and len(value) < 10:
        number = int(value)
    found = versions.filter(number=number).first()
    if found is None:
        raise Http404
    return found


def _page_address(document: Document) -> str:
    """Return the address of the page that citations open; blank until there is a text."""
    if document.live_version is None:
        return ""
    return passage_url(
        namespace_id=document.namespace_id,
        document_id=document.pk,
        version=document.live_version,
    )
