"""The list of documents, with its filters and actions."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import Prefetch, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from documents.extractors.formats import kind_name
from documents.jobs.queue import OPEN_STATES
from documents.models import Document, IngestJob
from ragsite.platform.wording import file_size, plural
from ragsite.web.markup import when

from ..confirmation import confirm_first, fingerprint_of
from . import actions, cells
from .filters import AddedFilter, CollectionFilter, ErrorFilter, TagFilter, TypeFilter
from .page import DocumentPages
from .removing import CONSEQUENCE, QUESTION, request_removal


@admin.register(Document)
class DocumentAdmin(DocumentPages):
    list_display = (
        "shown_title",
        "shown_status",
        "namespace",
        "kind_and_size",
        "chunks",
        "added",
    )
    list_filter = (
        "status",
        ErrorFilter,
        TagFilter,
        ("created_at", AddedFilter),
        "namespace",
        CollectionFilter,
        TypeFilter,
    )
    list_display_links = None  # tags beside the title are links, too
    list_select_related = ("namespace",)
    list_per_page = 50
    ordering = ("-created_at", "-id")
    search_fields = ("title", "source_uri", "=id")
    search_help_text = "Title, source or id"
    change_list_template = "admin/documents/list.html"
    actions = ("index_again", "retag", "remove")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Document]:
        jobs = IngestJob.objects.filter(state__in=OPEN_STATES)
        documents = super().get_queryset(request).defer("metadata", "given")
        return documents.prefetch_related(Prefetch("jobs", jobs, to_attr="open_jobs"))

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        may = self.has_operate_permission(request)
        return super().changelist_view(request, {"may_upload": may, **(extra_context or {})})

    @admin.display(description="document", ordering="title")
    def shown_title(self, document: Document) -> SafeString:
        return cells.title(document)

    @admin.display(description="status", ordering="status")
    def shown_status(self, document: Document) -> SafeString:
        return cells.status(document)

    @admin.display(description="file", ordering="byte_size")
    def kind_and_size(self, document: Document) -> SafeString:
        size = file_size(document.byte_size)
        return format_html("{}<small>{}</small>", kind_name(document.source_type), size)

    @admin.display(ordering="chunks_count")
    def chunks(self, document: Document) -> SafeString | str:
        return cells.chunk_count(document)

    @admin.display(description="added", ordering="created_at")
    def added(self, document: Document) -> SafeString:
        return when(document.created_at)

    @admin.action(description="Index again", permissions=["operate"])
    @confirm_first(
        "Index {rows} again?",
        noun="document",
        consequence="Their files are read, cut and embedded again, which a provider may charge "
        "for. Searches find the present chunks until the new ones are ready.",
    )
    def index_again(self, request: HttpRequest, queryset: QuerySet[Document]) -> None:
        try:
            count = actions.index_again(queryset)
        except actions.TooMany as error:
            return self.message_user(request, str(error), messages.ERROR)
        self.message_user(request, f"{plural(count, 'document')} queued.", messages.SUCCESS)

    @admin.action(description="Change tags …", permissions=["operate"])
    def retag(self, request: HttpRequest, queryset: QuerySet[Document]) -> HttpResponse | None:
        """Ask for the tags and for confirmation on the same page."""
        ids = queryset.order_by().values_list("pk", flat=True)
        fingerprint = fingerprint_of("retag", ids)
        if request.POST.get("confirmed") == fingerprint and self._retagged(request, queryset):
            return None
        count = len(ids)
        context = {
            **self.admin_site.each_context(request),
            "title": f"Change the tags of {plural(count, 'document')}",
            "opts": self.opts,
            "titles": [str(document)[:120] for document in queryset[:20]],
            "more": max(0, count - 20),
            "posted": [
                ("action", "retag"),
                ("select_across", request.POST.get("select_across", "0")),
                *(("_selected_action", pk) for pk in request.POST.getlist("_selected_action")),
            ],
            "fingerprint": fingerprint,
            "added": request.POST.get("added", ""),
            "removed": request.POST.get("removed", ""),
        }
        return TemplateResponse(request, "admin/documents/retag.html", context)

    def _retagged(self, request: HttpRequest, queryset: QuerySet[Document]) -> bool:
        """Return whether it succeeded; if not, a message tells the user why."""
        try:
            added = actions.read_tags(request.POST.get("added", ""))
            removed = actions.read_tags(request.POST.get("removed", ""))
            change = actions.TagChange(added, removed)
            if not change:
                messages.warning(request, "Name at least one tag to add or to remove.")
                return False
            count = actions.change_tags(queryset, change)
        except (actions.InvalidTags, actions.TooMany) as error:
            messages.error(request, str(error))
            return False
        self.message_user(request, f"{plural(count, 'document')} changed.", messages.SUCCESS)
        return True

    @admin.action(description="Delete, with chunks and stored files", permissions=["operate"])
    @confirm_first(QUESTION, noun="document", consequence=CONSEQUENCE)
    def remove(self, request: HttpRequest, queryset: QuerySet[Document]) -> None:
        request_removal(request, queryset)
