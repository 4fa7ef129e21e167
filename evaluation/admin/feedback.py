"""Users' feedback on answers, and an action to add it to golden sets."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.defaultfilters import truncatechars
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from documents.admin.readonly import ReadOnly, ReadOnlyAdmin
from documents.models import Chunk
from evaluation.golden.feedback import USEFUL, Curated, curate
from evaluation.models import Feedback, SelectedPassage
from ragsite.platform.wording import plural
from ragsite.web.markup import NOTHING_SHOWN, when

from .choosing import ChoosesSet, SetChoiceForm, chosen_set


class UsefulFilter(admin.SimpleListFilter):
    title = "useful"
    parameter_name = "useful"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("yes", "Yes"), ("no", "No"), ("unsaid", "Not stated")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Feedback]) -> QuerySet[Feedback]:
        value = self.value()
        return queryset.filter(useful=USEFUL[value]) if value in USEFUL else queryset


class SelectionFilter(admin.SimpleListFilter):
    title = "passages selected"
    parameter_name = "selection"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("yes", "Some"), ("no", "None")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Feedback]) -> QuerySet[Feedback]:
        if self.value() == "yes":
            return queryset.exclude(selected_chunk_ids=[])
        return queryset.filter(selected_chunk_ids=[]) if self.value() == "no" else queryset


class SelectedInline(ReadOnly, admin.TabularInline):
    model = SelectedPassage
    fields = ("document", "characters", "quote")
    readonly_fields = ("characters",)
    verbose_name_plural = "selected passages"

    @admin.display
    def characters(self, passage: SelectedPassage) -> str:
        return f"{passage.start:,} – {passage.end:,}"


@admin.register(Feedback)
class FeedbackAdmin(ChoosesSet, ReadOnlyAdmin):
    list_display = ("query", "namespace", "useful", "selection", "short_comment", "given")
    list_filter = (UsefulFilter, SelectionFilter, "namespace")
    list_select_related = ("namespace",)
    search_fields = ("query", "comment")
    search_help_text = "Words of a question or comment"
    date_hierarchy = "created_at"
    row_noun = "rating"
    when_empty = "Ratings that people give to answers, and that clients send, appear here."
    fields = ("namespace", "query_log", "query", "filters", "useful", "comment", "chosen", "given")
    readonly_fields = ("chosen", "given")
    inlines = (SelectedInline,)
    action_form = SetChoiceForm
    actions = ("add_to_golden_set",)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return admin.ModelAdmin.has_delete_permission(
            self, request, obj
        )  # it is never deleted automatically

    def get_queryset(self, request: HttpRequest) -> QuerySet[Feedback]:
        return super().get_queryset(request).prefetch_related("selected__document")

    @admin.display(description="selected")
    def selection(self, feedback: Feedback) -> str:
        """Show the number of passages, and their sources as far as the documents still exist."""
        if not feedback.selected_chunk_ids:
            return ""
        sources = dict.fromkeys(str(chosen.document) for chosen in feedback.selected.all())
        return f"{len(feedback.selected_chunk_ids)}: {', '.join(sources) or 'deleted'}"

    @admin.display(description="passages selected")
    def chosen(self, feedback: Feedback) -> SafeString:
        """List the passages by document and section, linked as far as they still exist."""
        known = {passage.chunk_id: passage for passage in feedback.selected.all()}
        chunks = Chunk.objects.only("section", "ordinal", "document_id").in_bulk(list(known))
        lines = (_line(known.get(pk), chunks.get(pk)) for pk in feedback.selected_chunk_ids)
        return format_html_join("", "<div>{}</div>", ((line,) for line in lines)) or NOTHING_SHOWN

    @admin.display(description="given", ordering="created_at")
    def given(self, feedback: Feedback) -> SafeString:
        return when(feedback.created_at)

    @admin.display(description="comment")
    def short_comment(self, feedback: Feedback) -> str:
        return truncatechars(feedback.comment, 100)

    @admin.action(description="Add to the golden set …", permissions=["operate"])
    def add_to_golden_set(self, request: HttpRequest, queryset: QuerySet[Feedback]) -> None:
        if golden_set := chosen_set(request):
            curated = curate(golden_set, queryset)
            for warning in _warnings(curated):
                self.message_user(request, warning, messages.WARNING)
            self.message_user(
                request,
                f"{plural(curated.queries, 'query')} in {golden_set.name}, with "
                f"{plural(curated.judgements, 'new judgement')} to be checked.",
            )


def _line(passage: SelectedPassage | None, chunk: Chunk | None) -> SafeString | str:
    if passage is None:
        return "a passage of a document that was deleted since"
    if chunk is None:
        return f"{passage.document}: a passage that is not indexed any more"
    return format_html(
        '<a href="{}">{}: {}</a>',
        reverse("admin:documents_chunk_change", args=[chunk.pk]),
        passage.document,
        chunk.section or f"chunk {chunk.ordinal}",
    )


def _warnings(curated: Curated) -> list[str]:
    counted = {
        f"Judged already: {plural(curated.judged_already, 'passage')}.": curated.judged_already,
        f"No longer in their documents: {plural(curated.gone, 'passage')}.": curated.gone,
        f"Skipped from another namespace: {curated.foreign}.": curated.foreign,
    }
    return [*curated.refused, *(sentence for sentence, count in counted.items() if count)]
