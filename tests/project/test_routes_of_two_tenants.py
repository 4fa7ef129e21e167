"""Every route there is × no key, bad keys, keys without the scope, and another tenant's."""

import re
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from documents.accounts import keys
from documents.api.namespaces import OperatorView
from documents.models import ApiKey, Namespace
from ragsite.database.tenancy import operator

from ..client import Answer, Api
from .routes import METHODS, described, layers, resolved
from .service import ROOT

BODIES = {
    "/query": {"query": "harbour"},
    "/answer": {"query": "harbour"},
    "/answer/prompt": {"query": "harbour"},
    "/feedback": {"query": "harbour", "useful": True},
    "/documents/{id}": {"tags": ["x"]},
    "/collections/{id}": {"description": "x"},
    "/collections/{id}/documents/{id}": {"attributes": {"year": 2026}},
    "/memories": {"session": "s", "turns": [{"role": "user", "content": "harbour"}]},
    "/memories/search": {"query": "harbour"},
    "/golden-sets/{id}/queries": {"query": "lights?"},
    "/golden-queries/{id}": {"notes": "x"},
    "/golden-queries/{id}/judgements": {"source_uri": "upload:harbour.md"},
    "/tools/{id}": {"arguments": {"query": "harbour"}},
    "/v1/vector_stores/{id}": {"metadata": {"a": "b"}},
    "/v1/vector_stores/{id}/files/{id}": {"attributes": {"year": 2026}},
    "/v1/vector_stores/{id}/search": {"query": "harbour"},
    "/webhooks": {"url": "https://example.com/hook"},
    "/webhooks/{id}": {"description": "x"},
    "/webhooks/{id}/rotate-secret": {},
    "/webhooks/{id}/recover": {"since": "2026-01-01T00:00:00Z"},
    "/facts": {"subject": "harbour", "predicate": "lights", "object": 12},
    "/facts/search": {"query": "harbour"},
    "/facts/erase": {"subject": "nobody"},
    "/facts/propose": {"text": "harbour"},
    "/facts/{id}": {"tags": ["x"]},
    "/fact-rules": {"predicate": "lights", "is_single": True},
    "/fact-aliases": {"alias": "port", "name": "harbour"},
    "/api/rag/index": {"documents": [{"content": "Twelve lights."}]},
    "/api/rag/search": {"query": "harbour"},
    "/v1/chat/completions": {
        "model": "ragsite",
        "messages": [{"role": "user", "content": "harbour"}],
    },
    "/v1/responses": {"model": "ragsite", "input": "harbour"},
    "/v1/embeddings": {"model": "ragsite-embedding", "input": "harbour"},
}

# Names, not ids: tests/retrieval/test_tools_api.py has what tools tell of another tenant.
NAMED = {"/tools/{id}": "ragSearch", "/v1/models/{id}": "ragsite"}

# Where a scope is not the usual one: read for GET, write for the rest. None: any key will do.
SCOPES = {
    ("GET", "/tools"): None,
    ("POST", "/tools/{id}"): "read",  # of this tool
    ("POST", "/api/rag/search"): "read",
    ("POST", "/profiles"): "admin",
    ("GET", "/audit"): "admin",
    ("PATCH", "/answer/settings"): "admin",
    ("GET", "/reindex"): "admin",
    ("POST", "/reindex"): "admin",
    ("POST", "/query"): "read",
    ("POST", "/memories/search"): "read",
    ("POST", "/answer"): "read",
    ("POST", "/v1/chat/completions"): "read",
    ("POST", "/v1/responses"): "read",
    ("POST", "/v1/embeddings"): "read",
    ("POST", "/answer/prompt"): "read",
    ("POST", "/feedback"): "read",
    ("POST", "/facts/search"): "read",
    ("POST", "/v1/vector_stores/{id}/search"): "read",
    ("GET", "/feedback"): "write",
}
WEBHOOK_ROUTES = (
    "/webhooks",
    "/webhooks/{id}",
    "/webhooks/{id}/test",
    "/webhooks/{id}/rotate-secret",
    "/webhooks/{id}/recover",
    "/webhooks/{id}/deliveries",
    "/webhooks/{id}/deliveries/{id}",
    "/webhooks/{id}/deliveries/{id}/redeliver",
)
SCOPES |= {(m, p): "admin" for p in WEBHOOK_ROUTES for m in ("GET", "POST", "PATCH", "DELETE")}


