"""The list of jobs: newest first, each with its error or the reason why it waits."""

import uuid
from types import MappingProxyType
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from documents.accounts import audit
from documents.admin.confirmation import confirm_first
from documents.admin.readonly import ReadOnlyAdmin
from documents.intake import intake
from documents.jobs import queue
from documents.jobs.waiting import why_waiting
from documents.models import IngestJob
from ragsite.database.tenancy import namespace
from ragsite.platform.wording import duration, plural
from ragsite.web.markup import badge, progress_bar, when

from . import page

SHOWN_TITLE = 120  # characters
SAMPLED_FAILURES = 500  # of the newest failed jobs, whose codes are offered


class JobErrorFilter(admin.SimpleListFilter):
    """Offers the codes of the newest failures, because listing those of all jobs would scan the
    whole table."""

    title = "error"
    parameter_name = "error_code"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        failed = model_admin.get_queryset(request).filter(state=IngestJob.State.FAILED)
        codes = failed.order_by("-created_at").values_list("error_code", flat=True)
        return [(code, code) for code in sorted(set(codes[:SAMPLED_FAILURES])) if code]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(error_code=self.value()) if self.value() else queryset


@admin.register(IngestJob)
class IngestJobAdmin(ReadOnlyAdmin):
    list_display = (
        "shown_document",
        "namespace",
        "shown_state",
        "situation",
        "took",
        "queued",
    )
    list_filter = ("state", "stage", "namespace", JobErrorFilter, "created_at")
    list_select_related = ("document", "namespace")
    list_per_page = 50
    ordering = ("-created_at",)
    search_fields = ("=id", "=document__id", "error_message")
    search_help_text = "Words of an error, or an exact id of a job or document"
    filter_titles = MappingProxyType({"created_at": "queued"})
    row_noun = "job"
    when_empty = "Each upload makes one."
    actions = ("cancel", "try_again")

    def get_queryset(self, request: HttpRequest) -> QuerySet[IngestJob]:
        return super().get_queryset(request).defer("document__metadata", "document__given")

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        response = super().changelist_view(request, extra_context)
        shown = getattr(response, "context_data", None) or {}
        if "cl" in shown:
            rows = list(shown["cl"].result_list)
            reasons = why_waiting(rows)
            for job in rows:
                job.reasons = reasons.get(job.pk, [])
        return response

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        if request.method == "POST" or not self.has_view_permission(request):
            raise PermissionDenied
        try:
            pk = uuid.UUID(object_id)
        except ValueError:
            raise Http404 from None
        job = get_object_or_404(self.get_queryset(request).select_related(*page.RELATED), pk=pk)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "may_operate": self.has_operate_permission(request),
            **page.context_of(job),
        }
        return TemplateResponse(request, "admin/jobs/job.html", context)

    @admin.display(description="document", ordering="document__title")
    def shown_document(self, job: IngestJob) -> str:
        return str(job.document)[:SHOWN_TITLE]

    @admin.display(description="state", ordering="state")
    def shown_state(self, job: IngestJob) -> SafeString:
        return badge(job.state)

    @admin.display(description="what happens")
    def situation(self, job: Any) -> SafeString | str:
        """Return the error message, the first reason why the job waits, or its progress."""
        if job.state == IngestJob.State.RUNNING and job.passages_total:
            return progress_bar(job.passages_done, job.passages_total, _passages(job))
        if reasons := getattr(job, "reasons", []):
            return str(reasons[0].sentence)
        if job.error_message:
            return str(job.error_message)
        return plural(job.passages_total, "passage") if job.passages_total else ""

    @admin.display(description="took")
    def took(self, job: IngestJob) -> str:
        if job.started_at is None or job.finished_at is None:
            return ""
        return duration((job.finished_at - job.started_at).total_seconds())

    @admin.display(description="queued", ordering="created_at")
    def queued(self, job: IngestJob) -> SafeString:
        return when(job.created_at)

    @admin.action(description="Cancel", permissions=["operate"])
    @confirm_first(
        "Cancel {rows}?",
        noun="job",
        consequence="What waits is not indexed, and what is being indexed stops. Jobs that have "
        "ended are left alone.",
    )
    def cancel(self, request: HttpRequest, queryset: QuerySet[IngestJob]) -> None:
        cancelled = 0
        for job in queryset:
            with namespace(job.namespace_id):
                if queue.cancel(job.pk):
                    audit.record("job.cancel", target=audit.Target("ingestjob", str(job.pk)))
                    cancelled += 1
        self.message_user(request, f"{plural(cancelled, 'job')} cancelled.")

    @admin.action(description="Try again", permissions=["operate"])
    def try_again(self, request: HttpRequest, queryset: QuerySet[IngestJob]) -> None:
        for job in queryset:
            intake.resubmit(job.namespace_id, job.document_id)
            again = audit.Target("document", str(job.document_id))
            audit.record("document.reindex", namespace=job.namespace_id, target=again)
        newest = reverse("admin:documents_ingestjob_changelist")
        done = format_html(
            '{} queued. <a href="{}">Show the newest jobs.</a>',
            plural(len(queryset), "document"),
            newest,
        )
        self.message_user(request, done, messages.SUCCESS)


def _passages(job: IngestJob) -> str:
    return f"{job.stage}: {job.passages_done:,} of {job.passages_total:,} passages"
