"""Collections: kept by name, filtered by in every door, and behind the wall."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from documents.models import Collection, CollectionDocument, Namespace
from ragsite.database.tenancy import namespace
from retrieval.filter_sql import compile_filters
from retrieval.filters import Filters, Not, OneOf
from retrieval.requests import SearchRequest
from retrieval.search import search

from ..client import Api

COAST = "# Coast\n\nThe lighthouse keeper lights the lamp."
INLAND = "# Inland\n\nThe lamp in the kitchen is lit at noon."


def document_ids(answer: Any) -> list[str]:
    return [result["document_id"] for result in answer.body["results"]]


@pytest.fixture
def shelves(api: Api, work: Callable[[], int]) -> Api:
    """Two documents; the first is in the collection coast."""
    api.upload(("coast.md", COAST), collection="coast")
    api.upload(("inland.md", INLAND))
    assert work() == 2
    return api


def test_an_upload_names_its_collection_and_a_question_is_restricted_to_it(shelves: Api):
    everywhere = shelves.query("lamp").body["results"]
    assert {hit["title"]: hit["collections"] for hit in everywhere} == {
        "Coast": ["coast"],
        "Inland": [],
    }
    (created,) = shelves.get("collections").body["results"]
    assert (created["name"], created["documents_count"]) == ("coast", 1)
    for wanted in ("coast", ["coast", "nobody"], created["id"]):
        found = shelves.query("lamp", filters={"collection": wanted}).body["results"]
        assert [hit["title"] for hit in found] == ["Coast"]
    assert shelves.query("lamp", filters={"collection": "Coast"}).body["results"] == []
    assert shelves.query("lamp", filters={"collection": []}).body["results"] == []
    refused = shelves.query("lamp", filters={"collection": 7})
    assert (refused.status, "collection" in refused.message) == (422, True)


def test_answers_lists_and_tools_take_the_filter(shelves: Api, no_agent_limit: None):
    answer = shelves.post(
        "answer", {"query": "who lights the lamp?", "filters": {"collection": "coast"}}
    )
    assert {hit["source_uri"] for hit in answer.body["citations"]} == {"upload:coast.md"}
    for named in ("coast", shelves.get("collections").body["results"][0]["id"]):
        listed = shelves.get(f"documents?collection={named}").body["results"]
        assert [document["title"] for document in listed] == ["Coast"]
    assert shelves.get("documents?collection=nobody").body["results"] == []
    arguments = {"query": "lamp", "threshold": 0, "filters": {"collection": ["coast"]}}
    called = shelves.post("tools/ragSearch", {"arguments": arguments})
    assert called.status == 200, called.body
    assert "kitchen" not in str(called.body)
    assert "keeper" in str(called.body)
    found = called.body["result"]["results"]
    assert [hit["metadata"]["collection"] for hit in found] == ["coast"] * len(found)


def test_a_change_of_membership_shows_in_the_next_result_of_a_cached_question(shelves: Api):
    (coast,) = shelves.get("collections").body["results"]
    inland = document_ids(shelves.upload(("inland.md", INLAND)))[0]
    asked = {"filters": {"collection": "coast"}}
    assert len(shelves.query("lamp", **asked).body["results"]) == 1
    added = shelves.post(f"collections/{coast['id']}/documents", {"document_ids": [inland]})
    assert added.body["documents_count"] == 2
    assert len(shelves.query("lamp", **asked).body["results"]) == 2
    assert shelves.delete(f"collections/{coast['id']}/documents/{inland}").status == 204
    assert len(shelves.query("lamp", **asked).body["results"]) == 1
    assert shelves.delete(f"collections/{coast['id']}").status == 204
    assert shelves.query("lamp", **asked).body["results"] == []
    assert len(shelves.get("documents").body["results"]) == 2


def test_creating_twice_is_one_collection_and_another_of_the_name_is_refused(api: Api):
    body = {"name": "coast", "metadata": {"owner": "ada"}}
    first, second = api.post("collections", body), api.post("collections", body)
    assert (first.status, second.status) == (201, 200)
    assert first.body == second.body
    other = api.post("collections", {"name": "coast"})
    assert (other.status, other.code) == (409, "collection_exists")
    assert api.post("collections", {"name": "Coast"}).status == 201
    renamed = api.patch(f"collections/{first.body['id']}", {"name": "Coast"})
    assert (renamed.status, renamed.code) == (409, "collection_exists")
    changed = api.patch(f"collections/{first.body['id']}", {"name": "shore", "metadata": {}})
    assert (changed.body["name"], changed.body["metadata"]) == ("shore", {})


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"name": ""}, "name"),
        ({"name": "x" * 257}, "name"),
        ({"name": "a", "metadata": {"k": 1}}, "metadata"),
        ({"name": "a", "metadata": {str(n): "" for n in range(17)}}, "metadata"),
        ({"name": "a", "expires_after_days": 0}, "expires_after_days"),
        ({"name": "a", "colour": "red"}, "colour"),
    ],
)
def test_what_is_wrong_is_named(api: Api, body: dict[str, Any], named: str):
    refused = api.post("collections", body)
    assert refused.status == 422
    assert named in str(refused.body["error"]["details"])


def test_deleting_a_document_removes_its_memberships(shelves: Api, tenant: Namespace):
    (document,) = shelves.get("documents?collection=coast").body["results"]
    assert shelves.delete(f"documents/{document['id']}").status == 200
    with namespace(tenant.pk):
        assert not CollectionDocument.objects.exists()
        assert Collection.objects.count() == 1


def test_attributes_of_a_membership_restrict_within_its_collection_only(
    shelves: Api, tenant: Namespace
):
    (coast,) = shelves.get("collections").body["results"]
    other = shelves.post("collections", {"name": "other"}).body
    everything = {d["title"]: d["id"] for d in shelves.get("documents").body["results"]}
    for collection, title, year in (
        (coast, "Coast", 2020),
        (coast, "Inland", 2024),
        (other, "Coast", 2024),
    ):
        members = {"document_ids": [everything[title]], "attributes": {"year": year}}
        added = shelves.post(f"collections/{collection['id']}/documents", members)
        assert added.status == 200

    def titles(condition: Any) -> list[str]:
        filters = Filters(collections=("coast",), attributes=condition)
        return sorted(
            h.title for h in search(tenant.pk, SearchRequest("lamp", filters=filters)).hits
        )

    assert titles(OneOf(("year",), ("2024",))) == ["Inland"]
    assert titles(Not(OneOf(("year",), ("2024",)))) == ["Coast"]
    assert titles(OneOf(("year",), ("1999",))) == []
    refused = shelves.patch(
        f"collections/{coast['id']}/documents/{everything['Coast']}", {"attributes": {"a": [1]}}
    )
    assert refused.status == 422


def test_an_expired_collection_finds_nothing(shelves: Api, tenant: Namespace):
    (coast,) = shelves.get("collections").body["results"]
    shelves.patch(f"collections/{coast['id']}", {"expires_after_days": 1})
    assert shelves.query("lamp", filters={"collection": "coast"}).body["results"]
    with namespace(tenant.pk):
        Collection.objects.update(last_active_at="2020-01-01T00:00:00Z")
    assert shelves.query("the lamp", filters={"collection": "coast"}).body["results"] == []


def test_the_condition_is_a_filter_of_rows_that_no_join_replaces(tenant: Namespace):
    condition, _ = compile_filters(Filters(collections=("a",)))
    assert condition.endswith("IS TRUE)")


def test_another_tenants_collection_is_unknown_by_id_and_by_name(
    shelves: Api, api_of: Callable[..., Api], other_tenant: Namespace
):
    (coast,) = shelves.get("collections").body["results"]
    (mine,) = shelves.get("documents?collection=coast").body["results"]
    stranger = api_of(other_tenant)
    for named in ("coast", coast["id"]):
        assert stranger.query("lamp", filters={"collection": named}).body["results"] == []
        assert stranger.get(f"documents?collection={named}").body["results"] == []
    own = stranger.post("collections", {"name": "coast"})
    assert own.status == 201
    foreign = stranger.post(
        f"collections/{own.body['id']}/documents", {"document_ids": [mine["id"]]}
    )
    assert (foreign.status, "document_ids" in str(foreign.body)) == (422, True)


def test_the_command_adds_files_to_a_collection(tenant: Namespace, tmp_path: Any, api: Api):
    (tmp_path / "coast.md").write_text(COAST)
    call_command(
        "ingest", str(tmp_path), namespace="tenant", collection="shore", no_wait=True, json=True
    )
    (shore,) = api.get("collections?name=shore").body["results"]
    assert shore["documents_count"] == 1


def test_the_admin_lists_collections_with_their_documents(shelves: Api, boss: Client):
    page = boss.get("/admin/documents/collection/").content.decode()
    assert "coast" in page
    (coast,) = shelves.get("collections").body["results"]
    assert f'collection__id__exact={coast["id"]}">1</a>' in page
    members = boss.get(f"/admin/documents/collectiondocument/?collection__id__exact={coast['id']}")
    assert "Coast" in members.content.decode()
