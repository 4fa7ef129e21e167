"""POST /ingest: files and texts, each taken or refused on its own, and what goes into storage."""

import errno
import gc
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.files.uploadhandler import TemporaryFileUploadHandler

from documents.models import Document, DocumentVersion, IngestJob, Namespace
from ragsite.database.tenancy import operator

from ..client import Answer, Api

HARBOUR = "# Harbour\n\nThe harbour has twelve lights.\n"
GIF = b"GIF89a\x01\x00\x01\x00"


def stored() -> list[Path]:
    folder = Path(django_settings.HOME) / "storage"
    return sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())


def nothing_is_left() -> bool:
    with operator():
        rows = [m.objects.count() for m in (Document, DocumentVersion, IngestJob)]
    return not any(rows) and not stored()


def send(api: Api, data: bytes, content_type: str) -> Answer:
    """A body as it is, however broken."""
    response = api.client.generic(
        "POST",
        "/api/v1/ingest",
        data,
        content_type=content_type,
        headers={"Authorization": f"Bearer {api.key}"},
    )
    return Answer(response.status_code, response.json(), response.headers)


def send_file(api: Api, name: str, data: bytes, media_type: str = "text/markdown") -> Answer:
    head = f'--b\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
    body = f"{head}Content-Type: {media_type}\r\n\r\n".encode() + data + b"\r\n--b--\r\n"
    return send(api, body, "multipart/form-data; boundary=b")


def send_texts(api: Api, *documents: Any, **options: Any) -> Answer:
    return api.post("ingest", {"documents": list(documents), **options})


# -- files -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "data", "media_type", "code", "status"),
    [
        ("empty.md", b"", "text/markdown", "empty_file", 422),
        ("picture.gif", GIF, "image/gif", "unsupported_type", 415),
        ("archive.zip", b"PK\x03\x04", "application/octet-stream", "parse_error", 422),
        ("archive.7z", b"7z\xbc\xaf", "application/octet-stream", "unsupported_type", 415),
        ("no-suffix", b"text", "application/x-unheard-of", "unsupported_type", 415),
        ("picture.md", GIF, "text/markdown", "type_mismatch", 415),
        ("paper.txt", b"%PDF-1.7\nstream", "text/plain", "type_mismatch", 415),
        ("large.md", b"x" * 101, "text/markdown", "too_large", 413),
    ],
)
def test_a_file_we_cannot_take_leaves_nothing_behind(
    name: str, data: bytes, media_type: str, code: str, status: int, api: Api, settings: Any
):
    settings.INGEST_MAX_BYTES = 100
    answer = send_file(api, name, data, media_type)
    assert (answer.status, answer.code) == (status, code)
    (result,) = answer.body["error"]["details"]["results"]
    assert (result["status"], result["error"]["code"], result["index"]) == ("rejected", code, 0)
    assert nothing_is_left()


def test_a_file_of_exactly_the_largest_size_is_taken(api: Api, settings: Any):
    settings.INGEST_MAX_BYTES = 100
    assert api.upload(("large.md", "x" * 100)).status == 202


def test_of_many_files_the_good_are_taken_and_the_bad_are_named(api: Api, work: Callable[[], int]):
    answer = api.upload(("a.md", "# A\n\nA."), ("b.md", b""), ("c.txt", "C."), tags="x,y", wait=0)
    assert answer.status == 200
    assert answer.body["failed"] == 1
    statuses = [(r["index"], r["status"]) for r in answer.body["results"]]
    assert statuses == [(0, "queued"), (1, "rejected"), (2, "queued")]
    assert work() == 2
    documents = api.get("documents?tag=x").body["results"]
    assert {d["source_type"] for d in documents} == {"md", "txt"}


def test_what_belongs_to_one_file_is_refused_for_two(api: Api):
    for field in ({"title": "T"}, {"source_uri": "https://example.com/x"}):
        answer = api.upload(("a.md", "A"), ("b.md", "B"), **field)
        assert (answer.status, answer.code) == (422, "invalid_request")
        assert answer.body["error"]["details"]["fields"][0]["field"] == next(iter(field))
    assert nothing_is_left()


def test_more_files_than_a_batch_may_have_are_refused(api: Api):
    limit = django_settings.INGEST_MAX_BATCH
    answer = api.upload(*((f"{n}.md", f"Text {n}") for n in range(limit + 1)))
    assert 400 <= answer.status < 500
    assert nothing_is_left()


