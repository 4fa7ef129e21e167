"""Qdrant: a server or a cluster. Requires requirements/qdrant.txt.

There is one collection for each profile, with a payload index on the namespace, for which Qdrant
keeps a separate graph (`is_tenant`, `payload_m`). The words' impacts are in a sparse vector; the
question's sparse vector has their IDF, so that the inner product is the BM25 score of the tables.
"""

import os
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from .base import (
    KEYWORDS,
    NAMESPACE,
    NUMBERS,
    AllOf,
    AnyOf,
    Between,
    NoneOf,
    SearchStore,
    StoreCollection,
    StoreCondition,
    StoredPoint,
    StoreFailed,
    StoreFound,
    StoreHealth,
    StoreMisfit,
    StoreQuestion,
)

DENSE, WORDS = "dense", "words"
PAGE = 1000  # ids per call, when all are read
OVERSAMPLING = 3.0  # quantised candidates for each requested result
DEFAULT_M = 16  # links of a vector in its namespace's graph


class QdrantStore(SearchStore):
    """`url` is the address of a node, or of a load balancer in front of several."""

    options: ClassVar[Mapping[str, tuple[int, int] | tuple[str, ...]]] = {
        "quantization": ("int8", "none"),
        "shards": (1, 1000),
        "replicas": (1, 20),
        "m": (4, 100),
        "ef_construct": (8, 1000),
        "on_disk": ("vectors", "none"),
    }

    def __init__(
        self,
        *,
        url: str,
        api_key: str = "",
        ef_search: int = 128,
        write_seconds: float = 30.0,
    ) -> None:
        try:
            import qdrant_client
        except ImportError as error:
            raise StoreMisfit(
                "The qdrant store needs its client: pip install -r requirements/qdrant.txt"
            ) from error
        self._qdrant = qdrant_client
        self._models = qdrant_client.models
        self._url, self._key = url, api_key
        self._ef_search, self._write_seconds = ef_search, write_seconds
        self._lock = threading.Lock()
        self._clients: dict[int, Any] = {}  # by process, because connections do not survive a fork

    def prepare(self, collection: StoreCollection) -> None:
        with self._answering():
            if not self._client.collection_exists(collection.name):
                self._create(collection)
                return
            known = self._client.get_collection(collection.name).config.params.vectors
        size = known[DENSE].size if isinstance(known, dict) and DENSE in known else None
        if size != collection.dimensions:
            raise StoreMisfit(
                f"Qdrant's collection {collection.name!r} has vectors of {size} dimensions, and "
                f"{collection.dimensions} are needed. Was it made by something else?"
            )

    def _create(self, collection: StoreCollection) -> None:
        models, wanted = self._models, collection.options
        quantised = wanted.get("quantization", "int8") == "int8"
        scalar = models.ScalarQuantizationConfig(type=models.ScalarType.INT8, always_ram=True)
        try:
            self._client.create_collection(
                collection.name,
                vectors_config={
                    DENSE: models.VectorParams(
                        size=collection.dimensions,
                        distance=models.Distance.COSINE,
                        on_disk=wanted.get("on_disk") == "vectors",
                    )
                },
                sparse_vectors_config={WORDS: models.SparseVectorParams()},
                # No global graph, but one for each namespace.
                hnsw_config=models.HnswConfigDiff(
                    m=0,
                    payload_m=wanted.get("m", DEFAULT_M),
                    ef_construct=wanted.get("ef_construct", 100),
                ),
                quantization_config=(
                    models.ScalarQuantization(scalar=scalar) if quantised else None
                ),
                shard_number=wanted.get("shards"),
                replication_factor=wanted.get("replicas"),
                write_consistency_factor=1,
                on_disk_payload=True,
                timeout=int(self._write_seconds),
            )
        except self._qdrant.http.exceptions.UnexpectedResponse as error:
            if error.status_code != 409:  # else another process was faster
                raise
        self._index_fields(collection)

    def _index_fields(self, collection: StoreCollection) -> None:
        models = self._models
        keyword, number = models.KeywordIndexParams, models.FloatIndexParams
        indexes: dict[str, Any] = {
            name: keyword(type=models.KeywordIndexType.KEYWORD, is_tenant=name == NAMESPACE)
            for name in KEYWORDS
        }
        indexes |= {name: number(type=models.FloatIndexType.FLOAT) for name in NUMBERS}
        for name, schema in indexes.items():
            self._client.create_payload_index(
                collection.name, field_name=name, field_schema=schema, wait=True
            )

    def drop(self, collection: StoreCollection) -> None:
        with self._answering():
            if self._client.collection_exists(collection.name):
                self._client.delete_collection(collection.name, timeout=int(self._write_seconds))

    def health(self) -> StoreHealth:
        try:
            with self._answering():
                return StoreHealth(is_up=True, version=str(self._client.info().version))
        except StoreFailed as error:
            return StoreHealth(is_up=False, problem=str(error))

    def _upsert(self, collection: StoreCollection, points: Sequence[StoredPoint]) -> None:
        with self._answering():
            self._client.upsert(
                collection.name, points=[self._point(point) for point in points], wait=True
            )

    def _point(self, point: StoredPoint) -> Any:
        words = self._sparse(point.words)
        return self._models.PointStruct(
            id=str(point.id),
            vector={DENSE: point.vector.tolist(), WORDS: words},
            payload=dict(point.fields),
        )

    def _sparse(self, words: Mapping[int, float]) -> Any:
        return self._models.SparseVector(indices=list(words), values=list(words.values()))

    def _delete(self, collection: StoreCollection, conditions: Sequence[StoreCondition]) -> None:
        selector = self._models.FilterSelector(filter=self._filter(conditions))
        with self._answering():
            self._client.delete(collection.name, points_selector=selector, wait=True)

    def _search(
        self, collection: StoreCollection, question: StoreQuestion, *, seconds: float
    ) -> StoreFound:
        """Search both legs in one call."""
        models, where = self._models, self._filter(question.conditions)
        shared = {"filter": where, "limit": question.limit, "with_payload": False}
        asked = []
        if question.vector is not None:
            precise = models.QuantizationSearchParams(rescore=True, oversampling=OVERSAMPLING)
            ef = max(self._ef_search, question.limit)
            params = models.SearchParams(hnsw_ef=ef, quantization=precise)
            vector = list(question.vector)
            asked.append(models.QueryRequest(query=vector, using=DENSE, params=params, **shared))
        if question.words:
            sparse = self._sparse(question.words)
            asked.append(models.QueryRequest(query=sparse, using=WORDS, **shared))
        if not asked:
            return StoreFound()
        with self._answering():
            answers = self._client.query_batch_points(
                collection.name, requests=asked, timeout=_whole(seconds)
            )
        legs = iter(
            [(uuid.UUID(str(point.id)), float(point.score)) for point in answer.points]
            for answer in answers
        )
        dense = next(legs) if question.vector is not None else []
        return StoreFound(dense, next(legs, []))

    def _count(self, collection: StoreCollection, conditions: Sequence[StoreCondition]) -> int:
        with self._answering():
            counted = self._client.count(
                collection.name, count_filter=self._filter(conditions), exact=True
            )
        return int(counted.count)

    def _held(
        self, collection: StoreCollection, conditions: Sequence[StoreCondition]
    ) -> Iterator[uuid.UUID]:
        place: Any = None
        while True:
            with self._answering():
                records, place = self._client.scroll(
                    collection.name,
                    scroll_filter=self._filter(conditions),
                    limit=PAGE,
                    offset=place,
                    with_payload=False,
                    with_vectors=False,
                )
            yield from (uuid.UUID(str(record.id)) for record in records)
            if place is None:
                return

    def _filter(self, conditions: Sequence[StoreCondition]) -> Any:
        models = self._models
        must, must_not = [], []
        for condition in conditions:
            match condition:
                case AnyOf(field, values):
                    anything = models.MatchAny(any=list(values))
                    must.append(models.FieldCondition(key=field, match=anything))
                case AllOf(field, values):
                    must += [
                        models.FieldCondition(key=field, match=models.MatchValue(value=value))
                        for value in values
                    ]
                case NoneOf(field, values):
                    anything = models.MatchAny(any=list(values))
                    must_not.append(models.FieldCondition(key=field, match=anything))
                case Between(field, low, high):
                    bounds = models.Range(gte=low, lte=high)
                    must.append(models.FieldCondition(key=field, range=bounds))
        return models.Filter(must=must, must_not=must_not or None)

    @property
    def _client(self) -> Any:
        process = os.getpid()
        with self._lock:
            if process not in self._clients:
                self._clients[process] = self._qdrant.QdrantClient(
                    url=self._url,
                    api_key=self._key or None,
                    timeout=int(self._write_seconds),
                    # checking would call the server, and warn about every minor version
                    check_compatibility=False,
                )
            return self._clients[process]

    @contextmanager
    def _answering(self) -> Iterator[None]:
        """Convert any error of the client to StoreFailed, without an address or a key in it."""
        exceptions = self._qdrant.http.exceptions
        try:
            yield
        except exceptions.UnexpectedResponse as error:
            status = error.status_code
            if status in (400, 401, 403, 404, 422):
                raise StoreFailed(f"Qdrant refused a call with status {status}.") from error
            raise StoreFailed(f"Qdrant failed with status {status}.") from error
        except (exceptions.ResponseHandlingException, OSError) as error:
            raise StoreFailed("Qdrant did not answer, or not in time.") from error


def _whole(seconds: float) -> int:
    """Round up, because Qdrant's own deadline is in whole seconds."""
    return max(1, round(seconds))
