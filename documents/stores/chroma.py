"""Chroma: a server, or embedded in this process. Requires requirements/chroma.txt.

It is used for vectors only: Chroma's open server does not search its own sparse vectors, so words
stay in PostgreSQL. Lists are stored as lists of metadata, which must not be empty.
"""

import os
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar
from urllib.parse import urlsplit

from .base import (
    LISTS,
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
)

PAGE = 1000  # ids per call, when all are read
DIMENSIONS, MARK = "dimensions", "mark"  # stored in the collection's metadata
EF_SEARCH = 200


class ChromaStore(SearchStore):
    """`url` is a server's address; `path` is a folder that only this process uses."""

    carries_words: ClassVar[bool] = False
    options: ClassVar[Mapping[str, tuple[int, int] | tuple[str, ...]]] = {
        "m": (4, 100),
        "ef_construct": (8, 1000),
    }

    def __init__(
        self, *, url: str = "", path: str = "", token: str = "", write_seconds: float = 30.0
    ) -> None:
        try:
            import chromadb
            import httpx
        except ImportError as error:
            raise StoreMisfit(
                "The chroma store needs its package: pip install -r requirements/chroma.txt"
            ) from error
        if bool(url) == bool(path):
            raise StoreMisfit("The chroma store needs either a url or a path.")
        self._chroma, self._httpx = chromadb, httpx
        self._url, self._path, self._token = url, path, token
        self._write_seconds = write_seconds
        self._lock = threading.Lock()
        self._clients: dict[int, Any] = {}  # by process, because connections do not survive a fork

    def prepare(self, collection: StoreCollection) -> None:
        wanted = collection.options
        hnsw = {
            "space": "cosine",
            "max_neighbors": wanted.get("m", 16),
            "ef_construction": wanted.get("ef_construct", 100),
            "ef_search": EF_SEARCH,
        }
        with self._answering():
            made = self._client.get_or_create_collection(
                collection.name,
                configuration={"hnsw": hnsw},
                metadata={DIMENSIONS: collection.dimensions},
                embedding_function=None,
            )
        size = (made.metadata or {}).get(DIMENSIONS)
        if size != collection.dimensions:
            raise StoreMisfit(
                f"Chroma's collection {collection.name!r} has vectors of {size} dimensions, and "
                f"{collection.dimensions} are needed. Was it made by something else?"
            )

    def drop(self, collection: StoreCollection) -> None:
        with self._answering(), self._unless_missing():
            self._client.delete_collection(collection.name)

    def mark(self, collection: StoreCollection) -> str | None:
        with self._answering():
            try:
                return _mark(self._open(collection))
            except self._chroma.errors.NotFoundError:
                return None

    def set_mark(self, collection: StoreCollection, mark: str) -> None:
        with self._answering():
            metadata = {DIMENSIONS: collection.dimensions, MARK: mark}
            self._open(collection).modify(metadata=metadata)

    def health(self) -> StoreHealth:
        try:
            with self._answering():
                return StoreHealth(is_up=True, version=str(self._client.get_version()))
        except StoreFailed as error:
            return StoreHealth(is_up=False, problem=str(error))

    def _upsert(self, collection: StoreCollection, points: Sequence[StoredPoint]) -> None:
        with self._answering():
            self._open(collection).upsert(
                ids=[str(point.id) for point in points],
                embeddings=[point.vector for point in points],
                metadatas=[_metadata(point) for point in points],
            )

    def _delete(self, collection: StoreCollection, conditions: Sequence[StoreCondition]) -> None:
        with self._answering():
            self._open(collection).delete(where=_where(conditions))

    def _search(
        self, collection: StoreCollection, question: StoreQuestion, *, seconds: float
    ) -> StoreFound:
        if question.vector is None:
            return StoreFound()
        with self._answering():
            try:
                opened = self._open(collection)
            except self._chroma.errors.NotFoundError:
                return StoreFound()  # and so no mark
            answer = opened.query(
                query_embeddings=[list(question.vector)],
                n_results=question.limit,
                where=_where(question.conditions),
                include=["distances"],
            )
        pairs = zip(answer["ids"][0], answer["distances"][0], strict=True)
        dense = [(uuid.UUID(key), 1.0 - float(distance)) for key, distance in pairs]
        return StoreFound(dense, mark=_mark(opened))

    def _count(self, collection: StoreCollection, conditions: Sequence[StoreCondition]) -> int:
        return sum(1 for _ in self._held(collection, conditions))

    def _held(
        self, collection: StoreCollection, conditions: Sequence[StoreCondition]
    ) -> Iterator[uuid.UUID]:
        where, start = _where(conditions), 0
        while True:
            with self._answering():
                opened = self._open(collection)
                page = opened.get(where=where, include=[], limit=PAGE, offset=start)["ids"]
            yield from map(uuid.UUID, page)
            if len(page) < PAGE:
                return
            start += PAGE

    def _open(self, collection: StoreCollection) -> Any:
        return self._client.get_collection(collection.name, embedding_function=None)

    @property
    def _client(self) -> Any:
        process = os.getpid()
        with self._lock:
            if process not in self._clients:
                self._clients[process] = self._connect()
            return self._clients[process]

    def _connect(self) -> Any:
        settings = self._chroma.Settings(anonymized_telemetry=False)
        if self._path:
            return self._chroma.PersistentClient(path=self._path, settings=settings)
        parts = urlsplit(self._url)
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else None
        client = self._chroma.HttpClient(
            host=parts.hostname or "localhost",
            port=parts.port or (443 if parts.scheme == "https" else 8000),
            ssl=parts.scheme == "https",
            headers=headers,
            settings=settings,
        )
        # The client's own timeout is infinite.
        client._server._session.timeout = self._httpx.Timeout(self._write_seconds)
        return client

    @contextmanager
    def _answering(self) -> Iterator[None]:
        """Convert any error of the client to StoreFailed, without an address or a token in it."""
        try:
            yield
        except (StoreFailed, StoreMisfit):
            raise
        except self._chroma.errors.ChromaError as error:
            raise StoreFailed(f"Chroma refused a call: {type(error).__name__}.") from error
        # ValueError is raised by the client if it cannot connect.
        except (self._httpx.HTTPError, OSError, ValueError) as error:
            raise StoreFailed(f"Chroma did not answer: {cause_of(error)}.") from error
        except Exception as error:  # what a proxy answers in its place is no answer of Chroma's
            raise StoreFailed("What answered is no Chroma, or it broke off.") from error

    @contextmanager
    def _unless_missing(self) -> Iterator[None]:
        try:
            yield
        except self._chroma.errors.NotFoundError:
            return


