"""Documents over HTTP: list, look into, retag, index again, delete; and how errors look."""

import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db import connections
from django.test import Client

from documents.models import Chunk, Document, EmbeddingCache, IngestJob, Namespace
from ragsite.database.tenancy import namespace, operator

from ..client import Answer, Api
from ..threads import at_once

HARBOUR = (
    "---\ntags: [sea]\nauthor: Ada\n---\n# Harbour\n\nTwelve lights.\n\n## Fees\n\nDue at night.\n"
)


def upload(api: Api, name: str = "harbour.md", text: str | bytes = HARBOUR, **said: Any) -> str:
    answer = api.upload((name, text), **said)
    assert answer.status == 202
    return answer.body["results"][0]["document_id"]


def stored() -> list[Path]:
    folder = Path(django_settings.HOME) / "storage"
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.fixture
def harbour(api: Api, work: Callable[[], int]) -> str:
    """The id of a document that is ready."""
    document_id = upload(api)
    assert work() == 1
    return document_id


# -- one document -----------------------------------------------------------------------


def test_a_document_shows_all_there_is_to_know_of_it(api: Api, harbour: str):
    answer = api.get(f"documents/{harbour}")
    assert answer.status == 200
    shown = {
        "id": harbour,
        "status": "ready",
        "error": None,
        "title": "Harbour",
        "source_uri": "upload:harbour.md",
        "source_type": "md",
        "media_type": "text/markdown",
        "byte_size": len(HARBOUR),
        "version": 1,
        "live_version": 1,
        "tags": ["sea"],
        "metadata": {"author": "Ada"},
        "chunks_count": 1,
        "embedding_dim": 256,
        "ingestion_version": 2,
    }
    assert shown.items() <= answer.body.items()
    assert "given" not in answer.body


def test_tags_are_replaced_metadata_merged_and_filters_see_it_at_once(api: Api, harbour: str):
    change = {"tags": ["port"], "metadata": {"floor": 2, "author": None}}
    answer = api.patch(f"documents/{harbour}", change)
    assert answer.status == 200
    assert (answer.body["tags"], answer.body["metadata"]) == (["port"], {"floor": 2})
    assert [d["id"] for d in api.get("documents?tag=port").body["results"]] == [harbour]
    assert api.get("documents?tag=sea").body["results"] == []
    assert api.query("lights", filters={"tags": ["port"]}).body["results"]
    assert api.query("lights", filters={"tags": ["sea"]}).body["results"] == []
    only_tags = api.patch(f"documents/{harbour}", {"tags": []}).body
    assert (only_tags["tags"], only_tags["metadata"]) == ([], {"floor": 2})


def test_a_change_raises_the_namespaces_revision(tenant: Namespace, api: Api, harbour: str):
    def revision() -> int:
        with operator():
            return Namespace.objects.get(pk=tenant.pk).revision

    before = revision()
    api.patch(f"documents/{harbour}", {"tags": ["port"]})
    assert revision() > before


BAD_CHANGES: list[Any] = [
    {"title": "x" * 1001},
    {"status": "not changeable"},
    {"source_uri": ""},
    {"dated_at": "yesterday"},
    {"tags": [{}]},
    {"tags": ["x" * 201]},
    {"tags": ["nul\x00"]},
    {"tags": [f"t{n}" for n in range(101)]},
    {"metadata": []},
    {"metadata": {"nul": "\x00"}},
    {"metadata": {"lone": "\ud800"}},
    {"metadata": {"\x00": 1}},
    {"metadata": {"long": "x" * 70_000}},
    [],
    "text",
]


def test_a_bad_change_is_refused_and_changes_nothing(api: Api, harbour: str):
    before = api.get(f"documents/{harbour}").body
    answers = [(change, api.patch(f"documents/{harbour}", change)) for change in BAD_CHANGES]
    wrong = [(str(change)[:40], a.status) for change, a in answers if a.status != 422]
    assert not wrong
    assert api.get(f"documents/{harbour}").body == before


def test_a_change_does_not_undo_one_that_was_made_meanwhile(
    tenant: Namespace, api: Api, harbour: str
):
    def retag() -> None:
        Api(Client(), api.key).patch(f"documents/{harbour}", {"tags": ["port"]})
        connections.close_all()

    with namespace(tenant.pk):
        document = Document.objects.select_for_update().get(pk=harbour)
        thread = threading.Thread(target=retag)
        thread.start()
        wait_for_a_blocked_query()
        document.metadata = document.given["metadata"] = {"floor": 2}
        document.save()
    thread.join()
    document = api.get(f"documents/{harbour}").body
    assert (document["tags"], document["metadata"]) == (["port"], {"floor": 2})


def wait_for_a_blocked_query() -> None:
    sql = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    for _ in range(200):
        with connections["owner"].cursor() as cursor:
            cursor.execute(sql)
            if cursor.fetchone()[0]:
                return
        time.sleep(0.02)
    raise AssertionError("nobody waits")


# -- deleting ----------------------------------------------------------------------------


