"""A namespace with one of everything, in which all is well."""

from collections.abc import Callable

import pytest

from documents.models import Document, Namespace
from documents.verification import auditing
from ragsite.database.tenancy import operator
from tests.client import Api
from tests.documents.test_pdf_extractor import make_pdf, page

NOTES = "# Harbour\n\n" + "\n\n".join(
    f"## Pier {number}\n\nThe harbour master of pier {number} keeps the log, in ink — and lit."
    for number in range(12)
)


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditing, "PAUSE_SECONDS", 0)


@pytest.fixture
def healthy(tenant: Namespace, api: Api, work: Callable[[], int]) -> Namespace:
    """A PDF, a Markdown file in two versions, a table, a failed file, a conversation and facts."""
    pdf = make_pdf([page("The kiln reaches 1200 degrees."), page("It cools for two days.")])
    api.upload(("kiln.pdf", pdf))
    api.upload(("notes.md", "# Harbour\n\nAn older text."))
    api.upload(("boats.csv", "name,length\nAda,12\nGrace,14\n"), rows_as_facts="true")
    api.upload(("broken.pdf", b"%PDF-1.7\nnothing that could be read"))
    work()
    api.upload(("notes.md", NOTES))
    turns = [
        {"role": "user", "content": "Where is the log kept?", "at": "2026-03-01T10:00:00Z"},
        {"role": "assistant", "content": "On pier 3.", "at": "2026-03-01T10:01:00Z"},
    ]
    api.post("memories", {"session": "s1", "turns": turns})
    for value in ("Oslo", "Bergen", "Bergen"):
        api.post("facts", {"subject": "Ada", "predicate": "lives in", "object": value})
    api.post("facts", {"subject": "Ada", "predicate": "likes", "object": "boats"})
    work()
    with operator():
        statuses = sorted(Document.objects.values_list("status", flat=True))
    assert statuses == ["failed", "ready", "ready", "ready", "ready"]
    return tenant
