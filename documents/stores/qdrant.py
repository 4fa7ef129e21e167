"""Qdrant: a server or a cluster. Requires requirements/qdrant.txt.

A collection for each profile (qdrant_making.py). The words' impacts are in a sparse vector; the
question's sparse vector carries their IDF, so that the inner product is the BM25 score of the
tables. The collection's mark is the payload of a point of no namespace.
"""

import importlib.metadata
import os
import re
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from . import qdrant_making
from .base import (
    NAMESPACE,
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
    cause_of,
    within,
)
from .qdrant_making import DENSE, SHARED, WORDS, is_by_tenant

PAGE = 1000  # ids per call, when all are read
OVERSAMPLING = 3.0  # quantised candidates for each requested result
MARK, MARK_POINT = "mark", str(uuid.UUID(int=0))


class QdrantStore(SearchStore):
    """`url` is the address of a node, or of a load balancer in front of several."""

    options: ClassVar[Mapping[str, tuple[int, int] | tuple[str, ...]]] = {
        "quantization": ("int8", "none"),
        "shards": (1, 1000),
        "replicas": (1, 20),
        "m": (4, 100),
        "ef_construct": (8, 1000),
        "on_disk": ("vectors", "none"),
        "sharding": ("none", "tenants"),
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
            qdrant_making.make(self._client, collection, seconds=int(self._write_seconds))

    def separate(self, collection: StoreCollection, namespace_id: uuid.UUID) -> None:
        """Give the namespace shards of its own."""
        if not is_by_tenant(collection):
            raise StoreMisfit(
                "The profile's collection cannot give a namespace shards of its own: that takes "
                'a profile with the store option "sharding": "tenants", in a cluster.'
            )
        with self._answering():
            if str(namespace_id) not in qdrant_making.shard_keys(self._client, collection):
                qdrant_making.create_shards(self._client, collection, str(namespace_id))
            everything = self._models.FilterSelector(filter=self._filter(within(namespace_id)))
            self._client.delete(
                collection.name,
                points_selector=everything,
                shard_key_selector=SHARED,
                wait=True,
            )

    def _shards(self, collection: StoreCollection, namespace_id: str) -> Any:
        """The namespace's own shards, if it has some."""
        if not is_by_tenant(collection):
            return None
        return self._models.ShardKeyWithFallback(target=namespace_id, fallback=SHARED)

    def mark(self, collection: StoreCollection) -> str | None:
        with self._answering():
            # Asked by its own call: with 404 a proxy may say that it knows no server.
            if not self._client.collection_exists(collection.name):
                return None
            try:
                found = self._client.retrieve(
                    collection.name,
                    [MARK_POINT],
                    with_payload=[MARK],
                    shard_key_selector=SHARED if is_by_tenant(collection) else None,
                )
            except self._qdrant.http.exceptions.UnexpectedResponse as error:
                if error.status_code not in (400, 404):
                    raise
                return ""  # its making broke off before it had shards
        return _marked(found)

    def set_mark(self, collection: StoreCollection, mark: str) -> None:
        marked = self._models.PointStruct(id=MARK_POINT, vector={}, payload={MARK: mark})
        with self._answering():
            self._client.upsert(
                collection.name,
                points=[marked],
                wait=True,
                shard_key_selector=SHARED if is_by_tenant(collection) else None,
            )

    def drop(self, collection: StoreCollection) -> None:
        with self._answering():
            if self._client.collection_exists(collection.name):
                self._client.delete_collection(collection.name, timeout=int(self._write_seconds))

    def health(self) -> StoreHealth:
        try:
            with self._answering():
                version = str(self._client.info().version)
                client = importlib.metadata.version("qdrant-client")
                return StoreHealth(is_up=True, version=version, advice=skew(version, client))
        except StoreFailed as error:
            return StoreHealth(is_up=False, problem=str(error))

    def _upsert(self, collection: StoreCollection, points: Sequence[StoredPoint]) -> None:
        (owner,) = {str(point.fields[NAMESPACE]) for point in points}
        with self._answering():
            self._client.upsert(
                collection.name,
                points=[self._point(point) for point in points],
                wait=True,
                shard_key_selector=self._shards(collection, owner),
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
            self._client.delete(
                collection.name,
                points_selector=selector,
                wait=True,
                shard_key_selector=self._shards(collection, _tenant(conditions)),
            )

    def _search(
        self, collection: StoreCollection, question: StoreQuestion, *, seconds: float
    ) -> StoreFound:
        """Both legs and the mark in one call."""
        asked = list(self._legs(collection, question))
        if not asked:
            return StoreFound()
        models, by_tenant = self._models, is_by_tenant(collection)
        marked = models.Filter(must=[models.HasIdCondition(has_id=[MARK_POINT])])
        home = SHARED if by_tenant else None
        mark = models.QueryRequest(filter=marked, limit=1, with_payload=[MARK], shard_key=home)
        with self._answering():
            try:
                *answers, last = self._client.query_batch_points(
                    collection.name, requests=[*asked, mark], timeout=_whole(seconds)
                )
            except self._qdrant.http.exceptions.UnexpectedResponse as error:
                if error.status_code != 404:
                    raise
                return StoreFound()  # no collection, and so no mark
        legs = iter(
            [(uuid.UUID(str(point.id)), float(point.score)) for point in answer.points]
            for answer in answers
        )
        dense = next(legs) if question.vector is not None else []
        return StoreFound(dense, next(legs, []), _marked(last.points))

    def _legs(self, collection: StoreCollection, question: StoreQuestion) -> Iterator[Any]:
        models = self._models
        shared = {
            "filter": self._filter(question.conditions),
            "limit": question.limit,
            "with_payload": False,
            "shard_key": self._shards(collection, _tenant(question.conditions)),
        }
        if question.vector is not None:
            precise = models.QuantizationSearchParams(rescore=True, oversampling=OVERSAMPLING)
            ef = max(self._ef_search, question.limit)
            params = models.SearchParams(hnsw_ef=ef, quantization=precise)
            vector = list(question.vector)
            yield models.QueryRequest(query=vector, using=DENSE, params=params, **shared)
        if question.words:
            sparse = self._sparse(question.words)
            yield models.QueryRequest(query=sparse, using=WORDS, **shared)

    def _count(self, collection: StoreCollection, conditions: Sequence[StoreCondition]) -> int:
        with self._answering():
            counted = self._client.count(
                collection.name,
                count_filter=self._filter(conditions),
                exact=True,
                shard_key_selector=self._shards(collection, _tenant(conditions)),
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
                    shard_key_selector=self._shards(collection, _tenant(conditions)),
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
        except (StoreFailed, StoreMisfit):
            raise
        except exceptions.UnexpectedResponse as error:
            status = error.status_code
            if status in (401, 403):
                raise StoreFailed(
                    f"Qdrant refused the API key with status {status}: set QDRANT_API_KEY."
                ) from error
            what = "refused a call" if status in (400, 404, 422) else "failed"
            raise StoreFailed(f"Qdrant {what} with status {status}{_reason(error)}.") from error
        except (exceptions.ResponseHandlingException, OSError) as error:
            raise StoreFailed(f"Qdrant did not answer: {cause_of(error)}.") from error
        except Exception as error:  # what a proxy answers in its place is no answer of Qdrant's
            raise StoreFailed("What answered is no Qdrant, or it broke off.") from error


def _reason(error: Any) -> str:
    """Qdrant's own sentence, which names no address, if it is one."""
    try:
        sentence = error.structured()["status"]["error"]
    except Exception:
        return ""
    return f": {str(sentence).rstrip('.')[:200]}"


def _whole(seconds: float) -> int:
    """Round up, because Qdrant's own deadline is in whole seconds."""
    return max(1, round(seconds))


def _tenant(conditions: Sequence[StoreCondition]) -> str:
    """The namespace that `within` has put first."""
    match conditions[0]:
        case AnyOf(field, (tenant,)) if field == NAMESPACE:
            return tenant
    raise ValueError("The first condition names the namespace.")


def _marked(points: Sequence[Any]) -> str:
    """The mark that the one point carries; "" if there is none."""
    return str((points[0].payload or {}).get(MARK, "")) if points else ""


def skew(server: str, client: str) -> str:
    """Say so if they are further apart than Qdrant supports; "" if they are not."""
    found = [re.match(r"(\d+)\.(\d+)", version) for version in (server, client)]
    if not all(found):
        return ""
    (major, minor), (own_major, own_minor) = (map(int, one.groups()) for one in found if one)
    if major == own_major and abs(minor - own_minor) <= 1:
        return ""
    return (
        f"Qdrant {server} and qdrant-client {client} are more than one minor version apart, "
        "which Qdrant does not support."
    )
