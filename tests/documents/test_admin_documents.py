"""Operators and documents: the list, the page of one document, uploading, tagging, moving."""

import asyncio
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connections
from django.test import Client
from django.test.utils import CaptureQueriesContext

from documents.admin import paging
from documents.admin.documents.borders import pieces
from documents.collections import membership
from documents.collections.editing import named
from documents.models import AuditEvent, Chunk, Document, DocumentVersion, IngestJob, Namespace
from ragsite.database.tenancy import namespace, operator

from ..client import Api
from .test_admin import address, rows, run_action, run_confirmed

pytestmark = pytest.mark.usefixtures("db")

TEXT = (
    "# Lights\n\n" + "The harbour has twelve lights. " * 60 + "\n\n# Fees\n\nA night costs a crown."
)
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture
def filled(api: Api, work: Callable[[], int]) -> Api:
    api.upload(("harbour.md", TEXT), tags="coast,2026")
    api.upload(("blank.md", " \n "))
    assert work() == 2
    return api


def one(**wanted: Any) -> Document:
    (found,) = rows(Document, **wanted)
    return found


def listed(client: Client, query: str = "") -> Any:
    return client.get(f"{address(Document)}{query}")


def titles(client: Client, query: str) -> list[str]:
    return [str(document) for document in listed(client, query).context["cl"].result_list]


def synthetic(tenant: Namespace, count: int) -> None:
    """Rows without files."""
    with namespace(tenant.pk):
        documents = Document.objects.bulk_create(
            Document(
                namespace=tenant,
                source_type="md",
                source_uri=f"made:{number}",
                title=f"Made {number}",
                content_sha256=f"{number:064d}",
                media_type="text/markdown",
                byte_size=1000 + number,
                tags=["made"],
            )
            for number in range(count)
        )
        versions = DocumentVersion.objects.bulk_create(
            DocumentVersion(
                namespace=tenant,
                document=document,
                number=1,
                content_sha256=document.content_sha256,
                media_type="text/markdown",
                byte_size=1000,
                storage_key=f"none/{document.pk}",
            )
            for document in documents
        )
        IngestJob.objects.bulk_create(
            IngestJob(namespace=tenant, document=version.document, version=version)
            for version in versions
        )


# -- the list ------------------------------------------------------------------------------------


def test_the_list_shows_status_error_size_and_tags(filled: Api, boss: Client):
    page = listed(boss)
    assert titles(boss, "") == ["blank.md", "Lights"]  # newest first
    assert one(status="failed").error_message in page.text
    assert "badge-good" in page.text
    assert "Markdown<small>1.9 kB</small>" in page.text
    assert "coast" in page.text


def test_work_in_progress_is_shown_and_can_be_polled(api: Api, boss: Client, work: Any):
    api.upload(("later.md", TEXT))
    document = one()
    progress = address(Document, "progress", document.pk)
    assert f'data-live="{progress}"' in listed(boss).text
    waiting = boss.get(progress).json()
    assert (waiting["is_busy"], waiting["text"]) == (True, "waiting for a worker")
    set_job(document, stage="embed", passages_done=1, passages_total=3)
    assert boss.get(progress).json()["text"] == "embedding, 1 of 3 chunks"
    set_job(document, state="queued")
    work()
    ended = boss.get(progress).json()
    assert ended["is_busy"] is False
    assert "ready" in ended["badge"]
    assert ended["title"] == "Lights"
    assert address(Chunk) in ended["chunks"]


def set_job(document: Document, **fields: Any) -> None:
    with namespace(document.namespace_id):
        IngestJob.objects.filter(document=document).update(**{"state": "running", **fields})


def test_the_list_is_filtered_by_tag_error_status_type_date_and_collection(
    filled: Api, tenant: Namespace, boss: Client
):
    with namespace(tenant.pk):
        ports = named(tenant.pk, "Ports")
        membership.add(ports, {one(status="ready").pk: None})
    for query in (
        "?tag=coast",
        "?status__exact=ready",
        f"?collection={ports.pk}",
        "?tag=2026&type=md",
    ):
        assert titles(boss, query) == ["Lights"], query
    for query in ("?error=no_text", "?status__exact=failed"):
        assert titles(boss, query) == ["blank.md"], query
    for query in ("?tag=nobody", "?type=pdf", "?error=unreadable"):
        assert titles(boss, query) == [], query
    assert titles(boss, "?created_at__gte=2000-01-01T00:00:00Z") == ["blank.md", "Lights"]
    assert listed(boss, "?collection=nonsense").status_code == 302
    assert "No document matches" in listed(boss, "?tag=nobody").text
    offered = listed(boss).text
    assert "?tag=coast" in offered
    assert "?error=no_text" in offered
    assert "Ports (tenant)" in offered


