"""What a search store has to be told is noted in the transaction that changes it.

What real stores make of it is in tests/contracts/test_stores.py.
"""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from documents.accounts import namespace_removal
from documents.models import IndexProfile, Namespace, StoreChange
from documents.stores import feeding, outbox
from documents.stores.facets import facet, facets_of
from ragsite.database.tenancy import namespace, operator
from ragsite.service import health

from ..client import Api


@pytest.fixture
def away(hashing_profile: IndexProfile, new_namespace: Callable[..., Namespace]) -> Namespace:
    """A namespace whose profile names a store that is not configured here."""
    with operator():
        hashing_profile.pk, hashing_profile.name, hashing_profile.store = None, "away", "elsewhere"
        hashing_profile._state.adding = True
        hashing_profile.save()
    return new_namespace("away", profile=hashing_profile)


def noted() -> dict[str, int]:
    with operator():
        rows = StoreChange.objects.values_list("document_id", "changes")
        return {str(document_id): changes for document_id, changes in rows}


def test_changes_of_chunks_and_of_what_filters_read_are_noted(
    away: Namespace, api_of: Callable[..., Api], work: Callable[[], int]
):
    api = api_of(away)
    results = api.upload(("a.txt", "Terns nest here."), ("b.txt", "Cod swims.")).body["results"]
    first, second = (result["document_id"] for result in results)
    assert noted() == {}  # nothing is searchable yet
    work()
    assert set(noted()) == {first, second}
    with operator():
        StoreChange.objects.all().delete()
    api.patch(f"documents/{first}", {"tags": ["birds"]})
    assert noted() == {first: 1}
    api.patch(f"documents/{first}", {"metadata": {"seen": 2}})
    api.delete(f"documents/{first}")
    assert noted()[first] > 1
    made = api.post("collections", {"name": "fish"}).body
    api.post(f"collections/{made['id']}/documents", {"document_ids": [second]})
    assert set(noted()) == {first, second}


def test_nothing_is_noted_of_profiles_in_the_database(
    tenant: Namespace, api: Api, work: Callable[[], int]
):
    (result,) = api.upload(("a.txt", "Terns nest here.")).body["results"]
    work()
    api.patch(f"documents/{result['document_id']}", {"tags": ["birds"]})
    api.delete(f"documents/{result['document_id']}")
    assert noted() == {}


def test_a_store_that_is_not_configured_costs_no_search_and_no_change(
    away: Namespace,
    api_of: Callable[..., Api],
    work: Callable[[], int],
    boss: Client,
    settings: Any,
):
    api = api_of(away)
    api.upload(("a.txt", "Terns nest here."))
    work()
    body = api.query("terns").body
    assert "Terns" in body["results"][0]["content"]
    assert body["diagnostics"]["fallbacks"] == ["postgres_search: store_not_configured"]
    assert feeding.work() == 0
    (backlog,) = outbox.backlogs()
    assert "no store 'elsewhere'" in backlog.error
    assert outbox.due() == []  # until the pause has passed
    assert "1 document" in boss.get("/admin/documents/indexprofile/").content.decode()
    settings.STORES = {"elsewhere": {}}
    assert health._stores().startswith("1 document not synced yet")


def test_a_deleted_namespace_leaves_the_notes_by_which_a_store_forgets_it(
    away: Namespace, api_of: Callable[..., Api], work: Callable[[], int]
):
    (result,) = api_of(away).upload(("a.txt", "Terns nest here.")).body["results"]
    work()
    with operator():
        StoreChange.objects.all().delete()
        namespace_removal.remove_namespace(away)
        assert not Namespace.objects.filter(pk=away.pk).exists()
    assert set(noted()) == {result["document_id"]}


def test_notes_are_behind_the_wall(
    away: Namespace, tenant: Namespace, api_of: Callable[..., Api], work: Callable[[], int]
):
    api_of(away).upload(("a.txt", "Terns nest here."))
    work()
    for whose, count in ((away, 1), (tenant, 0)):
        with namespace(whose.pk):
            assert StoreChange.objects.count() == count


def test_facets_compare_as_jsonb_does():
    metadata = {"a": {"b": [1, "x", [2], {"c": 3}]}, "n": 5.0, "t": True, "none": None}
    facets = facets_of(metadata)
    for path, value in (
        (("a", "b"), 1),
        (("a", "b"), 1.0),
        (("a", "b"), "x"),
        (("n",), 5),
        (("t",), True),
        (("none",), None),
    ):
        assert facet(path, value) in facets
    for path, value in ((("a", "b"), "1"), (("a", "b"), 2), (("a", "b", "c"), 3), (("t",), 1)):
        assert facet(path, value) not in facets
