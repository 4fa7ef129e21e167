"""Two keys of two namespaces against every route there is."""

import re
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from django.conf import settings

from documents.models import Namespace

from ..client import Answer, Api

SCHEMA = yaml.safe_load((Path(settings.BASE_DIR) / "docs" / "openapi.yaml").read_text())
BODIES = {
    "/query": {"query": "harbour"},
    "/feedback": {"query": "harbour", "useful": True},
    "/documents/{id}": {"tags": ["x"]},
    "/golden-sets/{id}/queries": {"query": "lights?"},
    "/golden-queries/{id}": {"notes": "x"},
    "/golden-queries/{id}/judgements": {"source_uri": "upload:harbour.md"},
}

# Where a scope is not the usual one: read for GET, write for the rest.
SCOPES = {
    ("POST", "/query"): "read",
    ("POST", "/feedback"): "read",
    ("GET", "/feedback"): "write",
}


def routes() -> Iterator[tuple[str, str]]:
    for path, operations in SCHEMA["paths"].items():
        for method, operation in operations.items():
            if operation.get("security") == [{"operatorKey": []}]:
                continue  # of no namespace: tests/project/test_namespace_removal.py
            yield method.upper(), path.removeprefix("/api/v1")


WITH_ID = [(m, p) for m, p in routes() if "{" in p]


def test_the_schema_lists_routes_with_ids():
    assert len(WITH_ID) >= 10


def ids_of(api: Api, result: dict[str, str]) -> dict[str, str]:
    """By the first step of a route, the id of such a thing."""
    judged = {"query": "harbour", "judgements": [{"source_uri": "upload:harbour.md"}]}
    golden = api.post("golden-sets", {"name": "lights"}).body["id"]
    query = api.post(f"golden-sets/{golden}/queries", judged).body
    return {
        "documents": result["document_id"],
        "jobs": result["job_id"],
        "golden-sets": golden,
        "golden-queries": query["id"],
        "judgements": query["judgements"][0]["id"],
        "evaluations": api.post("evaluations", {"golden_set_id": golden}).body["id"],
    }


def shape(answer: Answer) -> tuple[int, str, str, list[str]]:
    error = answer.body["error"]
    return answer.status, error["code"], error["message"], sorted(answer.headers)


@pytest.mark.parametrize(("method", "path"), WITH_ID)
def test_another_tenants_id_answers_exactly_like_one_that_nobody_has(
    method: str,
    path: str,
    api: Api,
    api_of: Callable[..., Api],
    other_tenant: Namespace,
    work: Callable[[], int],
):
    result = api.upload(("harbour.md", "# Harbour\n\nTwelve lights.")).body["results"][0]
    work()
    real = ids_of(api, result)[path.split("/")[1]]
    stranger = api_of(other_tenant, ("read", "write", "admin"))

    def call(caller: Api, id_: str) -> Answer:
        filled = re.sub(r"\{\w+\}", id_, path)
        return caller.call(method, filled.lstrip("/"), BODIES.get(re.sub(r"\{\w+\}", "{id}", path)))

    foreign, random = call(stranger, real), call(stranger, str(uuid.uuid4()))
    assert foreign.status == 404
    assert shape(foreign) == shape(random)
    assert api.get(f"documents/{result['document_id']}").status == 200  # and nothing happened to it
    assert call(api, real).status != 404  # the owner gets through


@pytest.mark.parametrize(("method", "path"), list(routes()))
def test_every_route_wants_a_key_and_the_right_scope(
    method: str, path: str, api: Api, api_of: Callable[..., Api], tenant: Namespace
):
    filled = re.sub(r"\{\w+\}", str(uuid.uuid4()), path).lstrip("/")
    body = BODIES.get(re.sub(r"\{\w+\}", "{id}", path))
    nobody = Api(api.client)
    assert nobody.call(method, filled, body).status == 401
    assert nobody.call(method, filled, body).code == "not_authenticated"
    assert nobody.call(method, filled, body).headers["WWW-Authenticate"].startswith("Bearer")
    needed = SCOPES.get((method, path), "read" if method == "GET" else "write")
    wrong = api_of(tenant, ("write",) if needed == "read" else ("read",))
    refused = wrong.call(method, filled, body)
    assert (refused.status, refused.code) == (403, "insufficient_scope")


def test_lists_and_searches_hold_only_ones_own(
    api: Api, api_of: Callable[..., Api], other_tenant: Namespace, work: Callable[[], int]
):
    api.upload(("mine.md", "# Mine\n\nThe harbour has twelve lights."))
    theirs = api_of(other_tenant)
    theirs.upload(("theirs.md", "# Theirs\n\nThe harbour has twelve lights."))
    work()
    for mine, title in ((api, "Mine"), (theirs, "Theirs")):
        assert [d["title"] for d in mine.get("documents").body["results"]] == [title]
        assert len(mine.get("jobs").body["results"]) == 1
        for mode in ("hybrid", "semantic", "lexical"):
            hits = mine.query("harbour lights", mode=mode).body["results"]
            assert [hit["title"] for hit in hits] == [title]


def test_the_same_bytes_in_two_namespaces_are_two_documents_and_nobody_hears_of_the_other(
    api: Api, api_of: Callable[..., Api], other_tenant: Namespace
):
    text = "# Same\n\nThe very same bytes."
    first, second = api.upload(("a.md", text)), api_of(other_tenant).upload(("a.md", text))
    for answer in (first, second):
        assert answer.status == 202
        assert answer.body["results"][0]["duplicate"] is False
    ids = {answer.body["results"][0]["document_id"] for answer in (first, second)}
    assert len(ids) == 2