# Open to everybody. What is neither here nor asks for a key or a login fails the test below: put
# it behind a key, or here with a reason.
PUBLIC = {
    "/": "says where the rest is",
    "/api/schema": "describes the API",
    "/api/docs": "the same for people",
    "/d/{id}": "opens by a signed link: tests/documents/pages/test_passage_page.py",
    "/d/{id}/picture": "the same: tests/documents/pages/test_pictures.py",
    "/d/{id}/marks": "the same",
    "/d/{id}/original": "the same, for people who are signed in",
    "/s/{id}": "opens by a public link: tests/retrieval/pages/test_shared.py",
    "/s/{id}/answer": "the same",
    "/s/{id}/d/{id}": "the same",
    "/s/{id}/d/{id}/picture": "the same",
    "/s/{id}/d/{id}/marks": "the same",
    "/sign-in": "where people get in",
    "/sign-out": "where they get out",
    "/livez": "asked by machines that hold no key",
    "/readyz": "asked by machines that hold no key",
    "/metrics": "opens by a token of its own: tests/project/test_metrics.py",
    "/admin/login/": "where operators get in",
    "/admin/logout/": "where they get out",
    "/admin/jsi18n/": "words of the admin's scripts",
}
# What a request passes on its way to Django. Whoever puts another application beside it, with
# addresses of its own, teaches routes.py to find them.
LAYERS = [
    "Lifespan",
    "CrossOrigin",
    "TidyPaths",
    "SendDeadline",
    "StreamLimit",
    "BodyGuard",
    "RateLimitGuard",
    "SocketRoutes",
    "PathRoutes",
    "OneThreadHandler",
]
# What the matrix asks of routes, other tests ask of these.
BESIDE = {
    "/api/v1/answer/ws": "tests/project/test_answer_websocket.py",
    "/mcp": "tests/retrieval/mcp/test_door.py",
    "/mcp/": "tests/retrieval/mcp/test_door.py",
}

ROUTES = list(resolved())


def operations(*, of_operators: bool) -> list[tuple[str, str]]:
    """Of a namespace; or of none, for operator keys: tests/project/test_namespace_removal.py."""
    return [
        (method, route.path.removeprefix("/api/v1"))
        for route in ROUTES
        if route.api_view is not None and route.path not in PUBLIC
        if issubclass(route.api_view, OperatorView) is of_operators
        for method in route.methods
    ]


OPERATIONS = operations(of_operators=False)
WITH_ID = [(m, p) for m, p in OPERATIONS if "{" in p and p not in NAMED]


def test_the_routes_of_the_resolver_are_those_of_the_schema():
    assert len(WITH_ID) >= 10
    known = [*OPERATIONS, *operations(of_operators=True)]
    under = {p: p if p.startswith(("/api/", "/v1/")) else f"/api/v1{p}" for _, p in known}
    assert {(m, under[p]) for m, p in known} == described()


def test_nothing_stands_beside_django_that_the_matrix_does_not_know():
    passed = layers()
    assert [name for name in passed if not name.startswith("/")] == LAYERS
    assert [name for name in passed if name.startswith("/")] == list(BESIDE)
    assert all((ROOT / test).exists() for test in BESIDE.values())


@pytest.mark.usefixtures("db")
def test_every_route_is_public_by_name_or_wants_a_key_or_a_login(client: Client, settings: Any):
    settings.OPERATOR_API = True  # off, its routes answer 404 to all
    open_doors = []
    for route in ROUTES:
        if route.path in PUBLIC:
            continue
        for method in (*METHODS, "HEAD", "OPTIONS"):
            answer = client.generic(method, route.address)
            to_login = answer.headers.get("Location", "").startswith(("/admin/login/", "/sign-in"))
            if answer.status_code != 401 and not (answer.status_code == 302 and to_login):
                open_doors.append((method, route.path, answer.status_code))
    assert open_doors == []
    assert {route.path for route in ROUTES} >= set(PUBLIC)  # none that is gone


def ids_of(api: Api, result: dict[str, str]) -> dict[str, str]:
    """By the step of a route before an id, the id of such a thing."""
    judged = {"query": "harbour", "judgements": [{"source_uri": "upload:harbour.md"}]}
    golden = api.post("golden-sets", {"name": "lights"}).body["id"]
    query = api.post(f"golden-sets/{golden}/queries", judged).body
    members = {"document_ids": [result["document_id"]]}
    collection = api.post("collections", {"name": "ports"}).body["id"]
    assert api.post(f"collections/{collection}/documents", members).status == 200
    remembered = api.post("memories", BODIES["/memories"]).body
    store = f"vs_{collection.replace('-', '')}"
    file = f"file-{result['document_id'].replace('-', '')}"
    (stated,) = api.post("facts", BODIES["/facts"]).body["results"]
    rule = api.post("fact-rules", BODIES["/fact-rules"]).body
    alias = api.post("fact-aliases", BODIES["/fact-aliases"]).body
    batch = api.post(f"v1/vector_stores/{store}/file_batches", {"file_ids": [file]}).body["id"]
    webhook = api.post("webhooks", BODIES["/webhooks"]).body["id"]
    delivery = api.post(f"webhooks/{webhook}/test").body["id"]
    return {
        "webhooks": webhook,
        "deliveries": delivery,
        "vector_stores": store,
        "memories": remembered["turns"][0]["turn_id"],
        "files": file,
        "file_batches": batch,
        "collections": collection,
        "documents": result["document_id"],
        "jobs": result["job_id"],
        "golden-sets": golden,
        "golden-queries": query["id"],
        "judgements": query["judgements"][0]["id"],
        "facts": stated["fact"]["id"],
        "fact-rules": rule["id"],
        "fact-aliases": alias["id"],
        "evaluations": api.post("evaluations", {"golden_set_id": golden}).body["id"],
    }