def _mark(opened: Any) -> str:
    return str((opened.metadata or {}).get(MARK, ""))


def _metadata(point: StoredPoint) -> dict[str, Any]:
    return {key: value for key, value in point.fields.items() if value != []}


def _where(conditions: Sequence[StoreCondition]) -> dict[str, Any]:
    parts = [part for condition in conditions for part in _parts(condition)]
    return parts[0] if len(parts) == 1 else {"$and": parts}


def _parts(condition: StoreCondition) -> Iterator[dict[str, Any]]:
    """Combine conditions, all of which must hold, in Chroma's syntax."""
    match condition:
        case AnyOf(field, values) if field in LISTS:
            either: list[dict[str, Any]] = [{field: {"$contains": value}} for value in values]
            yield either[0] if len(either) == 1 else {"$or": either}
        case AnyOf(field, values):
            yield {field: {"$in": list(values)}}
        case AllOf(field, values):
            yield from ({field: {"$contains": value}} for value in values)
        case NoneOf(field, values) if field in LISTS:
            yield from ({field: {"$not_contains": value}} for value in values)
        case NoneOf(field, values):
            yield {field: {"$nin": list(values)}}
        case Between(field, low, high):
            if low is not None:
                yield {field: {"$gte": low}}
            if high is not None:
                yield {field: {"$lte": high}}
