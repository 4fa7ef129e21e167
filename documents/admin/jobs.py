"""Ingest jobs: what the workers are doing, and what failed."""

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from documents.accounts import audit
from documents.intake import intake
from documents.jobs import queue
from documents.models import IngestJob
from ragsite.database.tenancy import namespace
from ragsite.platform.wording import plural

from .confirmation import confirm_first
from .readonly import ReadOnlyAdmin


@admin.register(IngestJob)
class IngestJobAdmin(ReadOnlyAdmin):
    list_display = (
        "document",
        "namespace",
        "state",
        "stage",
        "progress",
        "attempts",
        "cost",
        "started_at",
    )
    list_filter = ("state", "stage", "namespace", "error_code")
    list_select_related = ("document", "namespace")
    search_fields = ("=id", "=document__id", "error_message")
    date_hierarchy = "created_at"
    actions = ("cancel", "try_again")

    @admin.display
    def progress(self, job: IngestJob) -> SafeString:
        bar = '<progress max="{}" value="{}"></progress> {}/{}'
        done, total = job.passages_done, job.passages_total
        return format_html(bar, total or 1, done, done, total)

    @admin.display(description="embedded")
    def cost(self, job: IngestJob) -> str:
        money = f" ({job.embedding_cost:.6f})" if job.embedding_cost else ""
        return f"{job.embedding_tokens:,} tokens{money}"

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
        self.message_user(request, f"{plural(len(queryset), 'document')} queued.", messages.SUCCESS)
