"""Idempotency-Key: the same request twice is done once, and gets one answer."""

import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connections
from django.test import Client

from documents import housekeeping
from documents.accounts import keys
from documents.ingestion import removal
from documents.intake import idempotency, intake
from documents.models import Document, IdempotentRequest, Namespace
from ragsite.database.tenancy import namespace, operator

from ..client import Answer, Api
from ..threads import at_once

pytestmark = pytest.mark.usefixtures("db")

TEXT = {"documents": [{"content": "The harbour has twelve lights."}]}


def send(api: Api, body: Any = TEXT, *, key: str = "k-1", path: str = "ingest") -> Answer:
    return api.call("POST", path, body, **{"Idempotency-Key": key})


def documents() -> int:
    with operator():
        return Document.objects.count()


def make_older(by: timedelta) -> None:
    with connections["owner"].cursor() as cursor:
        cursor.execute(
            "UPDATE documents_idempotentrequest SET created_at = created_at - %s, "
            "lease_until = lease_until - %s",
            [by, by],
        )


def test_the_same_request_again_gets_the_same_answer(api: Api, work: Callable[[], int]):
    first = send(api)
    assert first.status == 202
    assert "Idempotency-Replayed" not in first.headers
    work()
    again = send(api)
    assert (again.status, again.body) == (202, first.body)
    assert again.headers["Idempotency-Replayed"] == "true"
    assert documents() == 1


def test_another_body_is_refused(api: Api):
    send(api)
    for body in ({"documents": [{"content": "Other."}]}, {**TEXT, "wait": 1}):
        refused = send(api, body)
        assert (refused.status, refused.code) == (422, "idempotency_mismatch")
    assert documents() == 1


def test_the_same_files_again_are_the_same_request_whatever_the_boundary(client: Client, api: Api):
    def upload(boundary: str, content: str) -> Any:
        body = (
            f'--{boundary}\r\nContent-Disposition: form-data; name="file"; '
            f'filename="a.md"\r\nContent-Type: text/markdown\r\n\r\n{content}\r\n--{boundary}--\r\n'
        )
        return client.generic(
            "POST",
            "/api/v1/ingest",
            body.encode(),
            content_type=f"multipart/form-data; boundary={boundary}",
            headers={"Authorization": f"Bearer {api.key}", "Idempotency-Key": "files"},
        )

    first, again = upload("one", "# A"), upload("two", "# A")
    assert first.status_code == 202
    assert again.json() == first.json()
    assert again.headers["Idempotency-Replayed"] == "true"
    assert upload("one", "# B").json()["error"]["code"] == "idempotency_mismatch"
    assert documents() == 1


def test_keys_of_others_and_of_other_routes_are_other_keys(
    api: Api, api_of: Callable[..., Api], tenant: Namespace, other_tenant: Namespace
):
    first = send(api)
    for other in (api_of(other_tenant), api_of(tenant)):
        answer = send(other)
        assert "Idempotency-Replayed" not in answer.headers
        assert answer.status in (200, 202)
    assert first.body["results"][0]["duplicate"] is False
    turn = {"session": "s", "turns": [{"role": "user", "content": "Hello."}]}
    assert send(api, turn, path="memories").code == "idempotency_mismatch"
    assert send(api, turn, key="other", path="memories").status == 202


@pytest.mark.parametrize("key", ["", " ", "a b", "ä", "k" * 256, "a\x00"])
def test_a_key_that_is_none_is_refused(api: Api, key: str):
    refused = send(api, key=key)
    assert (refused.status, refused.code) == (400, "invalid_idempotency_key")
    assert documents() == 0


def test_an_error_leaves_nothing_so_it_can_be_sent_again(api: Api, monkeypatch: pytest.MonkeyPatch):
    accept = intake.accept

    def broken(*arguments: Any) -> Any:
        raise RuntimeError("lost")

    monkeypatch.setattr(intake, "accept", broken)
    api.client.raise_request_exception = False
    assert send(api).status == 500
    monkeypatch.setattr(intake, "accept", accept)
    assert send(api).status == 202
    assert send(api, {"documents": []}, key="empty").status == 422 or documents() == 1
    assert send(api, TEXT, key="empty").status in (200, 202)


