"""Deleting documents: the confirmation, and the request to the workers."""

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from documents.models import Document
from ragsite.platform.wording import plural

from . import actions

QUESTION = "Delete {rows}?"
CONSEQUENCE = (
    "Their versions, chunks, facts, jobs and stored files are deleted with them. This cannot be "
    "undone. The workers do it in the background."
)


def request_removal(request: HttpRequest, documents: QuerySet[Document]) -> None:
    count = actions.request_removal(documents)
    done = 'Deleting {}. <a href="{}">Show progress.</a>'
    address = reverse("admin:documents_documentremoval_changelist")
    messages.success(request, format_html(done, plural(count, "document"), address))
