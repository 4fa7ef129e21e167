"""Deleting what a filter finds: no more, no less, and with a receipt."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from documents.models import AuditEvent, Chunk, Document, Namespace
from ragsite.database.tenancy import operator

from ..client import Api


def fill(api: Api, work: Callable[[], int]) -> None:
    for number in range(5):
        year = 2020 + number
        tags = "old" if number < 3 else "new"
        text = f"# Text {number}\n\nWords about ships."
        api.upload((f"{number}.md", text), tags=tags, metadata=f'{{"year": {year}}}')
    work()


def stored_files() -> int:
    return sum(path.is_file() for path in (Path(settings.HOME) / "storage").rglob("*"))


def titles(api: Api) -> list[str]:
    return sorted(document["title"] for document in api.get("documents").body["results"])


def test_a_dry_run_says_what_the_deletion_then_does(
    api: Api, work: Callable[[], int], tenant: Namespace
):
    fill(api, work)
    asked = {"filters": {"tags": ["old"], "metadata": {"year": {"$gte": 2021}}}}
    dry = api.post("documents/delete", {**asked, "dry_run": True})
    assert (dry.status, dry.body["documents"], dry.body["dry_run"]) == (200, 2, True)
    assert len(titles(api)) == 5
    done = api.post("documents/delete", {**asked, "expected_count": 2}).body
    assert {**done, "dry_run": True} == dry.body
    assert (done["versions"], done["files"], done["files_left"]) == (2, 2, [])
    assert done["chunks"] >= 2
    assert titles(api) == ["Text 0", "Text 3", "Text 4"]
    assert stored_files() == 3
    assert {hit["title"] for hit in api.query("ships").body["results"]} == set(titles(api))
    with operator():
        left = Chunk.objects.count()
        assert Namespace.objects.get(pk=tenant.pk).chunk_count == left
        event = AuditEvent.objects.get(action="document.delete")
    assert (event.count, event.details["filters"]) == (2, asked["filters"])


def test_another_count_than_expected_deletes_nothing(api: Api, work: Callable[[], int]):
    fill(api, work)
    answer = api.post("documents/delete", {"filters": {"tags": ["old"]}, "expected_count": 2})
    assert (answer.status, answer.code) == (409, "count_mismatch")
    assert answer.body["error"]["details"] == {"count": 3}
    assert len(titles(api)) == 5


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"filters": {}},
        {"filters": {"tags": []}},
        {"filters": {"tags": ["old"]}, "all": True},
        {"filters": {"kind": ["text"]}},
        {"filters": {"tag": ["old"]}},
        {"filters": {"tags": ["old"]}, "dryrun": True},
        {"filters": {"tags": ["old"]}, "expected_count": -1},
    ],
)
def test_what_could_be_a_mistake_is_refused(api: Api, body: dict[str, Any]):
    assert api.post("documents/delete", body).status == 422


def test_everything_goes_only_by_name_and_never_another_tenants(
    api: Api,
    api_of: Callable[..., Api],
    other_tenant: Namespace,
    work: Callable[[], int],
):
    fill(api, work)
    other = api_of(other_tenant)
    other.upload(("0.md", "# Theirs"), tags="old")
    assert api.post("documents/delete", {"all": True}).body["documents"] == 5
    assert api.get("documents").body["results"] == []
    with operator():
        assert Document.objects.get().namespace_id == other_tenant.pk
    assert api.post("documents/delete", {"all": True}).body["documents"] == 0


def test_a_reading_key_cannot_delete(api_of: Callable[..., Api], tenant: Namespace):
    reader = api_of(tenant, scopes=("read",))
    answer = reader.post("documents/delete", {"all": True})
    assert (answer.status, answer.code) == (403, "insufficient_scope")
