"""A profile's collection in Qdrant: made, and completed if its making broke off.

It has a payload index on the namespace, for which Qdrant keeps a graph of its own (`is_tenant`,
`payload_m`).
"""

from typing import Any

from .base import KEYWORDS, NAMESPACE, NUMBERS, StoreCollection, StoreMisfit

DENSE, WORDS = "dense", "words"
DEFAULT_M = 16  # links of a vector in its namespace's graph
SHARED = "shared"  # the shard key of namespaces that have none of their own


def is_by_tenant(collection: StoreCollection) -> bool:
    return collection.options.get("sharding") == "tenants"


def make(client: Any, collection: StoreCollection, *, seconds: int) -> None:
    """Create what is not there yet. Raises StoreMisfit if there is something else."""
    if not client.collection_exists(collection.name):
        _create(client, collection, seconds)
    known = client.get_collection(collection.name)
    vectors = known.config.params.vectors
    size = vectors[DENSE].size if isinstance(vectors, dict) and DENSE in vectors else None
    if size != collection.dimensions:
        raise StoreMisfit(
            f"Qdrant's collection {collection.name!r} has vectors of {size} dimensions, and "
            f"{collection.dimensions} are needed. Was it made by something else?"
        )
    if is_by_tenant(collection) and SHARED not in shard_keys(client, collection):
        create_shards(client, collection, SHARED)
    _index_fields(client, collection, but=set(known.payload_schema or ()))


def _create(client: Any, collection: StoreCollection, seconds: int) -> None:
    from qdrant_client import models
    from qdrant_client.http.exceptions import UnexpectedResponse

    wanted = collection.options
    quantised = wanted.get("quantization", "int8") == "int8"
    scalar = models.ScalarQuantizationConfig(type=models.ScalarType.INT8, always_ram=True)
    vectors = models.VectorParams(
        size=collection.dimensions,
        distance=models.Distance.COSINE,
        on_disk=wanted.get("on_disk") == "vectors",
    )
    # No graph over everybody: one for each namespace.
    graph = models.HnswConfigDiff(
        m=0, payload_m=wanted.get("m", DEFAULT_M), ef_construct=wanted.get("ef_construct", 100)
    )
    try:
        client.create_collection(
            collection.name,
            vectors_config={DENSE: vectors},
            sparse_vectors_config={WORDS: models.SparseVectorParams()},
            hnsw_config=graph,
            quantization_config=models.ScalarQuantization(scalar=scalar) if quantised else None,
            shard_number=wanted.get("shards"),
            replication_factor=wanted.get("replicas"),
            sharding_method=models.ShardingMethod.CUSTOM if is_by_tenant(collection) else None,
            write_consistency_factor=1,
            on_disk_payload=True,
            timeout=seconds,
        )
    except UnexpectedResponse as error:
        if error.status_code != 409:  # else another process was faster
            raise


def shard_keys(client: Any, collection: StoreCollection) -> set[str]:
    known = client.list_shard_keys(collection.name).shard_keys
    return {str(one.key) for one in known or ()}


def create_shards(client: Any, collection: StoreCollection, key: str) -> None:
    client.create_shard_key(
        collection.name,
        key,
        shards_number=collection.options.get("shards"),
        replication_factor=collection.options.get("replicas"),
    )


def _index_fields(client: Any, collection: StoreCollection, *, but: set[str]) -> None:
    from qdrant_client import models

    keyword, number = models.KeywordIndexParams, models.FloatIndexParams
    indexes: dict[str, Any] = {
        name: keyword(type=models.KeywordIndexType.KEYWORD, is_tenant=name == NAMESPACE)
        for name in KEYWORDS
    }
    indexes |= {name: number(type=models.FloatIndexType.FLOAT) for name in NUMBERS}
    for name in indexes.keys() - but:
        client.create_payload_index(
            collection.name, field_name=name, field_schema=indexes[name], wait=True
        )
