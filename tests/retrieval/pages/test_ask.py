"""The page that asks: for signed-in people only, with links that open what it cites."""

import asyncio
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import AsyncClient, Client

from documents.models import Namespace
from evaluation.models import Feedback
from ragsite.database.tenancy import operator

from ...client import Api

TEXT = "# Harbour\n\n## Lights\n\nThe harbour has twelve lights, and each is forty metres high.\n"
QUESTION = "How many lights does the harbour have?"


@pytest.fixture
def indexed(api: Api, work: Callable[[], int]) -> None:
    api.upload(("harbour.md", TEXT))
    work()


@pytest.fixture
def person(db: Any) -> User:
    with operator():
        return User.objects.create_superuser("ann", password="x")


@pytest.fixture
def signed_in(client: Client, person: User) -> Client:
    with operator():
        client.force_login(person)
    return client


def post(client: Client, path: str, body: Any) -> Any:
    return client.post(path, json.dumps(body), content_type="application/json")


def events_of(stream: bytes) -> list[tuple[str, Any]]:
    blocks = [block.split("\n") for block in stream.decode().strip().split("\n\n")]
    return [(b[0].removeprefix("event: "), json.loads(b[1].removeprefix("data: "))) for b in blocks]


def asked(person: User, body: Any) -> list[tuple[str, Any]]:
    client = AsyncClient()
    with operator():
        client.force_login(person)

    async def ask() -> bytes:
        response = await client.post(
            "/ask/answer", json.dumps(body), content_type="application/json"
        )
        assert response.status_code == 200
        return b"".join([part async for part in response.streaming_content])

    return events_of(asyncio.run(ask()))


def test_strangers_see_where_to_sign_in_and_nothing_else(client: Client, tenant: Namespace):
    page = client.get("/").content.decode()
    assert "/sign-in?next=/" in page
    assert tenant.slug not in page
    for path in ("/ask/answer", "/ask/feedback"):
        refused = post(client, path, {"query": "x", "namespace": tenant.slug})
        assert refused.status_code == 401
        assert refused.json()["error"]["code"] == "not_signed_in"


def test_users_who_are_not_staff_see_no_more_than_strangers(client: Client, db: Any):
    with operator():
        client.force_login(User.objects.create_user("bob", password="x"))
    assert "/sign-in?next=/" in client.get("/").content.decode()
    assert post(client, "/ask/answer", {"query": "x"}).status_code == 401


def test_signed_in_people_get_the_page_with_their_namespaces(
    signed_in: Client, tenant: Namespace, other_tenant: Namespace
):
    page = signed_in.get(f"/?namespace={other_tenant.slug}").content.decode()
    assert f'<option value="{tenant.slug}">' in page
    assert f'<option value="{other_tenant.slug}" selected>' in page


def test_the_namespace_that_was_chosen_last_is_asked_next_time(
    signed_in: Client, tenant: Namespace, other_tenant: Namespace
):
    last = max(tenant.slug, other_tenant.slug)
    signed_in.get(f"/library?namespace={last}")
    assert f'<option value="{last}" selected>' in signed_in.get("/").text
    signed_in.cookies["last_namespace"] = "<gone>"
    page = signed_in.get("/").text
    assert f'<option value="{min(tenant.slug, other_tenant.slug)}" selected>' in page
    assert "<gone>" not in page


def test_an_empty_namespace_says_how_to_begin(signed_in: Client, tenant: Namespace):
    page = signed_in.get("/").text
    assert "There are no documents in" in page
    assert f'href="/library?namespace={tenant.slug}#add"' in page


@pytest.mark.usefixtures("indexed")
def test_the_page_begins_with_what_there_is_to_ask(
    signed_in: Client, django_assert_max_num_queries: Any
):
    with django_assert_max_num_queries(12):
        page = signed_in.get("/").text
    assert "1 document to ask" in page
    found = re.search(r'<a href="(/d/[^"]+)"[^>]*><span[^>]*>Harbour</span>', page)
    assert found
    assert "twelve lights" in signed_in.get(found[1]).text


def test_a_session_alone_is_not_enough_to_post(person: User, tenant: Namespace):
    client = Client(enforce_csrf_checks=True)
    with operator():
        client.force_login(person)
    refused = post(client, "/ask/answer", {"query": "x", "namespace": tenant.slug})
    assert refused.status_code == 403


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"query": "x", "namespace": "nope"}, 404),
        ({"query": "x"}, 404),
        ({"query": ""}, 404),
        ([], 400),
    ],
)
def test_bad_requests_get_the_envelope(signed_in: Client, body: Any, status: int):
    refused = post(signed_in, "/ask/answer", body)
    assert refused.status_code == status
    assert refused.json()["error"]["request_id"]


def test_an_unknown_field_is_named(signed_in: Client, tenant: Namespace):
    refused = post(signed_in, "/ask/answer", {"query": "x", "namespace": tenant.slug, "no": 1})
    assert refused.status_code == 422
    assert "no" in refused.json()["error"]["message"]


@pytest.mark.usefixtures("indexed")
def test_the_answer_cites_passages_whose_links_open_them(
    client: Client, person: User, tenant: Namespace
):
    events = asked(person, {"query": QUESTION, "namespace": tenant.slug})
    assert events[0][0] == "sources"
    name, answer = events[-1]
    assert name == "answer"
    assert answer["is_answered"]
    citation = answer["citations"][0]
    address = citation["url"].removeprefix("http://testserver").partition("#")[0]
    page = client.get(address).content.decode()
    marked = page.partition('tabindex="-1">')[2].partition("</mark>")[0]
    assert marked == citation["cited_text"]
    assert all("/d/" in source["url"] for source in answer["sources"])


def test_thumbs_and_comments_are_kept_as_feedback(
    signed_in: Client, tenant: Namespace, api: Api, indexed: None
):
    query_id = api.query(QUESTION).body["query_id"]
    body = {"query_id": query_id, "useful": True, "namespace": tenant.slug, "comment": "Right."}
    assert post(signed_in, "/ask/feedback", body).status_code == 201
    with operator():
        kept = Feedback.objects.get()
    assert (kept.useful, kept.comment, kept.namespace_id) == (True, "Right.", tenant.pk)


def test_feedback_does_not_reach_another_namespaces_question(
    signed_in: Client, other_tenant: Namespace, api: Api, indexed: None
):
    query_id = api.query(QUESTION).body["query_id"]
    body = {"query_id": query_id, "useful": True, "namespace": other_tenant.slug}
    refused = post(signed_in, "/ask/feedback", body)
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "unknown_query")
    with operator():
        assert not Feedback.objects.exists()