def test_the_number_of_queries_does_not_depend_on_the_rows_and_nothing_is_counted_whole(
    tenant: Namespace, boss: Client
):
    def queries() -> list[str]:
        with CaptureQueriesContext(connections["operator"]) as captured:
            assert listed(boss).status_code == 200
        return [query["sql"] for query in captured]

    synthetic(tenant, 3)
    few = queries()
    synthetic_more(tenant)
    many = queries()
    assert len(many) == len(few) <= 14
    counts = [sql for sql in many if "COUNT(" in sql]
    assert counts
    assert all("LIMIT" in sql for sql in counts), counts
    assert not [sql for sql in many if "documentversion" in sql or "documents_chunk" in sql]


def synthetic_more(tenant: Namespace) -> None:
    with operator():
        Document.objects.all().delete()
    synthetic(tenant, 40)


def test_long_lists_have_pages_up_to_a_bound(
    tenant: Namespace, boss: Client, monkeypatch: pytest.MonkeyPatch
):
    synthetic(tenant, 30)
    monkeypatch.setattr(paging, "COUNTED", 20)
    page = listed(boss)
    assert page.context["cl"].result_count == 20
    assert "Only the first" in page.text
    monkeypatch.setattr(paging, "COUNTED", 30)
    assert "Only the first" not in listed(boss).text


def test_an_empty_list_says_what_to_do_next(tenant: Namespace, boss: Client, onlooker: Client):
    assert address_of_upload() in listed(boss).text
    assert "There are no documents yet" in listed(onlooker).text
    assert address_of_upload() not in listed(onlooker).text


# -- actions -------------------------------------------------------------------------------------


def test_tags_of_many_are_changed_after_a_look(filled: Api, boss: Client):
    documents = rows(Document)
    asked = run_action(boss, "retag", documents)
    assert "Change the tags of 2 documents" in asked.text
    fields = {
        "action": "retag",
        "_selected_action": [str(document.pk) for document in documents],
        "confirmed": asked.context["fingerprint"],
    }
    assert "at least one tag" in boss.post(address(Document), fields).text
    done = boss.post(
        address(Document), {**fields, "added": "port, new", "removed": "2026"}, follow=True
    )
    assert "2 documents changed" in done.text
    assert one(status="ready").tags == ["coast", "port", "new"]
    assert one(status="failed").tags == ["port", "new"]
    assert {event.actor for event in rows(AuditEvent, action="document.change")} == {"boss"}


def test_only_so_many_are_indexed_again_at_once(
    filled: Api, boss: Client, monkeypatch: pytest.MonkeyPatch
):
    from documents.admin.documents import actions

    monkeypatch.setattr(actions, "AT_ONCE", 1)
    assert "At most 1 documents" in run_confirmed(boss, "index_again", rows(Document)).text
    assert rows(Document, status="queued") == []


# -- one document --------------------------------------------------------------------------------


def test_the_page_shows_status_text_borders_versions_and_jobs(filled: Api, boss: Client):
    page = boss.get(address(Document, "change", one(status="ready").pk))
    assert "twelve lights" in page.text
    drawn = page.context["drawn"]
    assert (
        "".join(piece.text for piece in drawn.pieces) == rows(DocumentVersion, state="live")[0].text
    )
    chunks = rows(Chunk)
    assert len(chunks) > 2
    for chunk in chunks:
        assert address(Chunk, "change", chunk.pk) in page.text
    assert {"overlap", "even", "odd"} <= {piece.kind for piece in drawn.pieces}
    assert re.search(r'<rect class="stage-embed"', page.text)
    failed = boss.get(address(Document, "change", one(status="failed").pk))
    assert one(status="failed").error_message in failed.text
    assert "There is no text yet" in failed.text


def test_a_long_text_is_shown_in_windows_and_opens_at_a_chunk(
    api: Api, boss: Client, work: Callable[[], int]
):
    api.upload(("long.md", "\n\n".join(f"Paragraph {n}. " + "Word. " * 60 for n in range(200))))
    assert work() == 1
    here = address(Document, "change", one().pk)
    first = boss.get(here).context["drawn"]
    assert (first.earlier, first.later) == (None, 20_000)
    assert sum(len(piece.text) for piece in first.pieces) == 20_000
    later = boss.get(f"{here}?from=20000").context["drawn"]
    assert (later.first, later.earlier) == (20_000, 0)
    last = max(rows(Chunk), key=lambda chunk: chunk.ordinal)
    opened = boss.get(f"{here}?chunk={last.pk}")
    assert f'class="border-mark here" id="c{last.ordinal}"' in opened.text
    for nonsense in ("?from=-1", "?from=99999999999999", "?chunk=x", "?profile=x"):
        assert boss.get(f"{here}{nonsense}").status_code == 200


