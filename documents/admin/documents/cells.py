"""How a document's fields are displayed, in the list and on its page."""

from urllib.parse import urlencode

from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from documents.models import Document, IngestJob
from ragsite.web.markup import NOTHING, badge

TAGS_SHOWN = 4
HIDDEN = mark_safe(" hidden")


def title(document: Document) -> SafeString:
    source = document.source_uri.removeprefix("upload:")
    if source == document.title:
        source = ""
    return format_html(
        '<a class="doc-title" href="{}">{}</a><small class="doc-source">{}</small>{}',
        reverse("admin:documents_document_change", args=[document.pk]),
        str(document)[:160],
        source[:160],
        tags(document),
    )


def status(document: Document) -> SafeString:
    """Show the status as a badge, with the progress of running work and the error message below
    it."""
    jobs: list[IngestJob] = getattr(document, "open_jobs", [])
    if jobs:
        return live_status(document, jobs[0])
    sentence = document.error_message if document.error_code else ""
    return format_html('{}<span class="why">{}</span>', badge(document.status), sentence[:300])


def live_status(document: Document, job: IngestJob) -> SafeString:
    """Show a status that documents/progress.js keeps up to date."""
    return format_html(
        '<span class="live" data-live="{}">{} <progress max="{}" value="{}" '
        'aria-label="progress"{}></progress><span class="why" aria-live="polite">{}</span></span>',
        reverse("admin:documents_document_progress", args=[document.pk]),
        badge(document.status),
        job.passages_total or 1,
        job.passages_done,
        "" if job.passages_total else HIDDEN,
        progress_text(job),
    )


def progress_text(job: IngestJob) -> str:
    if job.state == IngestJob.State.QUEUED:
        waiting = "waiting for a worker"
        if not job.attempts:
            return waiting
        return f"{waiting}, after attempt {job.attempts} of {job.max_attempts}"
    doing = {"extract": "reading", "split": "cutting", "embed": "embedding", "store": "storing"}
    text = doing.get(job.stage, job.stage)
    if job.passages_total:
        text = f"{text}, {job.passages_done:,} of {job.passages_total:,} chunks"
    return text


def chunk_count(document: Document) -> SafeString | str:
    if not document.chunks_count:
        return NOTHING
    count = f"{document.chunks_count:,}"
    return format_html('<a href="{}">{}</a>', chunks_address(document), count)


def chunks_address(document: Document) -> str:
    listed = reverse("admin:documents_chunk_changelist")
    return f"{listed}?document__id__exact={document.pk}"


def tags(document: Document) -> SafeString:
    listed = reverse("admin:documents_document_changelist")
    """Link each tag to the documents that have it."""
    shown = format_html_join(
        " ",
        '<a class="tag" href="{}?{}">{}</a>',
        ((listed, urlencode({"tag": tag}), tag[:40]) for tag in document.tags[:TAGS_SHOWN]),
    )
    more = len(document.tags) - TAGS_SHOWN
    if more > 0:
        shown = format_html("{} <small>+{}</small>", shown, more)
    return format_html('<span class="doc-tags">{}</span>', shown) if shown else shown
