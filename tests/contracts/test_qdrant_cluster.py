"""Qdrant as a cluster: a large namespace gets shards of its own, and others keep theirs."""

import json
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from documents.models import IndexProfile, Namespace
from documents.stores import feeding, registry
from documents.stores.base import StoreCollection

from .. import store_servers
from ..client import Api
from .store_contract import Moved
from .test_stores import configured, documents

OPTIONS = {"sharding": "tenants", "shards": 2, "replicas": 2}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[store_servers.QdrantNode]]:
    if reason := store_servers.missing_qdrant_binary():
        pytest.skip(f"No cluster of Qdrant: {reason}.")
    folder = tmp_path_factory.mktemp("cluster")
    nodes: list[store_servers.QdrantNode] = []
    try:
        for name in ("first", "second"):
            first = nodes[0] if nodes else None
            nodes.append(store_servers.QdrantNode(folder / name, in_cluster=True, first=first))
            nodes[-1].start()
        yield nodes
    finally:
        for node in nodes:
            node.kill()


def shards(node: store_servers.QdrantNode, collection: StoreCollection) -> dict[str, int]:
    """How many points this node has under each shard key."""
    address = f"{node.address}/collections/{collection.name}/cluster"
    with urllib.request.urlopen(address) as answer:
        found = json.load(answer)["result"]["local_shards"]
    counts: dict[str, int] = {}
    for shard in found:
        key = shard["shard_key"]
        counts[key] = counts.get(key, 0) + shard["points_count"]
    return counts


def test_a_large_tenant_gets_shards_of_its_own_and_is_found_throughout(
    cluster: list[store_servers.QdrantNode],
    hashing_profile: IndexProfile,
    settings: Any,
    new_namespace: Callable[..., Namespace],
    api_of: Callable[..., Api],
    work: Callable[[], int],
):
    address = {"url": cluster[0].address, "write_seconds": 10.0}
    with configured(settings, "qdrant", "qdrant.QdrantStore", **address) as make:
        profile = make(hashing_profile, store_options=OPTIONS)
        large, small = (new_namespace(slug, profile=profile) for slug in ("large", "small"))
        twin = new_namespace("twin")
        for tenant in (large, small, twin):
            api_of(tenant).upload(*documents())
        work()
        feeding.work()
        moved = Moved(api_of(large), api_of(twin), large, profile, small)
        assert moved.assert_alike("lamp oil", mode="semantic") > 0
        collection = registry.collection_of(profile)
        assert set(shards(cluster[0], collection)) == {"shared"}
        call_command("sync_store", "--separate", "--namespace", "large", "--profile", profile.name)
        assert moved.count() == moved.rows() > 20
        assert moved.count(small) == moved.rows(small) > 20
        held = shards(cluster[0], collection)
        assert held[str(large.pk)] == moved.rows()
        assert held["shared"] <= moved.rows(small) + 1  # and the mark
        for question in ("lamp oil", "granite tower and its keepers"):
            assert moved.assert_alike(question) > 0
            assert api_of(small).query(question).body["diagnostics"]["fallbacks"] == []
        with pytest.raises(CommandError, match="--separate needs --namespace"):
            call_command("sync_store", "--separate")
