"""/v1/vector_stores with the official client, unchanged, over a real socket."""

import asyncio
import uuid
from collections.abc import Callable
from typing import Any

import openai
import pytest

from documents.models import Namespace
from tests.client import Api
from tests.project.answer_site import Site

from .conftest import TEXTS, Work, refused

# -- stores ------------------------------------------------------------------------------


def test_a_store_is_created_read_changed_listed_and_deleted(official: openai.OpenAI):
    made = official.vector_stores.create(name="coast", metadata={"owner": "ada"})
    assert made.id.startswith("vs_")
    assert (made.object, made.status, made.file_counts.total) == ("vector_store", "completed", 0)
    assert official.vector_stores.retrieve(made.id) == made
    changed = official.vector_stores.update(made.id, name="shore", metadata={"owner": "grace"})
    assert (changed.name, changed.metadata) == ("shore", {"owner": "grace"})
    assert [one.id for one in official.vector_stores.list()] == [made.id]
    gone = official.vector_stores.delete(made.id)
    assert (gone.id, gone.object, gone.deleted) == (made.id, "vector_store.deleted", True)
    assert refused(lambda: official.vector_stores.retrieve(made.id)) == (404, "vector_store_id")


def test_lists_are_paged_in_both_orders_and_directions(official: openai.OpenAI):
    made = [official.vector_stores.create(name=f"s{n}").id for n in range(5)]
    everything = official.vector_stores.list(limit=2)
    assert (everything.has_more, everything.last_id) == (True, made[3])
    assert [one.id for one in everything] == made[::-1]  # the client follows the pages
    assert [one.id for one in official.vector_stores.list(limit=2, order="asc")] == made
    before = official.vector_stores.list(order="asc", before=made[4], limit=2)
    assert [one.id for one in before.data] == made[2:4]
    assert before.has_more
    between = official.vector_stores.list(order="asc", after=made[0], before=made[3])
    assert [one.id for one in between.data] == made[1:3]
    for option in ({"limit": 0}, {"limit": 101}, {"order": "up"}):
        name = next(iter(option))
        assert refused(lambda o=option: official.vector_stores.list(**o)) == (400, name)
    assert refused(lambda: official.vector_stores.list(after="vs_0")) == (404, "after")
    assert refused(lambda: official.vector_stores.list(extra_query={"colour": "red"})) == (
        400,
        "colour",
    )


def test_creating_again_returns_the_same_store(official: openai.OpenAI):
    create = official.vector_stores.create
    named = create(name="coast", metadata={"a": "b"})
    assert create(name="coast", metadata={"a": "b"}).id == named.id
    assert refused(lambda: create(name="coast", metadata={"a": "c"})) == (409, "name")
    with pytest.raises(openai.ConflictError) as caught:
        create(name="coast", metadata={"a": "c"})
    assert caught.value.response.headers["x-should-retry"] == "false"
    unnamed = create(metadata={"run": "1"})
    assert create(metadata={"run": "1"}).id != unnamed.id  # another request, not a retry
    retry = {"x-stainless-retry-count": "1"}
    newest = create(metadata={"run": "1"})
    assert create(metadata={"run": "1"}, extra_headers=retry).id == newest.id
    assert create(metadata={"run": "2"}, extra_headers=retry).id != newest.id