BAD_FIELDS = [
    ("metadata", "not json"),
    ("metadata", "[1]"),
    ("metadata", '{"a": NaN}'),
    ("metadata", '{"a": "\\u0000"}'),
    ("metadata", '{"a":' * 100_000),
    ("wait", "-1"),
    ("wait", "soon"),
    ("on_duplicate", "perhaps"),
    ("tagz", "misspelt"),
    ("title", "nul\x00"),
    ("source_uri", "x" * 2049),
    ("tags", ",".join(f"t{n}" for n in range(101))),
    ("tags", "x" * 201),
]


def test_a_form_with_a_bad_field_is_refused_with_the_fields_name(api: Api):
    taken = []
    for name, value in BAD_FIELDS:
        answer = api.upload(("a.md", HARBOUR), **{name: value})
        fields = answer.body["error"]["details"].get("fields", [{"field": ""}])
        refused = answer.status == 422 and fields[0]["field"].startswith(name)
        taken += [] if refused else [(name, value[:40], answer.status)]
    assert not taken
    assert nothing_is_left()


# -- texts ------------------------------------------------------------------------------


def test_texts_are_taken_with_all_that_is_said_of_them(api: Api, work: Callable[[], int]):
    answer = send_texts(
        api,
        {
            "content": HARBOUR,
            "title": "The port",
            "source_uri": "https://example.com/port",
            "tags": ["sea", "port"],
            "metadata": {"pages": 3, "deep": {"a": [1, None, True]}},
        },
        {"content": "plain words", "media_type": "text/plain", "tags": " sea , land ,,sea"},
        tags=["all"],
    )
    assert answer.status == 202
    assert work() == 2
    port, plain = (
        api.get(f"documents/{result['document_id']}").body for result in answer.body["results"]
    )
    assert (port["title"], port["source_uri"]) == ("The port", "https://example.com/port")
    assert port["tags"] == ["all", "sea", "port"]
    assert port["metadata"] == {"pages": 3, "deep": {"a": [1, None, True]}}
    assert plain["tags"] == ["all", "sea", "land"]
    assert (plain["source_type"], plain["media_type"]) == ("txt", "text/plain")
    assert plain["source_uri"].startswith("text:")


BAD_ITEMS: list[tuple[Any, str]] = [
    ({"content": ""}, "empty_file"),
    ({"content": 5}, "invalid_request"),
    ({"content": None}, "invalid_request"),
    ({"title": "no content"}, "invalid_request"),
    ({"content": "x", "colour": "red"}, "invalid_request"),
    ({"content": "x", "media_type": "image/gif"}, "unsupported_type"),
    ({"content": "%PDF-1.7"}, "type_mismatch"),
    ({"content": "x" * 1001}, "too_large"),
    ({"content": "x", "tags": ["ok", {"not": "text"}]}, "invalid_request"),
    ({"content": "x", "tags": ["ok", "x" * 201]}, "invalid_request"),
    ({"content": "x", "tags": {"a": 1}}, "invalid_request"),
    ({"content": "x", "tags": ["nul\x00"]}, "invalid_request"),
    ({"content": "x", "metadata": {"nul": "\x00"}}, "invalid_request"),
    ({"content": "x", "metadata": {"\ud800": 1}}, "invalid_request"),
    ({"content": "x", "metadata": {"lone": ["\udfff"]}}, "invalid_request"),
    ({"content": "x", "metadata": {"long": "x" * 70_000}}, "invalid_request"),
    ({"content": "x", "metadata": "{"}, "invalid_request"),
    ({"content": "x", "title": "\ud800"}, "invalid_request"),
    ({"content": "x", "source_uri": "a\x00b"}, "invalid_request"),
    ("just a string", "invalid_request"),
    (None, "invalid_request"),
    ([], "invalid_request"),
]