def test_a_deleted_document_is_gone_from_everywhere_and_leaves_a_receipt(
    api: Api, work: Callable[[], int]
):
    document_id = upload(api)
    work()
    upload(api, text="# Harbour\n\nThirteen lights.\n")
    work()
    kept = upload(api, "other.md", "# Other\n\nThirteen ships.\n")
    work()
    answer = api.delete(f"documents/{document_id}")
    assert answer.status == 200
    assert answer.body == {
        "document_id": document_id,
        "source_uri": "upload:harbour.md",
        "versions": 2,
        "chunks": 1,
        "facts": 0,
        "jobs": 2,
        "files": 2,
        "files_left": [],
    }
    assert len(stored()) == 1
    with operator():
        for model in (Chunk, EmbeddingCache, IngestJob):
            owners = {str(id_) for id_ in model.objects.values_list("document_id", flat=True)}
            assert owners == {kept}, model
    assert [d["id"] for d in api.get("documents").body["results"]] == [kept]
    assert {hit["document_id"] for hit in api.query("thirteen").body["results"]} == {kept}
    for call in (api.get, api.delete):
        assert (call(f"documents/{document_id}").status) == 404


def test_a_document_deleted_by_many_at_once_is_deleted_once(api: Api, harbour: str):
    answers = at_once(6, lambda _: Api(Client(), api.key).delete(f"documents/{harbour}"))
    assert sorted(answer.status for answer in answers) == [200] + [404] * 5


def test_a_file_that_was_gone_already_does_not_stop_the_deletion(api: Api, harbour: str):
    stored()[0].unlink()
    assert api.delete(f"documents/{harbour}").status == 200


# -- what it holds ---------------------------------------------------------------------------


def test_the_original_comes_back_byte_for_byte_and_never_as_a_page(api: Api):
    data = b"# Mixed\r\n\r\n\xff\xfe latin \xe9 <script>alert(1)</script>\r\n" + b"x" * 200_000
    document_id = upload(api, 'a "quoted" ñ.md', data)
    answer = api.get(f"documents/{document_id}/original")
    only = api.get(f"documents/{document_id}/original", Accept="application/octet-stream")
    assert (only.status, only.body) == (200, answer.body)
    assert answer.status == 200
    assert answer.body == data
    assert answer.headers["Content-Length"] == str(len(data))
    assert answer.headers["Content-Disposition"].startswith("attachment; filename*=utf-8''a%20")
    assert answer.headers["Content-Security-Policy"] == "sandbox"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_an_original_that_was_lost_is_said_to_be_lost(api: Api, harbour: str):
    stored()[0].unlink()
    assert api.get(f"documents/{harbour}/original").code == "original_lost"


def test_older_versions_can_still_be_read(api: Api, harbour: str, work: Callable[[], int]):
    newer = "# Harbour\n\nThirteen lights.\n"
    upload(api, text=newer)
    waiting = api.get(f"documents/{harbour}/text?version=2")
    assert (waiting.status, waiting.code) == (409, "not_ready")
    assert "Twelve" in api.get(f"documents/{harbour}/text").body["text"]
    work()
    texts = [api.get(f"documents/{harbour}/text{v}").body for v in ("", "?version=1", "?version=2")]
    assert [text["version"] for text in texts] == [2, 1, 2]
    assert texts[0]["text"] == texts[2]["text"] == newer
    assert "Twelve" in texts[1]["text"]
    assert api.get(f"documents/{harbour}/original?version=1").body == HARBOUR.encode()
    versions = api.get(f"documents/{harbour}/versions").body["results"]
    assert [(v["number"], v["state"]) for v in versions] == [(2, "live"), (1, "superseded")]
    assert all(version["published_at"] for version in versions)


def test_the_text_tells_where_its_headings_lie(api: Api, harbour: str):
    body = api.get(f"documents/{harbour}/text").body
    headings = [(h["level"], h["title"]) for h in body["headings"]]
    assert headings == [(1, "Harbour"), (2, "Fees")]
    for heading in body["headings"]:
        assert heading["title"] in body["text"][heading["start"] : heading["end"]]


@pytest.mark.parametrize("part", ["text", "original"])
def test_a_version_that_is_not_there_or_no_number_is_refused(part: str, api: Api, harbour: str):
    statuses = {
        version: api.get(f"documents/{harbour}/{part}?version={version}").status
        for version in ("2", "0", "-1", "9" * 30, "one", "", "1.0", "%00")
    }
    assert statuses == {
        **dict.fromkeys(("2", "0", "-1", "9" * 30), 404),
        **dict.fromkeys(("one", "", "1.0", "%00"), 422),
    }


def test_chunks_come_in_their_order_page_by_page(api: Api, work: Callable[[], int]):
    text = "\n\n".join(f"# Part {n}\n\nWords." for n in range(7))
    document_id = upload(api, text=text)
    work()
    pages = list(follow(api, f"documents/{document_id}/chunks?limit=3"))
    assert [len(page) for page in pages] == [3, 3, 1]
    assert [chunk["ordinal"] for page in pages for chunk in page] == list(range(7))


