"""How a document's fields are shown, in the list and on its page."""

from datetime import datetime
from typing import Any

from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.timesince import timesince

from documents.models import Document, IngestJob

TAGS_SHOWN = 4


def title(document: Document) -> SafeString:
    source = document.source_uri.removeprefix("upload:")
    if source == document.title:
        source = ""
    return format_html(
        '<span class="doc-title">{}</span><small class="doc-source">{}</small>',
        str(document)[:160],
        source[:160],
    )


def badge(state: str) -> SafeString:
    return format_html('<span class="badge badge-{}">{}</span>', state, state)


def status(document: Document) -> SafeString:
    """The status as a badge; below it progress while it is worked on, and the error's sentence."""
    jobs: list[IngestJob] = getattr(document, "open_jobs", [])
    if jobs:
        return live_status(document, jobs[0])
    sentence = document.error_message if document.error_code else ""
    return format_html('{}<span class="why">{}</span>', badge(document.status), sentence[:300])


def live_status(document: Document, job: IngestJob) -> SafeString:
    """A status that documents/progress.js keeps up to date."""
    return format_html(
        '<span class="live" data-live="{}">{}<span class="why">{}</span>'
        '<progress max="{}" value="{}"></progress></span>',
        reverse("admin:documents_document_progress", args=[document.pk]),
        badge(document.status),
        progress_text(job),
        job.passages_total or 1,
        job.passages_done,
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
        return "–"
    count = f"{document.chunks_count:,}"
    return format_html('<a href="{}">{}</a>', chunks_address(document), count)


def chunks_address(document: Document) -> str:
    listed = reverse("admin:documents_chunk_changelist")
    return f"{listed}?document__id__exact={document.pk}"


def tags(document: Document) -> SafeString:
    listed = reverse("admin:documents_document_changelist")
    shown = format_html_join(
        " ",
        '<a class="tag" href="{}?{}">{}</a>',
        ((listed, _query(tag=tag), tag[:40]) for tag in document.tags[:TAGS_SHOWN]),
    )
    more = len(document.tags) - TAGS_SHOWN
    return format_html("{} +{}", shown, more) if more > 0 else shown


def moment(at: datetime | None) -> SafeString | str:
    if at is None:
        return "–"
    return format_html(
        '<time datetime="{}" title="{}">{} ago</time>',
        at.isoformat(),
        f"{at:%Y-%m-%d %H:%M:%S %Z}",
        timesince(at, depth=1),
    )


def size(count: int) -> str:
    return str(filesizeformat(count)).replace("\xa0", " ")


def lines(sentences: Any) -> SafeString:
    return format_html_join(mark_safe("<br>"), "{}", ((sentence,) for sentence in sentences))


def _query(**values: str) -> str:
    from urllib.parse import urlencode

    return urlencode(values)
