"""Errors outside of the views: HTML for people with the request's id, the envelope for programs."""

from typing import Any

import pytest
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.test import Client, RequestFactory

from ragsite.web import error_pages

HANDLERS = [
    (400, "Bad request", lambda r: error_pages.bad_request(r, SuspiciousOperation())),
    (403, "Not allowed", lambda r: error_pages.forbidden(r, PermissionDenied())),
    (403, "The form has expired", error_pages.csrf_failure),
    (404, "Page not found", lambda r: error_pages.not_found(r, Exception())),
    (500, "Something went wrong", error_pages.server_error),
]


@pytest.mark.parametrize("path", ["/nope", "/admin/nope/", "/d/nope/nope", "/ask/nope"])
def test_people_get_a_page_with_the_request_id(boss: Client, path: str):
    answer = boss.get(path, headers={"Accept": "text/html", "X-Request-ID": "abc-1"})
    assert (answer.status_code, answer["Content-Type"]) == (404, "text/html; charset=utf-8")
    assert "<h1>Page not found</h1>" in answer.text
    assert "<code>abc-1</code>" in answer.text
    nonce = answer["Content-Security-Policy"].partition("style-src 'self' 'nonce-")[2][:22]
    assert f'<style nonce="{nonce}">' in answer.text
    assert boss.get(path)["Content-Type"].startswith("text/html")


@pytest.mark.parametrize(("path", "shape"), [("/api/v1/nope", "code"), ("/v1/nope", "type")])
def test_programs_get_their_envelope(db: None, client: Client, path: str, shape: str):
    for accept in ("text/html", "*/*"):
        answer = client.get(path, headers={"Accept": accept})
        assert answer.status_code == 404
        assert shape in answer.json()["error"]


def test_who_accepts_json_and_no_html_is_a_program(db: None, client: Client):
    answer = client.get("/nope", headers={"Accept": "application/json"})
    assert answer.json()["error"]["code"] == "not_found"
    posted = client.post("/nope", "{}", content_type="application/json")
    assert posted.json()["error"]["code"] == "not_found"


@pytest.mark.parametrize(("status", "title", "handler"), HANDLERS)
def test_every_error_has_its_page(status: int, title: str, handler: Any):
    request = RequestFactory().get("/admin/x/")
    answer = handler(request)
    assert answer.status_code == status
    assert f"<h1>{title}</h1>" in answer.text
    assert 'href="/admin/"' in answer.text
    programs = handler(RequestFactory().get("/api/v1/x"))
    assert (programs.status_code, programs["Content-Type"]) == (status, "application/json")


def test_a_form_without_its_token_is_refused_with_a_page(boss: Client):
    client = Client(enforce_csrf_checks=True)
    answer = client.post("/admin/login/", {"username": "boss"})
    assert answer.status_code == 403
    assert "<h1>The form has expired</h1>" in answer.text