def test_indexing_again_is_a_new_job_with_the_same_outcome(
    api: Api, harbour: str, work: Callable[[], int]
):
    before = api.get(f"documents/{harbour}/chunks").body["results"]
    answer = api.post(f"documents/{harbour}/reindex")
    assert (answer.status, answer.body["status"]) == (202, "queued")
    assert api.query("lights").body["results"]  # found all the while
    again = api.post(f"documents/{harbour}/reindex")
    assert again.body["job_id"] == answer.body["job_id"]
    assert work() == 1
    assert api.get(f"documents/{harbour}/chunks").body["results"] == before
    assert api.get(f"documents/{harbour}").body["status"] == "ready"


# -- lists ------------------------------------------------------------------------------------


def follow(api: Api, path: str, between: Callable[[], object] = lambda: None) -> Any:
    """Page by page, as long as there is a next."""
    while path:
        body = api.get(path).body
        yield body["results"]
        between()
        path = (body["next"] or "").partition("/api/v1/")[2]


def test_pages_miss_nothing_and_repeat_nothing_while_documents_come_in(api: Api):
    names = [f"{number}.md" for number in range(7)]
    for name in names:
        upload(api, name, f"# {name}\n\nText.")
    late = iter(range(100))

    def come_in() -> None:
        number = next(late)
        upload(api, f"late{number}.md", f"# Late {number}\n\nText.")

    pages = list(follow(api, "documents?limit=2", between=come_in))
    seen = [document["source_uri"] for page in pages for document in page]
    assert seen == [f"upload:{name}" for name in reversed(names)]


def test_filters_narrow_the_list(api: Api, work: Callable[[], int]):
    upload(api, "a.md", "# A\n\nA.", tags="x,y")
    upload(api, "b.txt", "B.", tags="y")
    work()
    upload(api, "c.md", " \n ", tags="z")

    def found(query: str) -> list[str]:
        return sorted(d["source_uri"][7:] for d in api.get(f"documents?{query}").body["results"])

    assert found("") == ["a.md", "b.txt", "c.md"]
    assert found("status=ready") == ["a.md", "b.txt"]
    assert found("tag=y") == ["a.md", "b.txt"]
    assert found("tag=y&source_type=txt") == ["b.txt"]
    assert found("source_uri=upload:c.md") == ["c.md"]
    assert found("tag=nobody%27s") == []


@pytest.mark.parametrize("path", ["documents", "jobs"])
def test_an_unknown_filter_is_refused_by_name(path: str, api: Api):
    answer = api.get(f"{path}?colour=red&limit=1")
    assert (answer.status, answer.code) == (422, "invalid_request")
    (field,) = answer.body["error"]["details"]["fields"]
    assert field["field"] == "colour"


def test_a_page_has_at_most_200_rows(api: Api):
    with operator():
        (owner,) = Namespace.objects.all()
        fields = {"namespace": owner, "source_type": "md", "byte_size": 1}
        Document.objects.bulk_create(Document(source_uri=str(n), **fields) for n in range(210))
    for query, rows in (("?limit=1000", 200), ("?limit=200", 200), ("?limit=7", 7), ("", 50)):
        assert len(api.get(f"documents{query}").body["results"]) == rows, query
    seen = [document["id"] for page in follow(api, "documents?limit=50") for document in page]
    assert len(seen) == len(set(seen)) == 210  # all of one moment, and still told apart


# -- errors -------------------------------------------------------------------------------------


def check_envelope(answer: Answer, status: int, code: str) -> dict[str, Any]:
    assert (answer.status, answer.code) == (status, code)
    error = answer.body["error"]
    assert set(answer.body) == {"error"}
    assert set(error) == {"code", "message", "details", "request_id"}
    assert error["message"]
    assert error["request_id"] == answer.headers["X-Request-ID"]
    return error


def test_every_error_comes_in_one_envelope(api: Api, harbour: str):
    check_envelope(api.get(f"documents/{uuid.uuid4()}"), 404, "not_found")
    check_envelope(api.get("documents/not-a-uuid"), 404, "not_found")
    check_envelope(api.get("nowhere"), 404, "not_found")
    check_envelope(api.call("PUT", f"documents/{harbour}", {}), 405, "method_not_allowed")
    check_envelope(api.call("DELETE", "ingest"), 405, "method_not_allowed")
    check_envelope(api.get("documents", Accept="text/html"), 406, "not_acceptable")
    error = check_envelope(api.patch(f"documents/{harbour}", {"tags": 5}), 422, "invalid_request")
    (field,) = error["details"]["fields"]
    assert field["field"] == "tags"
    assert set(field) == {"field", "code", "message"}
    assert field["message"] in error["message"]


def test_unknown_fields_called_code_and_message_are_named_like_any_other(api: Api, harbour: str):
    answer = api.patch(f"documents/{harbour}", {"code": 1, "message": 2})
    fields = answer.body["error"]["details"]["fields"]
    assert {field["field"] for field in fields} == {"code", "message"}