def test_what_is_not_supported_or_not_valid_is_named(
    official: openai.OpenAI, files: dict[str, str]
):
    create, store = official.vector_stores.create, official.vector_stores.create(name="s").id
    file_id = files["harbour.md"]
    static: Any = {
        "type": "static",
        "static": {"max_chunk_size_tokens": 800, "chunk_overlap_tokens": 400},
    }
    assert refused(lambda: create(name="x" * 257)) == (400, "name")
    assert refused(lambda: create(metadata={"a": 1})) == (400, "metadata")  # type: ignore[dict-item]
    assert refused(lambda: create(extra_body={"colour": "red"})) == (400, "colour")
    expiry: Any = {"anchor": "created_at", "days": 1}
    assert refused(lambda: create(expires_after=expiry)) == (400, "expires_after.anchor")
    assert refused(lambda: create(chunking_strategy=static)) == (400, "chunking_strategy.static")
    assert refused(lambda: create(file_ids=["file-nobody"])) == (404, "file_ids")
    add = official.vector_stores.files.create
    assert refused(lambda: add(store, file_id=file_id, chunking_strategy=static)) == (
        400,
        "chunking_strategy.static",
    )
    wrong: Any = {"a": ["list"]}
    assert refused(lambda: add(store, file_id=file_id, attributes=wrong)) == (400, "attributes")
    unknown = f"file-{uuid.uuid4().hex}"
    assert refused(lambda: add(store, file_id=unknown)) == (404, "file_id")
    search = official.vector_stores.search
    assert refused(lambda: search(store, query="lamp", rewrite_query=True)) == (
        400,
        "rewrite_query",
    )
    assert refused(lambda: search(store, query="lamp", max_num_results=51)) == (
        400,
        "max_num_results",
    )
    ranking: Any = {"ranker": "mine"}
    assert refused(lambda: search(store, query="lamp", ranking_options=ranking)) == (
        400,
        "ranking_options.ranker",
    )
    like: Any = {"type": "like", "key": "a", "value": "b"}
    assert refused(lambda: search(store, query="lamp", filters=like)) == (400, "filters.type")
    either: Any = {"type": "or", "filters": [{"type": "eq", "key": "a", "value": None}]}
    assert refused(lambda: search(store, query="lamp", filters=either)) == (
        400,
        "filters.filters.0.value",
    )


# -- files and batches -------------------------------------------------------------------


def test_files_are_added_listed_changed_and_removed(official: openai.OpenAI, files: dict[str, str]):
    store = official.vector_stores.create(name="coast", file_ids=[files["harbour.md"]]).id
    in_store = official.vector_stores.files
    added = in_store.create_and_poll(
        files["lighthouse.md"], vector_store_id=store, attributes={"year": 2020, "open": True}
    )
    assert (added.status, added.attributes) == ("completed", {"year": 2020, "open": True})
    assert in_store.create(store, file_id=files["lighthouse.md"]) == added  # once is enough
    assert in_store.retrieve(added.id, vector_store_id=store) == added
    listed = [one.id for one in in_store.list(store, order="asc", limit=1)]
    assert listed == [files["harbour.md"], files["lighthouse.md"]]
    assert not in_store.list(store, filter="failed").data
    assert len(in_store.list(store, filter="completed").data) == 2
    changed = in_store.update(added.id, vector_store_id=store, attributes={"year": 2021})
    assert changed.attributes == {"year": 2021}
    (content,) = in_store.content(added.id, vector_store_id=store).data
    assert "The keeper lights the lamp at dusk." in str(content.text)
    assert in_store.delete(added.id, vector_store_id=store).deleted
    assert refused(lambda: in_store.retrieve(added.id, vector_store_id=store)) == (404, "file_id")
    assert official.vector_stores.retrieve(store).file_counts.completed == 1


def test_a_batch_is_polled_until_its_files_are_indexed(
    official: openai.OpenAI, api: Api, work: Work
):
    store = official.vector_stores.create(name="coast").id
    sent = api.upload(*TEXTS.items(), ("broken.pdf", b"%PDF-1.4 nothing")).body["results"]
    ids = [f"file-{uuid.UUID(result['document_id']).hex}" for result in sent]
    batches = official.vector_stores.file_batches
    batch = batches.create(store, file_ids=ids, attributes={"kind": "text"})
    counts = batch.file_counts
    assert (batch.status, counts.in_progress, counts.total) == ("in_progress", 4, 4)
    assert official.vector_stores.retrieve(store).status == "in_progress"
    retried = batches.create(store, file_ids=ids, extra_headers={"x-stainless-retry-count": "2"})
    assert retried.id == batch.id
    work()
    done = batches.poll(batch.id, vector_store_id=store)
    assert (done.status, done.file_counts.completed, done.file_counts.failed) == ("completed", 3, 1)
    (failed,) = batches.list_files(batch.id, vector_store_id=store, filter="failed")
    assert failed.last_error is not None
    assert failed.last_error.message
    assert {one.id for one in batches.list_files(batch.id, vector_store_id=store)} == set(ids)
    files: Any = [{"file_id": ids[0], "attributes": {"n": 1}}, {"file_id": ids[1]}]
    again = batches.create_and_poll(store, files=files)
    assert again.file_counts.total == 2
    first = official.vector_stores.files.retrieve(ids[0], vector_store_id=store)
    second = official.vector_stores.files.retrieve(ids[1], vector_store_id=store)
    assert (first.attributes, second.attributes) == ({"n": 1}, {"kind": "text"})