def test_posted_at_once_it_is_done_once(
    api_of: Callable[..., Api], tenant: Namespace, monkeypatch: pytest.MonkeyPatch
):
    key = api_of(tenant).key
    accepted = []
    accept = intake.accept

    def counted(*arguments: Any) -> Any:
        accepted.append(1)
        return accept(*arguments)

    monkeypatch.setattr(intake, "accept", counted)
    answers = at_once(8, lambda _: send(Api(Client(), key)))
    assert accepted == [1]
    assert documents() == 1
    done = [answer for answer in answers if answer.status == 202]
    assert done
    assert all(answer.body == done[0].body for answer in done)
    for answer in answers:
        if answer.status != 202:
            assert (answer.status, answer.code) == (409, "idempotency_in_progress")
            assert answer.headers["Retry-After"] == "2"
    assert send(Api(Client(), key)).body == done[0].body


def test_a_request_that_died_is_taken_over_when_its_lease_has_run_out(api: Api, tenant: Namespace):
    prefix = api.key.split("_")[1]
    with operator():
        caller = keys.ApiKey.objects.get(prefix=prefix).pk
    asked = {"caller": caller, "key": "k", "fingerprint": "f" * 64}
    first = idempotency.begin(tenant.pk, **asked)
    with pytest.raises(idempotency.InProgress):
        idempotency.begin(tenant.pk, **asked)
    make_older(timedelta(seconds=django_settings.INGEST_MAX_WAIT) + timedelta(minutes=6))
    second = idempotency.begin(tenant.pk, **asked)
    assert isinstance(second, idempotency.RequestClaim)
    assert isinstance(first, idempotency.RequestClaim)
    idempotency.finish(first, status=200, body={"late": True})  # it has lost its lease
    idempotency.finish(second, status=200, body={"late": False})
    assert idempotency.begin(tenant.pk, **asked) == idempotency.EarlierAnswer(200, {"late": False})


def test_after_a_day_it_is_a_new_request(api: Api, tenant: Namespace):
    send(api)
    make_older(timedelta(hours=25))
    assert "Idempotency-Replayed" not in send(api, {"documents": [{"content": "Other."}]}).headers
    send(api, key="k-2")
    make_older(timedelta(hours=25))
    housekeeping.tidy()
    with operator():
        assert not IdempotentRequest.objects.exists()


def test_with_a_document_goes_the_answer_that_names_it(api: Api, tenant: Namespace):
    first = send(api).body["results"][0]["document_id"]
    second = send(api, {"documents": [{"content": "Other."}]}, key="k-2")
    send(api, {"documents": [{"content": "Third."}]}, key="k-3")
    assert api.delete(f"documents/{first}").status == 200
    removal.remove_many(tenant.pk, [uuid.UUID(second.body["results"][0]["document_id"])])
    with namespace(tenant.pk):
        assert [row.key for row in IdempotentRequest.objects.all()] == ["k-3"]


def test_the_other_routes_that_take_in_documents(api: Api, client: Client):
    body = {"documents": [{"id": "a", "content": "Twelve lights.", "metadata": {}}]}
    first = send(api, body, path="api/rag/index", key="rag")
    assert first.status == 200, first.body
    assert (
        send(api, body, path="api/rag/index", key="rag").headers["Idempotency-Replayed"] == "true"
    )
    refused = send(api, {"documents": [{"content": "x"}]}, path="api/rag/index", key="rag")
    assert (refused.status, refused.body["code"]) == (422, "idempotency_mismatch")


def test_files_over_the_openai_api(api: Api, client: Client):
    def upload(text: bytes) -> Any:
        return client.post(
            "/v1/files",
            {"file": SimpleUploadedFile("a.md", text), "purpose": "assistants"},
            headers={"Authorization": f"Bearer {api.key}", "Idempotency-Key": "retry-1"},
        )

    first = upload(b"# A")
    assert first.status_code == 200
    assert upload(b"# A").json() == first.json()
    assert upload(b"# B").json()["error"]["code"] == "idempotency_mismatch"
    assert (
        client.delete(
            f"/v1/files/{first.json()['id']}", headers={"Authorization": f"Bearer {api.key}"}
        ).status_code
        == 200
    )
    with operator():
        assert not IdempotentRequest.objects.exists()