def test_hostile_content_is_text_on_every_page(api: Api, boss: Client, work: Callable[[], int]):
    api.upload((f"{HOSTILE}.md", f"# {HOSTILE}\n\n{HOSTILE} stands here."), tags=HOSTILE)
    work()
    document = one()
    for page in (listed(boss), boss.get(address(Document, "change", document.pk))):
        assert "onerror" in page.text
        assert "<img src=x" not in page.text
    text = boss.get(address(Document, "text", document.pk))
    assert text.headers["Content-Type"].startswith("text/plain")
    assert "sandbox" in text.headers["Content-Security-Policy"]


async def content_of(response: Any) -> bytes:
    return b"".join([block async for block in response.streaming_content])


def test_original_and_text_are_served_and_tags_replaced(filled: Api, boss: Client):
    document = one(status="ready")
    original = boss.get(address(Document, "original", document.pk))
    assert asyncio.run(content_of(original)) == TEXT.encode()
    assert "attachment" in original.headers["Content-Disposition"]
    assert "twelve lights" in boss.get(address(Document, "text", document.pk)).text
    tags = address(Document, "tags", document.pk)
    assert "Tags changed" in boss.post(tags, {"tags": "one, two, one"}, follow=True).text
    assert one(status="ready").tags == ["one", "two"]
    boss.post(tags, {"tags": ""})
    assert one(status="ready").tags == []
    assert "at most 200" in boss.post(tags, {"tags": "x" * 201}, follow=True).text


def test_a_document_is_indexed_again_from_its_page(filled: Api, boss: Client, work: Any):
    again = address(Document, "index_again", one(status="ready").pk)
    assert boss.get(again).status_code == 302  # nothing happens: back to the page
    assert "indexed again" in boss.post(again, follow=True).text
    assert work() == 1
    assert rows(AuditEvent, action="document.reindex")[0].actor == "boss"


def test_whoever_may_only_look_changes_nothing(filled: Api, onlooker: Client):
    document = one(status="ready")
    page = onlooker.get(address(Document, "change", document.pk))
    assert page.status_code == 200
    for name in ("index_again", "tags", "move", "remove"):
        there = address(Document, name, document.pk)
        assert there not in page.text
        assert onlooker.post(there, {"tags": "x"}).status_code == 403
    assert onlooker.get(address_of_upload()).status_code == 403
    assert onlooker.get(address(Document, "original", document.pk)).status_code == 200


def test_pieces_cut_at_every_border():
    def chunk(ordinal: int, start: int, end: int) -> Chunk:
        return Chunk(ordinal=ordinal, start=start, end=end)

    found = pieces("abcdefghij", first=100, chunks=[chunk(0, 90, 104), chunk(1, 102, 108)])
    assert [(piece.text, piece.kind) for piece in found] == [
        ("ab", "even"),
        ("cd", "overlap"),
        ("efgh", "odd"),
        ("ij", "outside"),
    ]
    assert [[c.ordinal for c in piece.beginning] for piece in found] == [[], [1], [], []]


# -- uploading -----------------------------------------------------------------------------------


def address_of_upload() -> str:
    return address(Document, "upload")


def uploaded(client: Client, tenant: Namespace, *files: tuple[str, str], **fields: str) -> Any:
    sent = [SimpleUploadedFile(name, text.encode()) for name, text in files]
    form = {"namespace": str(tenant.pk), "uploads": sent, **fields}
    return client.post(address_of_upload(), form, follow=True)


def test_files_are_uploaded_by_the_form(boss: Client, tenant: Namespace, work: Any):
    assert "Upload" in boss.get(address_of_upload()).text
    done = uploaded(
        boss, tenant, ("a.md", "# A\n\nOne."), ("b.pdf", "No PDF."), tags="x, y", collection="Inbox"
    )
    told = [str(message) for message in done.context["messages"]]
    assert "1 document queued for indexing." in told, told
    assert "b.pdf: " in done.text
    assert work() == 1
    assert one().tags == ["x", "y"]
    assert "1 document known already" in uploaded(boss, tenant, ("a.md", "# A\n\nOne.")).text
    assert "Choose at least one file" in uploaded(boss, tenant).text
    assert "200 characters" in uploaded(boss, tenant, ("c.md", "C."), tags="x" * 201).text
    assert len(rows(Document)) == 1


# -- moving --------------------------------------------------------------------------------------


def test_a_document_moves_to_another_namespace_after_a_question(
    filled: Api, boss: Client, other_tenant: Namespace, work: Any
):
    document = one(status="ready")
    there = address(Document, "move", document.pk)
    asked = boss.get(there)
    assert "Golden queries of this namespace lose" in asked.text
    unsure = boss.post(there, {"to": str(other_tenant.pk)})
    assert unsure.status_code == 200
    assert one(status="ready").namespace_id == document.namespace_id
    done = boss.post(there, {"to": str(other_tenant.pk), "is_sure": "on"}, follow=True)
    assert "Moved to other" in done.text
    assert work() == 1
    moved = one(status="ready")
    assert (moved.namespace_id, moved.tags) == (other_tenant.pk, ["coast", "2026"])
    assert moved.pk != document.pk
