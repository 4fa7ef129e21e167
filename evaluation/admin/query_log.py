"""The query log, with a filter for difficult questions and an action to add them to golden sets."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import Prefetch, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from documents.admin.readonly import ReadOnlyAdmin
from evaluation.errors import BadGoldenSet
from evaluation.golden import curating
from evaluation.golden.feedback import disliked, without_selection
from evaluation.models import Feedback
from ragsite.platform.wording import plural
from retrieval.models import QueryLog

from .choosing import ChoosesSet, SetChoiceForm, chosen_set

LOWEST = 10  # percent of the questions, by their best hit's similarity
TAG = "from-query-log"


class DifficultFilter(admin.SimpleListFilter):
    title = "difficult"
    parameter_name = "difficult"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [
            ("nothing", "No hits"),
            ("fallback", "Answered with a fallback"),
            ("far", f"Best hit far away (lowest {LOWEST} %)"),
            ("negative", "Negative feedback"),
            ("unchosen", "Nothing was chosen"),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[QueryLog]) -> QuerySet[QueryLog]:
        if self.value() == "nothing":
            return queryset.filter(hits=0)
        if self.value() == "fallback":
            return queryset.exclude(fallbacks=[])
        if self.value() == "far":
            near = queryset.filter(best_vector__isnull=False).order_by("best_vector")
            last = max(1, near.count() * LOWEST // 100)
            bound = near.values_list("best_vector", flat=True)[last - 1 : last].first()
            return near.filter(best_vector__lte=bound) if bound is not None else near
        if self.value() == "negative":
            return disliked(queryset)
        if self.value() == "unchosen":
            return without_selection(queryset)
        return queryset


@admin.register(QueryLog)
class QueryLogAdmin(ChoosesSet, ReadOnlyAdmin):
    list_display = (
        "query",
        "namespace",
        "hits",
        "similarity",
        "bm25",
        "fallbacks",
        "feedback_link",
        "milliseconds",
        "created_at",
    )
    list_filter = (DifficultFilter, "namespace")
    list_select_related = ("namespace",)
    search_fields = ("query",)
    date_hierarchy = "created_at"
    show_full_result_count = False
    action_form = SetChoiceForm
    actions = ("add_to_golden_set",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[QueryLog]:
        feedback = Feedback.objects.only("query_log_id", "useful")
        return super().get_queryset(request).prefetch_related(Prefetch("feedback", feedback))

    @admin.display(description="feedback")
    def feedback_link(self, line: QueryLog) -> SafeString | str:
        usefuls = [each.useful for each in line.feedback.all()]
        if not usefuls:
            return ""
        negative = usefuls.count(False)
        shown = f"{len(usefuls)}, {negative} not useful" if negative else str(len(usefuls))
        address = reverse("admin:evaluation_feedback_changelist")
        link = '<a href="{}?query_log__id__exact={}">{}</a>'
        return format_html(link, address, line.pk, shown)

    @admin.display(ordering="best_vector")
    def similarity(self, line: QueryLog) -> str:
        return "" if line.best_vector is None else f"{line.best_vector:.3f}"

    @admin.display(ordering="best_lexical", description="BM25")
    def bm25(self, line: QueryLog) -> str:
        return "" if line.best_lexical is None else f"{line.best_lexical:.1f}"

    @admin.display(description="ms")
    def milliseconds(self, line: QueryLog) -> str:
        return f"{line.times_ms.get('total', 0):.0f}"

    @admin.action(description="Add to the golden set …", permissions=["operate"])
    def add_to_golden_set(self, request: HttpRequest, queryset: QuerySet[QueryLog]) -> None:
        golden_set = chosen_set(request)
        if golden_set is None:
            return
        added = 0
        for line in queryset.filter(namespace=golden_set.namespace_id):
            try:
                curating.add_query(golden_set, line.query, filters=line.filters, tags=[TAG])
                added += 1
            except BadGoldenSet as error:
                self.message_user(request, f"{line.query[:80]}: {error}", messages.WARNING)
        if foreign := queryset.exclude(namespace=golden_set.namespace_id).count():
            self.message_user(
                request,
                f"Skipped from another namespace: {plural(foreign, 'question')}.",
                messages.WARNING,
            )
        self.message_user(
            request, f"{plural(added, 'query')} added to {golden_set.name}, to be judged."
        )