def filled(path: str, ids: dict[str, str]) -> str:
    """The path with each {id} replaced by that of the step before it."""
    return re.sub(r"(\w[\w-]*)/\{id\}", lambda found: f"{found[1]}/{ids[found[1]]}", path)


def nobodys(id_: str) -> str:
    """An id of the same form that nobody has."""
    prefix = re.match(r"(vs_|file-|vsfb_)?", id_)
    kind = prefix[0] if prefix else ""
    return f"{kind}{uuid.uuid4().hex}" if kind else str(uuid.uuid4())


def shape(answer: Answer) -> tuple[int, str, str, list[str]]:
    error = answer.body["error"]
    return answer.status, error["code"], error["message"], sorted(answer.headers)


@pytest.mark.parametrize(("method", "path"), WITH_ID)
def test_another_tenants_id_answers_exactly_like_one_that_nobody_has(
    method: str,
    path: str,
    api_of: Callable[..., Api],
    tenant: Namespace,
    other_tenant: Namespace,
    work: Callable[[], int],
):
    api = api_of(tenant, ("read", "write", "admin"))
    result = api.upload(("harbour.md", "# Harbour\n\nTwelve lights.")).body["results"][0]
    work()
    real = ids_of(api, result)
    stranger = api_of(other_tenant, ("read", "write", "admin"))

    def call(caller: Api, ids: dict[str, str]) -> Answer:
        return caller.call(method, filled(path, ids).lstrip("/"), BODIES.get(path))

    foreign = call(stranger, real)
    random = call(stranger, {step: nobodys(id_) for step, id_ in real.items()})
    assert foreign.status == 404
    assert shape(foreign) == shape(random)
    assert api.get(f"documents/{result['document_id']}").status == 200  # and nothing happened to it
    assert call(api, real).status != 404  # the owner gets through


def sample(path: str) -> tuple[str, Any]:
    """An address that leads nowhere, and a body that fits."""
    name = NAMED.get(path, str(uuid.uuid4()))
    return path.replace("{id}", name).lstrip("/"), BODIES.get(path)


def needed_scope(method: str, path: str) -> str | None:
    return SCOPES.get((method, path), "read" if method == "GET" else "write")


def test_every_operation_refuses_every_key_that_is_not_good(
    api: Api, tenant: Namespace, settings: Any
):
    settings.WRONG_KEYS_PER_MINUTE = 0
    with operator():
        everything = ["read", "write", "admin"]
        expired, expired_key = keys.issue(tenant, scopes=everything)
        revoked, revoked_key = keys.issue(tenant, scopes=everything)
        ApiKey.objects.filter(pk=expired.pk).update(expires_at=timezone.now())
        ApiKey.objects.filter(pk=revoked.pk).update(revoked_at=timezone.now())
    _, prefix, secret = api.key.split("_", 2)
    kinds = {
        "": "not_authenticated",
        "nonsense": "invalid_key",
        f"rs_{prefix}_{'x' * 43}": "invalid_key",  # a known prefix, a wrong secret
        f"rs_{'0' * 12}_{secret}": "invalid_key",
        expired_key: "key_expired",
        revoked_key: "key_revoked",
    }
    for method, path in OPERATIONS:
        address, body = sample(path)
        for key, code in kinds.items():
            refused = Api(api.client, key).call(method, address, body)
            assert (refused.status, refused.code) == (401, code), (method, path)
            assert refused.headers["WWW-Authenticate"].startswith("Bearer")


def test_every_operation_wants_its_scope(api: Api, api_of: Callable[..., Api], tenant: Namespace):
    holders = {
        "read": api_of(tenant, ("write",)),
        "write": api_of(tenant, ("read",)),
        "admin": api_of(tenant, ("read", "write")),
    }
    for method, path in OPERATIONS:
        address, body = sample(path)
        needed = needed_scope(method, path)
        if needed is None:
            continue
        refused = holders[needed].call(method, address, body)
        assert (refused.status, refused.code) == (403, "insufficient_scope"), (method, path)
        assert f"'{needed}'" in refused.message


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