def test_a_bad_text_is_refused_by_its_place_and_its_neighbours_are_taken(api: Api, settings: Any):
    settings.INGEST_MAX_BYTES = 1000
    wrong = []
    for n, (item, code) in enumerate(BAD_ITEMS):
        answer = send_texts(api, {"content": f"{n} before"}, item, {"content": f"{n} after"})
        rejected = {"status": "rejected", "index": 1, "document_id": None, "job_id": None}
        outcomes = [(r["status"], (r["error"] or {}).get("code")) for r in _results(answer)]
        if outcomes != [("queued", None), ("rejected", code), ("queued", None)]:
            wrong.append((str(item)[:60], answer.status, outcomes))
        else:
            assert rejected.items() <= answer.body["results"][1].items()
    assert not wrong


def test_a_bad_text_alone_is_an_error(api: Api, settings: Any):
    settings.INGEST_MAX_BYTES = 1000
    statuses = {"too_large": 413, "unsupported_type": 415, "type_mismatch": 415}
    wrong = []
    for item, code in BAD_ITEMS:
        answer = send_texts(api, item)
        if (answer.status, answer.code) != (statuses.get(code, 422), code):
            wrong.append((str(item)[:60], answer.status, answer.code))
    assert not wrong
    assert nothing_is_left()


def _results(answer: Answer) -> list[dict[str, Any]]:
    return answer.body.get("results", [])


def test_the_same_text_twice_in_a_batch_is_one_document(api: Api, work: Callable[[], int]):
    first, second = send_texts(api, {"content": "same"}, {"content": "same"}).body["results"]
    assert (first["duplicate"], second["duplicate"]) == (False, True)
    assert first["document_id"] == second["document_id"]
    assert work() == 1


def test_when_all_are_refused_for_several_reasons_nothing_was_taken(api: Api):
    answer = send_texts(api, {"content": ""}, {"content": "x", "media_type": "image/gif"})
    assert (answer.status, answer.code) == (422, "nothing_taken")
    codes = [r["error"]["code"] for r in answer.body["error"]["details"]["results"]]
    assert codes == ["empty_file", "unsupported_type"]
    assert nothing_is_left()


def test_a_batch_has_a_limit(api: Api, settings: Any):
    settings.INGEST_MAX_BATCH = 3
    texts = [{"content": f"Text {n}"} for n in range(4)]
    answer = send_texts(api, *texts)
    assert (answer.status, answer.code) == (422, "invalid_request")
    assert "3" in answer.body["error"]["message"]
    assert nothing_is_left()
    assert send_texts(api, *texts[:3]).status == 202
    assert send_texts(api).status == 422  # and none at all is no batch


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        ("nul\x00in the middle", "nulin the middle"),
        ("lone \ud83d surrogate", "lone \ufffd surrogate"),
        ("a pair \ud83d\udea2 in two halves", "a pair 🚢 in two halves"),
    ],
)
def test_a_text_that_cannot_be_stored_is_cleaned(
    content: str, kept: str, api: Api, work: Callable[[], int]
):
    (result,) = send_texts(api, {"content": content}).body["results"]
    work()
    assert api.get(f"documents/{result['document_id']}/text").body["text"] == kept


NASTY = [
    "'; DROP TABLE documents_document; --",
    "<script>alert(1)</script>",
    "${jndi:ldap://x/a}",
    "%s%s%n{0}{}",
    "../../../etc/passwd",
    "http://[::1",
    "http://[not-an-address]/a.md",
    "\u202e\u2066evil\u2069",
    "Z̮̞̠͙͔ͅḀ̗̞͈̻̗Ḷ͙͎̯̹̞͓G̻O̭̗̮",
    "\ufeff\u200b\u00ad\u2028\u2029",
    "田中さん — ﷽ — 👩‍👩‍👧‍👦🇩🇪",
    "\x01\x02\x1b[31m\x7f\x85",
    "1e999",
    "\\u0000\\ud800",
    "true",
    "a" * 2000,
]


def test_nasty_strings_never_break_anything_wherever_they_stand(api: Api, work: Callable[[], int]):
    broken = []
    for nasty in NASTY:
        item = {
            "content": f"# {nasty}\n\n{nasty}",
            "title": nasty[:1000],
            "source_uri": nasty,
            "tags": [nasty[:200]],
            "metadata": {nasty: nasty, "date": nasty},
        }
        nameless = {**item, "source_uri": f"u:{nasty}"[:2048], "content": nasty}
        answers = [send_texts(api, item), send_texts(api, nameless), api.query(nasty)]
        broken += [(nasty[:40], a.status) for a in answers if a.status not in (200, 202, 415, 422)]
    assert not broken
    assert work() > len(NASTY)
    rows = api.get("documents?limit=200").body["results"]
    assert {row["status"] for row in rows} <= {"ready", "failed"}
    assert not [row for row in rows if (row["error"] or {}).get("code") == "internal_error"]


