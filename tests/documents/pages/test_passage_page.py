"""GET /d/{token}: a signed link opens one version of one document, at the cited passage."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from documents.models import Document, Namespace, NamespaceAccess
from documents.pages.links import InvalidLink, passage_url, read_token
from documents.pages.passage import SHOWN, window
from ragsite.database.tenancy import operator

from ...client import Api

TEXT = "# Harbour\n\n## Lights\n\nTwelve <b>lights</b> burn & shine.\n\n## Boats\n\nNo boats.\n"
QUOTE = "Twelve <b>lights</b> burn & shine."


@pytest.fixture
def document(api: Api, work: Callable[[], int]) -> Document:
    result = api.upload(("harbour.txt", TEXT)).body["results"][0]
    work()
    with operator():
        return Document.objects.get(pk=result["document_id"])


def link(document: Document, **changes: Any) -> str:
    start = TEXT.index(QUOTE)
    fields = {"start": start, "end": start + len(QUOTE), "version": 1, **changes}
    return passage_url(namespace_id=document.namespace_id, document_id=document.pk, **fields)


def test_the_page_marks_exactly_the_cited_passage_and_escapes_it(
    client: Client, document: Document
):
    page = client.get(link(document).partition("#")[0])
    assert page.status_code == 200
    html = page.content.decode()
    marked = html.partition('tabindex="-1">')[2].partition("</mark>")[0]
    assert marked == "Twelve &lt;b&gt;lights&lt;/b&gt; burn &amp; shine."
    assert "No boats." in html
    assert page.headers["Referrer-Policy"] == "no-referrer"
    assert page.headers["Cache-Control"] == "private, no-store"
    assert "noindex" in page.headers["X-Robots-Tag"]


def test_a_changed_link_opens_nothing(client: Client, document: Document):
    path = link(document).partition("?")[0]
    for wrong in (path[:-1], path + "x", "/d/nonsense", path.replace("~", "~x", 1)):
        assert client.get(wrong).status_code == 404
    token = path.removeprefix("/d/")
    other = str(uuid.uuid4().hex)
    with pytest.raises(InvalidLink):
        read_token(token.replace(document.pk.hex, other))


def test_a_link_of_one_namespace_does_not_open_anothers_document(
    client: Client, document: Document, other_tenant: Namespace
):
    crossed = passage_url(namespace_id=other_tenant.pk, document_id=document.pk, version=1)
    assert client.get(crossed).status_code == 404


def test_an_old_link_opens_only_for_people_who_see_its_namespace(
    client: Client, document: Document, other_tenant: Namespace, settings: Any
):
    settings.PASSAGE_LINK_DAYS = -1
    address = link(document).partition("#")[0]
    assert client.get(address).status_code == 410
    with operator():
        user = User.objects.create_user("op", password="x", is_staff=True)
        NamespaceAccess.objects.create(user=user, namespace=other_tenant)
        client.force_login(user)
    assert client.get(address).status_code == 410
    with operator():
        NamespaceAccess.objects.create(user=user, namespace_id=document.namespace_id)
    assert client.get(address).status_code == 200


def test_a_deleted_document_is_gone_from_its_link(client: Client, api: Api, document: Document):
    assert api.delete(f"documents/{document.pk}").status == 200
    assert client.get(link(document)).status_code == 404


def test_links_are_absolute_at_the_public_address(document: Document, settings: Any):
    assert link(document, base_url="http://here:1/").startswith("http://here:1/d/")
    settings.PUBLIC_URL = "https://ragsite.example.com"
    assert link(document, base_url="http://here:1").startswith("https://ragsite.example.com/d/")


def test_odd_parameters_still_show_the_document(client: Client, document: Document):
    path = link(document).partition("?")[0]
    for query in (
        "?start=x",
        "?start=-1&end=9",
        "?start=99999999999",
        "?from=9999999&start=3&end=1",
    ):
        assert client.get(path + query).status_code == 200


@pytest.mark.parametrize(
    ("length", "start", "end"), [(10, 2, 5), (90_000, 50_000, 50_100), (5, 9, 9)]
)
def test_a_window_holds_the_passage(length: int, start: int, end: int):
    seen = window(length, start=start, end=end)
    assert 0 <= seen.first <= seen.start <= seen.end <= seen.last <= length
    assert seen.last - seen.first <= SHOWN
    text = "".join(chr(97 + n % 26) for n in range(length))
    assert seen.cut(text[seen.first : seen.last])[1] == text[start:end]


def test_links_that_open_something_are_not_logged(
    client: Client, document: Document, caplog: pytest.LogCaptureFixture
):
    with caplog.at_level("INFO"):
        client.get(link(document).partition("#")[0])
    logged = [vars(record).get("path") for record in caplog.records]
    assert "/d/…" in logged
    assert not any("~" in str(path) for path in logged)
