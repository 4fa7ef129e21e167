"""The list of logged questions, and actions on them."""

import uuid
from types import MappingProxyType
from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Prefetch, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from documents.admin.readonly import ReadOnlyAdmin
from evaluation.errors import BadGoldenSet
from evaluation.golden import curating
from evaluation.models import Feedback
from ragsite.platform.wording import plural
from ragsite.web.markup import score_bar, when
from retrieval.models import QueryLog

from ..analytics import analytics_view
from ..choosing import ChoosesSet, SetChoiceForm, chosen_set
from ..playground.view import playground_view
from . import again, page
from .filters import DifficultFilter, SlowFilter

TAG = "from-query-log"


@admin.register(QueryLog)
class QueryLogAdmin(ChoosesSet, ReadOnlyAdmin):
    list_display = (
        "question",
        "namespace",
        "results",
        "shown_relevance",
        "shown_fallbacks",
        "feedback_link",
        "milliseconds",
        "asked",
    )
    list_filter = (DifficultFilter, SlowFilter, "namespace", "created_at")
    list_select_related = ("namespace",)
    search_fields = ("query",)
    search_help_text = "Words of a question"
    change_list_template = "admin/evaluation/query_list.html"
    filter_titles = MappingProxyType({"created_at": "asked"})
    row_noun = "question"
    when_empty = "Questions that are asked over the API, or on the page for people, appear here."
    action_form = SetChoiceForm
    actions = ("add_to_golden_set",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[QueryLog]:
        feedback = Feedback.objects.only("query_log_id", "useful")
        lines = super().get_queryset(request).defer("returned", "options", "filters")
        return lines.prefetch_related(Prefetch("feedback", feedback))

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        return [
            path("playground/", view(playground_view(self)), name="playground"),
            path("analytics/", view(analytics_view(self)), name="analytics"),
            path("<uuid:pk>/again/", view(self.again_view), name="retrieval_querylog_again"),
            *super().get_urls(),
        ]

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        context = {"retention": _retention(), **(extra_context or {})}
        return super().changelist_view(request, context)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        return self._page(request, object_id, "admin/evaluation/query.html", page.context_of)

    def again_view(self, request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
        return self._page(request, pk, "admin/evaluation/query_again.html", again.context_of)

    def _page(self, request: HttpRequest, pk: Any, template: str, context_of: Any) -> HttpResponse:
        if request.method == "POST" or not self.has_view_permission(request):
            raise PermissionDenied
        try:
            found = uuid.UUID(str(pk))
        except ValueError:
            raise Http404 from None
        lines = self.get_queryset(request).defer(None).select_related("namespace")
        line = get_object_or_404(lines, pk=found)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "line": line,
            "retention": _retention(),
            **context_of(line),
        }
        return TemplateResponse(request, template, context)

    @admin.display(description="question", ordering="query")
    def question(self, line: QueryLog) -> str:
        return line.query[:200]

    @admin.display(ordering="hits")
    def results(self, line: QueryLog) -> str:
        return f"{line.hits:,}" if line.hits else "nothing"

    @admin.display(description="relevance", ordering="relevance")
    def shown_relevance(self, line: QueryLog) -> SafeString | str:
        return score_bar(line.relevance) if line.hits else ""

    @admin.display(description="fallbacks")
    def shown_fallbacks(self, line: QueryLog) -> str:
        return ", ".join(line.fallbacks)

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

    @admin.display(description="time", ordering="times_ms__total")
    def milliseconds(self, line: QueryLog) -> str:
        return f"{line.times_ms.get('total', 0):,.0f} ms"

    @admin.display(description="asked", ordering="created_at")
    def asked(self, line: QueryLog) -> SafeString:
        return when(line.created_at)

    @admin.action(description="Add to the golden set …", permissions=["operate"])
    def add_to_golden_set(self, request: HttpRequest, queryset: QuerySet[QueryLog]) -> None:
        golden_set = chosen_set(request)
        if golden_set is None:
            return
        added = 0
        lines = queryset.defer(None).filter(namespace=golden_set.namespace_id)
        for line in lines:
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


def _retention() -> str:
    days = settings.QUERY_LOG_DAYS
    if days <= 0:
        return "Nothing is logged: QUERY_LOG_DAYS is 0."
    return f"Questions are kept for {plural(days, 'day')} (QUERY_LOG_DAYS)."