def test_nesting_however_deep_is_the_callers_mistake(api: Api):
    def status(depth: int) -> int:
        deep = '{"a":' * depth + "1" + "}" * depth
        body = f'{{"documents": [{{"content": "x", "metadata": {deep}}}]}}'
        return send(api, body.encode(), "application/json").status

    assert status(15) == 202
    depths = (30, 300, *range(700, 1000, 10), 2000, 100_000)
    assert not [(depth, found) for depth in depths if (found := status(depth)) not in (400, 422)]


JSON, FORM = "application/json", "multipart/form-data"


def test_a_body_that_cannot_be_read_is_the_callers_mistake(api: Api):
    bodies = [
        (b"{", JSON, 400, "malformed_request"),
        (b'{"documents": [NaN]}', JSON, 400, "malformed_request"),
        (b"\xff\xfe", JSON, 400, "malformed_request"),
        (b"[]", JSON, 422, "invalid_request"),
        (b"{}", JSON, 422, "invalid_request"),
        (b"", JSON, 422, "invalid_request"),
        (b'{"documents": {"content": "x"}}', JSON, 422, "invalid_request"),
        (b"no boundary", FORM, 400, "malformed_request"),
        (b"--b--\r\n", f"{FORM}; boundary=b", 422, "invalid_request"),
        (b"text", "text/plain", 415, "unsupported_media_type"),
        (b"<a/>", "application/xml", 415, "unsupported_media_type"),
    ]
    for body, content_type, status, code in bodies:
        answer = send(api, body, content_type)
        assert (answer.status, answer.code) == (status, code), body
    assert nothing_is_left()


# -- the stored original ------------------------------------------------------------------

KEY = re.compile(r"uploads/([0-9a-f-]{36})/\d{4}-\d\d-\d\d/[0-9a-f-]{36}")


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("../../etc/passwd.md", "passwd.md"),
        ("..\\..\\windows\\system.md", "system.md"),
        ("/etc/cron.d/job.md", "job.md"),
        ("nul\x00byte.md", "nulbyte.md"),
        ("x" * 600 + ".md", "x" * 252 + ".md"),
        ("🚢 ship — ñandú.md", "🚢 ship — ñandú.md"),
        ("‮dm.exe.md", "dm.exe.md"),
        ("$(touch x);`id`|&.md", "$(touch x);`id`|&.md"),
        ("new\r\nline.md", '"new'),
    ],
    ids=lambda name: ascii(name)[:30],
)
def test_a_file_name_never_gets_into_the_storage_path(
    name: str, kept: str, tenant: Namespace, api: Api
):
    answer = send_file(api, name, HARBOUR.encode())
    assert answer.status == 202
    (path,) = stored()
    match = KEY.fullmatch(str(path))
    assert match
    assert match[1] == str(tenant.pk)
    with operator():
        version = DocumentVersion.objects.get()
    assert (version.storage_key, version.file_name) == (str(path), kept)
    original = api.get(f"documents/{version.document_id}/original")
    assert original.body == HARBOUR.encode()
    assert original.headers["Content-Disposition"].startswith("attachment; filename")


def test_an_upload_that_finds_no_room_on_its_way_leaves_nothing_behind(
    api: Api, settings: Any, monkeypatch: pytest.MonkeyPatch
):
    def full(handler: Any, data: bytes, start: int) -> None:
        handler.file.write(data)
        raise OSError(errno.ENOSPC, "No space left on device")

    settings.FILE_UPLOAD_MAX_MEMORY_SIZE = 10
    monkeypatch.setattr(TemporaryFileUploadHandler, "receive_data_chunk", full)
    gc.disable()  # what a cycle of garbage holds would be closed by chance
    try:
        answer = api.upload(("large.md", "x" * 100))
        assert (answer.status, answer.code) == (507, "storage_full")
        assert nothing_is_left()
        assert list(Path(settings.FILE_UPLOAD_TEMP_DIR).iterdir()) == []
    finally:
        gc.enable()
