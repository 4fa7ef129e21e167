"""/v1/files without a socket: what is accepted, what is refused, and by which name."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from documents.models import AuditEvent, Document, Namespace
from ragsite.database.tenancy import namespace, operator

from ...client import Answer, Api, _answer

TEXT = b"# Harbour\n\nTwelve lights."


def send(api: Api, name: str = "harbour.md", data: bytes = TEXT, **fields: Any) -> Answer:
    form = {
        "file": SimpleUploadedFile(name, data, "application/octet-stream"),
        "purpose": "assistants",
        **fields,
    }
    form = {key: value for key, value in form.items() if value is not None}
    headers = {"Authorization": f"Bearer {api.key}"}
    return _answer(api.client.post("/v1/files", form, headers=headers))


def refused(answer: Answer, status: int, param: str) -> dict[str, Any]:
    error: dict[str, Any] = answer.body["error"]
    assert (answer.status, error["param"]) == (status, param), answer.body
    return error


def test_a_file_is_queued_and_then_indexed_under_its_own_name(api: Api, work: Callable[[], int]):
    made = send(api)
    assert made.status == 200
    assert made.body == {
        "id": made.body["id"],
        "object": "file",
        "bytes": len(TEXT),
        "created_at": made.body["created_at"],
        "expires_at": None,
        "filename": "harbour.md",
        "purpose": "assistants",
        "status": "uploaded",
        "status_details": None,
    }
    work()
    found = api.get(f"v1/files/{made.body['id']}").body
    assert found == {**made.body, "status": "processed"}
    assert api.get(f"v1/files/{made.body['id']}/content").body == TEXT
    assert api.query("twelve lights").body["results"]


def test_the_same_upload_again_is_the_same_file_and_anything_else_another(api: Api):
    first = send(api).body["id"]
    assert send(api).body["id"] == first
    others = [
        send(api, data=b"Other bytes.").body["id"],
        send(api, name="other.md").body["id"],
        send(api, purpose="user_data").body["id"],
    ]
    assert len({first, *others}) == 4
    assert len(api.get("v1/files").body["data"]) == 4


def test_a_file_that_cannot_be_read_says_why(api: Api, work: Callable[[], int]):
    made = send(api, "broken.pdf", b"%PDF-1.7 nothing of it")
    work()
    found = api.get(f"v1/files/{made.body['id']}").body
    assert found["status"] == "error"
    assert found["status_details"]


def test_documents_of_other_doors_are_files_too(api: Api):
    api.upload(("notes.md", TEXT))
    api.post("ingest", {"documents": [{"content": "Text.", "source_uri": "https://x.test/a/b"}]})
    listed = api.get("v1/files?order=asc").body["data"]
    assert [(f["filename"], f["purpose"]) for f in listed] == [
        ("notes.md", "user_data"),
        ("b", "user_data"),
    ]


def test_lists_are_paged_in_both_orders_and_filtered(api: Api):
    made = [send(api, f"{n}.md", purpose=p).body["id"] for n, p in enumerate(5 * ["assistants"])]
    data = send(api, purpose="user_data").body["id"]
    for order, expected in (("asc", [*made, data]), ("desc", [data, *reversed(made)])):
        seen: list[str] = []
        address, has_more = f"v1/files?limit=4&order={order}", True
        while has_more:
            page = api.get(address + (f"&after={seen[-1]}" if seen else "")).body
            ids = [file["id"] for file in page["data"]]
            assert (page["first_id"], page["last_id"]) == (ids[0], ids[-1])
            seen += ids
            has_more = page["has_more"]
        assert seen == expected
    only = api.get("v1/files?purpose=user_data").body["data"]
    assert [file["id"] for file in only] == [data]
    assert len(api.get("v1/files?purpose=assistants").body["data"]) == 5


def test_documents_of_the_same_moment_are_neither_skipped_nor_repeated(api: Api, tenant: Namespace):
    made = {send(api, f"{n}.md").body["id"] for n in range(5)}
    with namespace(tenant.pk):
        moment = Document.objects.order_by("created_at").values("created_at")[:1]
        Document.objects.update(created_at=moment)
    seen: list[str] = []
    for _ in range(5):
        after = f"&after={seen[-1]}" if seen else ""
        seen += [f["id"] for f in api.get(f"v1/files?limit=1{after}").body["data"]]
    assert set(seen) == made


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("limit=0", "limit"),
        ("limit=10001", "limit"),
        ("limit=x", "limit"),
        ("order=up", "order"),
        ("purpose=batch", "purpose"),
        ("limit=1&limit=2", "limit"),
    ],
)
def test_lists_refuse_by_name(api: Api, query: str, param: str):
    refused(api.get(f"v1/files?{query}"), 400, param)


def test_a_list_after_a_file_that_nobody_has_is_404(api: Api):
    refused(api.get(f"v1/files?after=file-{'0' * 32}"), 404, "after")


@pytest.mark.parametrize(
    ("fields", "param", "code"),
    [
        ({"purpose": "fine-tune"}, "purpose", "invalid_value"),
        ({"purpose": None}, "purpose", "invalid_value"),
        ({"file": None}, "file", "invalid_value"),
        ({"file": "text"}, "file", "invalid_value"),
        ({"expires_after[anchor]": "created_at"}, "expires_after", "unsupported_parameter"),
        ({"colour": "red"}, "colour", "unsupported_parameter"),
        ({"name": "a.exe"}, "file", "unsupported_type"),
        ({"name": "a.zip", "data": b"PK\x03\x04"}, "file", "unsupported_type"),
        ({"name": "a.pdf"}, "file", "type_mismatch"),
        ({"data": b""}, "file", "empty_file"),
    ],
)
def test_uploads_refuse_by_name(api: Api, fields: dict[str, Any], param: str, code: str):
    error = refused(send(api, **fields), 400, param)
    assert error["code"] == code
    assert api.get("v1/files").body["data"] == []


def test_a_file_that_is_too_large_is_413(api: Api, settings: Any):
    settings.INGEST_MAX_BYTES = 10
    assert refused(send(api), 413, "file")["code"] == "too_large"


def test_a_deleted_file_is_gone_and_the_audit_log_says_so(api: Api, tenant: Namespace):
    made = send(api).body["id"]
    gone = api.delete(f"v1/files/{made}")
    assert gone.body == {"id": made, "object": "file", "deleted": True}
    for again in (api.delete(f"v1/files/{made}"), api.get(f"v1/files/{made}/content")):
        refused(again, 404, "file_id")
    with operator():
        assert AuditEvent.objects.filter(action="document.delete", namespace=tenant).count() == 1


@pytest.mark.parametrize("file_id", ["x", "file-", "file-xyz", "0" * 32, f"vs_{'0' * 32}"])
def test_an_id_of_another_form_is_like_one_that_nobody_has(api: Api, file_id: str):
    refused(api.get(f"v1/files/{file_id}"), 404, "file_id")
