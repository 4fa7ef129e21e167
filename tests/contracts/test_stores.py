"""Every search store keeps the same contract, against its real server where there is one."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from documents.models import IndexProfile, Namespace
from documents.profiles import profiles
from documents.stores import feeding, registry
from documents.stores.base import StoreMisfit
from ragsite.database.tenancy import operator
from ragsite.platform.backends import load_backend

from .. import store_servers
from ..client import Api
from ..retrieval.conftest import LIBRARY
from .store_contract import Moved, StoreContract
from .store_loss_contract import StoreLossContract

LIGHT = """---
tags: [{tag}]
number: {n}
flag: {flag}
ports: [a, {port}]
---
# Light {n}

The keeper of light {n} notes calm seas and {things}.

## Oil

Lamp oil {n} ran low while {things} were counted {times}.
"""
# So that no two passages score alike: ties are broken by ids, which differ.
THINGS = (
    *("gulls", "terns", "cod", "ropes", "kelp", "anchors", "whales", "buoys"),
    *("crabs", "nets", "mussels", "sails", "herring", "oars", "dolphins", "barrels"),
)


def documents() -> Iterator[tuple[str, str]]:
    yield from LIBRARY.items()
    for n in range(16):
        tag, flag = ("even", "true") if n % 2 == 0 else ("odd", "false")
        words = {"things": " ".join(THINGS[n : n + 1 + n % 5]), "times": "again " * (n % 7)}
        port = "b" if n > 4 else "c"
        yield f"light-{n}.md", LIGHT.format(n=n, tag=tag, flag=flag, port=port, **words)


@pytest.fixture
def moved(
    store_profile: IndexProfile,
    new_namespace: Callable[..., Namespace],
    api_of: Callable[..., Api],
    work: Callable[[], int],
) -> Iterator[Moved]:
    """Both namespaces filled, and everything in the store."""
    tenant, other = (new_namespace(slug, profile=store_profile) for slug in ("mine", "other"))
    twin = new_namespace("twin")
    apis = [api_of(one, ("read", "write", "admin")) for one in (tenant, twin)]
    for api in apis:
        api.upload(*documents())
    work()
    feeding.work()
    moved = Moved(*apis, tenant, store_profile, other)
    assert moved.count() == moved.rows() > 20
    return moved


class TestPgvector(StoreContract):
    @pytest.fixture
    def store_profile(self, hashing_profile: IndexProfile) -> IndexProfile:
        return profiles.create("in-tables", like=hashing_profile, ann_method="hnsw")


@pytest.fixture(scope="session")
def qdrant_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if reason := store_servers.missing_qdrant():
        pytest.skip(f"No Qdrant: {reason}.")
    with store_servers.qdrant(tmp_path_factory.mktemp("qdrant")) as address:
        yield address


@contextmanager
def configured(
    settings: Any, alias: str, backend: str, **options: Any
) -> Iterator[Callable[..., IndexProfile]]:
    """Yield what makes a profile in this store, and forget the profile in the end."""
    settings.STORES = {alias: {"BACKEND": f"documents.stores.{backend}", "OPTIONS": options}}
    # On a busy machine a store may take longer than users would wait.
    settings.STORE_SEARCH = {**settings.STORE_SEARCH, "seconds": 20.0}
    load_backend.cache_clear()
    registry.breaker.cache_clear()
    made: list[IndexProfile] = []

    def make(like: IndexProfile, **fields: Any) -> IndexProfile:
        made.append(profiles.create(f"in-{alias}", like=like, store=alias, **fields))
        return made[-1]

    yield make
    for profile in made:
        feeding.forget(profile)
    load_backend.cache_clear()
    registry.breaker.cache_clear()


class TestQdrant(StoreLossContract):
    @pytest.fixture
    def door(self, qdrant_address: str) -> Iterator[store_servers.Door]:
        door = store_servers.Door(qdrant_address)
        yield door
        door.close()

    @pytest.fixture
    def store_profile(
        self, door: store_servers.Door, hashing_profile: IndexProfile, settings: Any, tmp_path: Path
    ) -> Iterator[IndexProfile]:
        backend = "qdrant.QdrantStore"
        address = {"url": door.address, "write_seconds": 5.0}
        with configured(settings, "qdrant", backend, **address) as make:
            yield make(hashing_profile)
            door.become("open")

    def test_word_scores_are_those_of_the_tables(self, moved: Moved):
        """Not only the order: the store's own inner product is our BM25."""
        found: list[Any] = []
        honest = moved.store._search

        def noting(*args: Any, **kwargs: Any) -> Any:
            found.append(honest(*args, **kwargs))
            return found[-1]

        moved.store._search = noting  # type: ignore[method-assign]
        body = moved.answer("granite tower and its keepers, lamp oil", mode="lexical", k=20)
        ours = {hit["chunk_id"]: hit["scores"]["lexical"] for hit in body["results"]}
        theirs = {str(chunk_id): score for chunk_id, score in found[0].words}
        assert len(ours) > 10
        assert {key: theirs[key] for key in ours} == pytest.approx(ours, rel=1e-4)

    def test_a_collection_of_another_size_is_refused(self, moved: Moved):
        wider = replace(registry.collection_of(moved.profile), dimensions=8)
        with pytest.raises(StoreMisfit, match="256 dimensions, and 8 are needed"):
            moved.store.prepare(wider)

    def test_options_are_checked(self, moved: Moved):
        for wrong, sentence in (
            ({"quantization": "int4"}, "int8, none"),
            ({"shards": 0}, "from 1 to 1000"),
            ({"colour": 1}, "no option 'colour'"),
        ):
            with pytest.raises(StoreMisfit, match=sentence):
                profiles.create("wrong", like=moved.profile, store_options=wrong)
        with pytest.raises(StoreMisfit, match="There is no store 'chrome' here"):
            profiles.create("wrong", like=moved.profile, store="chrome")
        with operator():
            assert not IndexProfile.objects.filter(name="wrong").exists()


@pytest.fixture(scope="session")
def chroma_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if reason := store_servers.missing_chroma():
        pytest.skip(f"No Chroma: {reason}.")
    with store_servers.chroma(tmp_path_factory.mktemp("chroma")) as address:
        yield address


class TestChroma(StoreLossContract):
    @pytest.fixture
    def door(self, chroma_address: str) -> Iterator[store_servers.Door]:
        door = store_servers.Door(chroma_address)
        yield door
        door.close()

    @pytest.fixture
    def store_profile(
        self, door: store_servers.Door, hashing_profile: IndexProfile, settings: Any
    ) -> Iterator[IndexProfile]:
        backend = "chroma.ChromaStore"
        address = {"url": door.address, "write_seconds": 5.0}
        with configured(settings, "chroma", backend, **address) as make:
            yield make(hashing_profile)
            door.become("open")


class TestEmbeddedChroma(StoreContract):
    @pytest.fixture
    def store_profile(
        self, hashing_profile: IndexProfile, settings: Any, tmp_path: Path
    ) -> Iterator[IndexProfile]:
        if reason := store_servers.missing_chroma():
            pytest.skip(f"No Chroma: {reason}.")
        with configured(settings, "chroma", "chroma.ChromaStore", path=str(tmp_path)) as make:
            yield make(hashing_profile)
