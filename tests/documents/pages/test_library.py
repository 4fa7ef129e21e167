"""The library: what people see of a namespace's documents, and what they may do to them."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import AsyncClient, Client
from django.test.utils import CaptureQueriesContext

from documents.models import AuditEvent, Document, IngestJob, Namespace
from ragsite.database.tenancy import current_connection, namespace, operator

from ...client import Api

HOSTILE = "<img src=x onerror=alert(1)>.md"


def upload(client: Client, tenant: Namespace, *files: tuple[str, str], **fields: str) -> Any:
    sent = [SimpleUploadedFile(name, text.encode()) for name, text in files]
    return client.post("/library/upload", {"file": sent, "namespace": tenant.slug, **fields})


def post(client: Client, path: str, body: Any) -> Any:
    return client.post(path, json.dumps(body), content_type="application/json")


def documents_of(tenant: Namespace) -> list[Document]:
    with namespace(tenant.pk):
        return list(Document.objects.order_by("source_uri"))


def test_strangers_are_sent_to_sign_in_and_back(client: Client, tenant: Namespace):
    sent = client.get(f"/library?namespace={tenant.slug}")
    assert sent.status_code == 302
    assert sent.headers["Location"] == f"/sign-in?next=%2Flibrary%3Fnamespace%3D{tenant.slug}"
    assert upload(client, tenant, ("a.md", "# A")).status_code == 401
    assert post(client, "/library/url", {"url": "https://x.example"}).status_code == 401
    assert documents_of(tenant) == []


def test_uploaded_files_are_listed_with_status_tags_and_size(
    signed_in: Client, tenant: Namespace, work: Callable[[], int]
):
    answer = upload(
        signed_in, tenant, ("a.md", "# Apples\n\nRed."), ("b.md", "# Bees"), tags="fruit, 2026"
    )
    assert answer.status_code == 202
    results = answer.json()["results"]
    assert [each["status"] for each in results] == ["queued", "queued"]
    page = signed_in.get("/library").content.decode()
    assert page.count('class="status queued"') == 2
    assert f'data-job="{results[0]["job_id"]}"' in page
    work()
    page = signed_in.get("/library").content.decode()
    assert "Apples" in page
    assert "2 documents" in page
    assert page.count('class="status ready"') == 2
    assert "data-job" not in page
    assert f"?namespace={tenant.slug}&amp;tag=fruit" in page
    opened = page.partition('class="title" href="')[2].partition('"')[0]
    assert signed_in.get(opened).status_code == 200


def test_uploads_go_into_a_collection_and_keep_their_folder(signed_in: Client, tenant: Namespace):
    upload(
        signed_in,
        tenant,
        ("a.md", "# A"),
        collection="ports",
        source_uri="upload:harbour/a.md",
    )
    (document,) = documents_of(tenant)
    assert document.source_uri == "upload:harbour/a.md"
    shown = signed_in.get("/library?collection=ports").content.decode()
    assert str(document.pk) in shown


def test_a_session_alone_is_not_enough_to_upload(person: User, tenant: Namespace):
    client = Client(enforce_csrf_checks=True)
    with operator():
        client.force_login(person)
    assert upload(client, tenant, ("a.md", "# A")).status_code == 403
    assert documents_of(tenant) == []


def test_refused_files_say_why(signed_in: Client, tenant: Namespace):
    refused = upload(signed_in, tenant, ("a.exe", "MZ\0\1\0"))
    assert refused.status_code == 415
    assert refused.json()["error"]["message"]
    unknown = signed_in.post("/library/upload", {"namespace": "nope"})
    assert unknown.status_code == 404


def test_an_address_that_may_not_be_fetched_is_refused_with_a_sentence(
    signed_in: Client, tenant: Namespace
):
    body = {"url": "http://127.0.0.1/secret", "namespace": tenant.slug}
    refused = post(signed_in, "/library/url", body)
    assert refused.status_code == 422
    assert refused.json()["error"]["message"]


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("q=harbour", ["harbour.md"]),
        ("q=HARBOUR+lights", []),
        ("tag=sea", ["boats.md", "harbour.md"]),
        ("status=failed", ["empty.txt"]),
        ("type=md", ["boats.md", "harbour.md"]),
        ("collection=nope", []),
        ("cursor=nonsense", ["boats.md", "empty.txt", "harbour.md"]),
    ],
)
def test_search_and_filters(
    signed_in: Client, tenant: Namespace, work: Callable[[], int], query: str, shown: list[str]
):
    for name in ("harbour.md", "boats.md"):
        upload(signed_in, tenant, (name, f"# About {name}"), tags="sea")
    upload(signed_in, tenant, ("empty.txt", " \n"))
    work()
    page = signed_in.get(f"/library?namespace={tenant.slug}&{query}").content.decode()
    listed = [d.source_uri.removeprefix("upload:") for d in documents_of(tenant)]
    rows = page.partition("<tbody>")[2].partition("</tbody>")[0]
    assert [name for name in listed if f"upload:{name}" in rows] == shown
    if not shown:
        assert "No document matches" in page


def test_long_lists_come_in_pages_at_a_fixed_number_of_queries(
    signed_in: Client, tenant: Namespace
):
    def add(count: int, start: int) -> None:
        with namespace(tenant.pk):
            Document.objects.bulk_create(
                Document(
                    namespace=tenant,
                    source_type="md",
                    source_uri=f"upload:{number}.md",
                    title=f"Number {number}",
                    content_sha256=f"{number:064}",
                    media_type="text/markdown",
                    byte_size=1,
                    status="ready",
                    live_version=1,
                )
                for number in range(start, start + count)
            )

    def page(address: str) -> tuple[str, int]:
        with CaptureQueriesContext(current_connection()) as queries:
            html = signed_in.get(address).content.decode()
        return html, len(queries)

    add(3, 0)
    _, few = page("/library")
    add(117, 3)
    first, many = page("/library")
    assert many == few
    assert first.count("<tr data-document") == 50
    older = first.partition('rel="next" href="')[2].partition('"')[0].replace("&amp;", "&")
    second, _ = page(f"/library{older}")
    assert second.count("<tr data-document") == 50
    assert "Newest" in second
    third_link = second.partition('rel="next" href="')[2].partition('"')[0].replace("&amp;", "&")
    third, _ = page(f"/library{third_link}")
    assert third.count("<tr data-document") == 20
    assert 'rel="next"' not in third


def test_names_from_files_are_escaped(signed_in: Client, tenant: Namespace):
    upload(signed_in, tenant, (HOSTILE, "# <script>alert(2)</script>"), tags="<b>bold</b>")
    page = signed_in.get("/library?q=%3Cimg&tag=%3Cb%3E").content.decode()
    page += signed_in.get("/library").content.decode()
    assert page.count("<img") == 2  # the mark in the bar of both pages
    assert "<script>alert" not in page
    assert "<b>bold" not in page


def test_a_failed_document_shows_its_sentence_and_can_be_tried_again(
    signed_in: Client, tenant: Namespace, work: Callable[[], int]
):
    upload(signed_in, tenant, ("empty.txt", " \n"))
    work()
    (document,) = documents_of(tenant)
    page = signed_in.get("/library").content.decode()
    assert document.error_message in page
    assert 'data-do="retry"' in page
    again = post(signed_in, f"/library/documents/{document.pk}/retry", {"namespace": tenant.slug})
    assert again.status_code == 202
    with namespace(tenant.pk):
        assert IngestJob.objects.filter(pk=again.json()["job_id"], state="queued").exists()
        assert AuditEvent.objects.filter(action="document.reindex", actor="ann").exists()


def test_tags_are_changed_and_documents_deleted_with_a_record(
    signed_in: Client, tenant: Namespace, work: Callable[[], int]
):
    upload(signed_in, tenant, ("a.md", "# A\n\nText."))
    work()
    (document,) = documents_of(tenant)
    address = f"/library/documents/{document.pk}"
    changed = post(
        signed_in, f"{address}/change", {"tags": ["sea", "sea"], "namespace": tenant.slug}
    )
    assert changed.json()["tags"] == ["sea"]
    wrong = post(signed_in, f"{address}/change", {"tags": 3, "namespace": tenant.slug})
    assert wrong.status_code == 422
    removed = post(signed_in, f"{address}/delete", {"namespace": tenant.slug})
    assert removed.json()["chunks"] > 0
    assert documents_of(tenant) == []
    with namespace(tenant.pk):
        event = AuditEvent.objects.get(action="document.delete")
    assert (event.actor_kind, event.actor) == ("user", "ann")


@pytest.mark.parametrize("what", ["retry", "change", "delete"])
def test_a_document_of_another_namespace_is_not_there(
    signed_in: Client, api: Api, tenant: Namespace, other_tenant: Namespace, what: str
):
    api.upload(("a.md", "# A"))
    (document,) = documents_of(tenant)
    body = {"namespace": other_tenant.slug, "tags": ["x"]}
    assert post(signed_in, f"/library/documents/{document.pk}/{what}", body).status_code == 404
    assert len(documents_of(tenant)) == 1


async def _events(client: AsyncClient, body: Any) -> list[tuple[str, Any]]:
    response = await client.post(
        "/library/progress", json.dumps(body), content_type="application/json"
    )
    assert response.status_code == 200, response.content
    text = b"".join([part async for part in response.streaming_content]).decode()
    blocks = [block.split("\n") for block in text.strip().split("\n\n")]
    return [(b[0].removeprefix("event: "), json.loads(b[1].removeprefix("data: "))) for b in blocks]


def test_progress_ends_with_every_job_and_tells_nothing_of_others(
    person: User, api: Api, api_of: Any, tenant: Namespace, other_tenant: Namespace, work: Any
):
    mine = api.upload(("a.md", "# A\n\nText.")).body["results"][0]["job_id"]
    failed = api.upload(("b.txt", " \n")).body["results"][0]["job_id"]
    foreign = api_of(other_tenant).upload(("a.md", "# A\n\nText.")).body["results"][0]["job_id"]
    work()
    client = AsyncClient()
    with operator():
        client.force_login(person)
    body = {"namespace": tenant.slug, "jobs": [mine, failed, foreign]}
    events = asyncio.run(_events(client, body))
    ended = {data["id"]: data for name, data in events if name == "end"}
    assert ended[mine]["state"] == "succeeded"
    assert ended[failed]["error"]["message"]
    assert ended[foreign] == {"id": foreign, "state": "deleted"}
    assert events[-1] == ("done", {})


def test_people_sign_in_and_out_on_their_own_page(client: Client, person: User):
    with operator():
        person.set_password("correct horse")
        person.save()
    page = client.get("/sign-in?next=/library").content.decode()
    assert 'name="next" value="/library"' in page
    wrong = client.post("/sign-in", {"username": "ann", "password": "no", "next": "/library"})
    assert "is wrong" in wrong.content.decode()
    fields = {"username": "ann", "password": "correct horse", "next": "/library"}
    right = client.post("/sign-in", fields)
    assert (right.status_code, right.headers["Location"]) == (302, "/library")
    assert client.get("/library").status_code == 200
    away = client.post("/sign-in", {**fields, "next": "https://evil.example/"})
    assert away.headers["Location"] == "/"
    assert client.post("/sign-out").headers["Location"] == "/"
    assert client.get("/library").status_code == 302
    with operator():
        actions = set(AuditEvent.objects.values_list("action", flat=True))
    assert {"login", "login.fail", "logout"} <= actions


def test_users_without_access_cannot_sign_in_here(client: Client, db: Any):
    with operator():
        User.objects.create_user("bob", password="correct horse")
    answer = client.post("/sign-in", {"username": "bob", "password": "correct horse"})
    assert answer.status_code == 200
    assert "is wrong" in answer.content.decode()