def test_cancelling_a_batch_takes_out_what_is_not_indexed(
    official: openai.OpenAI, api: Api, files: dict[str, str]
):
    store = official.vector_stores.create(name="coast").id
    sent = api.upload(("later.md", "# Later\n\nNot yet.")).body["results"][0]
    later = f"file-{uuid.UUID(sent['document_id']).hex}"
    batches = official.vector_stores.file_batches
    batch = batches.create(store, file_ids=[later, files["harbour.md"]])
    cancelled = batches.cancel(batch.id, vector_store_id=store)
    assert cancelled.status == "cancelled"
    counts = cancelled.file_counts
    assert (counts.cancelled, counts.completed, counts.total) == (1, 1, 2)
    assert [one.id for one in official.vector_stores.files.list(store)] == [files["harbour.md"]]


# -- who may what ------------------------------------------------------------------------


def test_another_tenant_sees_nothing_and_a_read_only_key_changes_nothing(
    official: openai.OpenAI,
    client_for: Callable[..., openai.OpenAI],
    api_of: Callable[..., Api],
    store: str,
    files: dict[str, str],
    tenant: Namespace,
    other_tenant: Namespace,
):
    stranger = client_for(api_of(other_tenant).key)
    assert stranger.vector_stores.list().data == []
    assert refused(lambda: stranger.vector_stores.search(store, query="lamp")) == (
        404,
        "vector_store_id",
    )
    own = stranger.vector_stores.create(name="coast").id
    theirs = files["harbour.md"]
    assert refused(lambda: stranger.vector_stores.files.create(own, file_id=theirs)) == (
        404,
        "file_id",
    )
    assert refused(lambda: stranger.vector_stores.file_batches.create(own, file_ids=[theirs])) == (
        404,
        "file_ids",
    )
    reader = client_for(api_of(tenant, ("read",)).key)
    assert reader.vector_stores.search(store, query="lamp").data
    assert reader.vector_stores.files.list(store).data
    for change in (
        lambda: reader.vector_stores.create(name="mine"),
        lambda: reader.vector_stores.update(store, name="mine"),
        lambda: reader.vector_stores.delete(store),
        lambda: reader.vector_stores.files.create(store, file_id=theirs),
        lambda: reader.vector_stores.files.delete(theirs, vector_store_id=store),
        lambda: reader.vector_stores.file_batches.create(store, file_ids=[theirs]),
    ):
        assert refused(change)[0] == 403
    assert official.vector_stores.retrieve(store).file_counts.total == 2


def test_the_async_client_works_too(site: Site, api: Api, files: dict[str, str]):
    async def run() -> None:
        url = f"http://localhost:{site.port}/v1"
        async with openai.AsyncOpenAI(base_url=url, api_key=api.key, max_retries=0) as client:
            store = await client.vector_stores.create(name="async")
            batch = await client.vector_stores.file_batches.create_and_poll(
                store.id, file_ids=list(files.values())
            )
            assert batch.file_counts.completed == len(files)
            page = await client.vector_stores.search(store.id, query="How long to knead the dough?")
            assert page.data[0].filename == "kitchen.txt"
            assert [one.id async for one in client.vector_stores.list()] == [store.id]
            assert (await client.vector_stores.delete(store.id)).deleted

    asyncio.run(run())
