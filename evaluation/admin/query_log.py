"""What was asked, with the difficult questions to be found, and into golden sets with them."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ActionForm
from django.db.models import QuerySet
from django.http import HttpRequest

from documents.admin.readonly import LookOnlyAdmin
from evaluation import curating
from evaluation.errors import BadGoldenSet
from evaluation.models import GoldenSet
from retrieval.models import QueryLog

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
        return queryset


class SetChoiceForm(ActionForm):
    golden_set = forms.ModelChoiceField(GoldenSet.objects.none(), required=False, label="Set:")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["golden_set"]
        assert isinstance(field, forms.ModelChoiceField)  # noqa: S101
        field.queryset = GoldenSet.objects.all()


@admin.register(QueryLog)
class QueryLogAdmin(LookOnlyAdmin):
    list_display = (
        "query",
        "namespace",
        "hits",
        "similarity",
        "bm25",
        "fallbacks",
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
        chosen = request.POST.get("golden_set")
        golden_set = GoldenSet.objects.filter(pk=chosen).first() if chosen else None
        if golden_set is None:
            self.message_user(request, "Choose the set beside the action.", messages.WARNING)
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
                request, f"{foreign} questions are of another namespace.", messages.WARNING
            )
        self.message_user(request, f"{added} queries are in {golden_set.name}; judge them now.")
