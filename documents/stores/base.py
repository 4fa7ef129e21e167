"""The interface of a search store: both legs, filters and tenants.

A store receives chunks and returns their ids. `within` adds the namespace to every condition, so
that no engine decides whose chunks it returns.
"""

import socket
import ssl
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from documents.errors import IngestError
from documents.providers.deadline import DeadlineExceeded, DeadlineRunner, NoCapacity

Vector: TypeAlias = NDArray[np.float32]
Words: TypeAlias = Mapping[int, float]  # a sparse vector: the position of each word, and its weight
Value: TypeAlias = str | float
Fields: TypeAlias = Mapping[str, Value | Sequence[str]]

NAMESPACE = "namespace"
DOCUMENT = "document"
SYNC = "sync"  # the claim (outbox.py) by which a point was written last
# The fields of a chunk besides its vectors, by which every engine can filter.
LISTS = ("tags", "collections", "facets")
KEYWORDS = (NAMESPACE, DOCUMENT, SYNC, "source_type", "language", "kind", *LISTS)
NUMBERS = ("dated_at",)


class StoreFailed(IngestError):
    """The store did not respond, or not in time. A retry may help."""

    code = "store_unavailable"


class StoreMisfit(IngestError):
    """The store or its content does not fit the profile: an operator has to change something."""

    code = "store_misfit"
    is_final = True


@dataclass(frozen=True, slots=True)
class AnyOf:
    """The field, or one of its values, is one of these."""

    field: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AllOf:
    field: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NoneOf:
    field: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Between:
    """The number is at least `low` and at most `high`."""

    field: str
    low: float | None = None
    high: float | None = None


StoreCondition: TypeAlias = AnyOf | AllOf | NoneOf | Between


@dataclass(frozen=True, slots=True)
class StoreCollection:
    """The place of a profile's chunks in a store, and the store's options."""

    name: str
    dimensions: int
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StoredPoint:
    """A chunk as stored in a store, without its text."""

    id: uuid.UUID
    vector: Vector
    words: Words
    fields: Fields


@dataclass(frozen=True, slots=True)
class StoreQuestion:
    """A search. A leg without a vector or words is not searched."""

    vector: Sequence[float] | None
    words: Words | None
    limit: int  # number of results of each leg
    conditions: tuple[StoreCondition, ...] = ()  # all of them must hold


@dataclass(frozen=True, slots=True)
class StoreFound:
    """Ids with scores, best first: cosine similarity, and BM25."""

    dense: Sequence[tuple[uuid.UUID, float]] = ()
    words: Sequence[tuple[uuid.UUID, float]] = ()
    mark: str = ""  # of the collection, at the time of the search (marks.py)


@dataclass(frozen=True, slots=True)
class StoreHealth:
    is_up: bool
    version: str = ""
    problem: str = ""
    advice: str = ""  # it works, and somebody should know this


def within(
    namespace_id: uuid.UUID, conditions: Sequence[StoreCondition] = ()
) -> tuple[StoreCondition, ...]:
    """Add the namespace to the conditions. Every search, count and deletion goes through here."""
    return (AnyOf(NAMESPACE, (str(namespace_id),)), *conditions)


# Simultaneous searches, including those that were abandoned.
_searches = DeadlineRunner(capacity=64)


class SearchStore(ABC):
    """One server or cluster. Methods raise StoreFailed if it does not respond.

    Safe to use from several threads. What was written can be found when the call returns.
    """

    carries_words: ClassVar[bool] = True  # False: only vectors
    options: ClassVar[Mapping[str, tuple[int, int] | tuple[str, ...]]] = {}  # of a collection

    def upsert(
        self,
        collection: StoreCollection,
        namespace_id: uuid.UUID,
        points: Sequence[StoredPoint],
        *,
        sync: str = "",
    ) -> None:
        """Add points; a point with the same id is replaced."""
        if points:
            ours = {NAMESPACE: str(namespace_id), SYNC: sync}
            owned = [replace(point, fields={**point.fields, **ours}) for point in points]
            self._upsert(collection, owned)

    def delete(
        self,
        collection: StoreCollection,
        namespace_id: uuid.UUID,
        documents: Sequence[uuid.UUID] | None,
        *,
        but_sync: str = "",
    ) -> None:
        """Delete the points of these documents, or all of the namespace with None, except those
        that this sync has written."""
        kept = (NoneOf(SYNC, (but_sync,)),) if but_sync else ()
        self._delete(collection, within(namespace_id, (*_of(documents), *kept)))

    def search(
        self,
        collection: StoreCollection,
        namespace_id: uuid.UUID,
        question: StoreQuestion,
        *,
        seconds: float,
    ) -> StoreFound:
        """Search; raises StoreFailed after this time, whatever the engine's client does."""
        asked = replace(question, conditions=within(namespace_id, question.conditions))
        try:
            return _searches.run(
                lambda: self._search(collection, asked, seconds=seconds),
                deadline=time.monotonic() + seconds,
            )
        except (DeadlineExceeded, NoCapacity) as error:
            raise StoreFailed("The store did not answer in time.") from error

    def count(
        self,
        collection: StoreCollection,
        namespace_id: uuid.UUID,
        documents: Sequence[uuid.UUID] | None = None,
    ) -> int:
        return self._count(collection, within(namespace_id, _of(documents)))

    def held(self, collection: StoreCollection, namespace_id: uuid.UUID) -> Iterator[uuid.UUID]:
        """Yield the ids of all points of the namespace, in any order."""
        return self._held(collection, within(namespace_id))

    def accepts(self, condition: StoreCondition) -> bool:
        """Whether the engine can check this condition; others are checked afterwards."""
        return True

    def separate(self, collection: StoreCollection, namespace_id: uuid.UUID) -> None:
        """Keep a large namespace apart from the others, from now on. What the store held of it has
        to be written again. Raises StoreMisfit where that cannot be done."""
        raise StoreMisfit("This store cannot keep a namespace apart from the others.")

    @abstractmethod
    def prepare(self, collection: StoreCollection) -> None:
        """Create the collection unless it exists. Raises StoreMisfit if a different one exists."""

    @abstractmethod
    def mark(self, collection: StoreCollection) -> str | None:
        """Return the collection's mark; "" if it has none, None if there is no collection."""

    @abstractmethod
    def set_mark(self, collection: StoreCollection, mark: str) -> None: ...

    @abstractmethod
    def drop(self, collection: StoreCollection) -> None:
        """Delete the collection if it exists."""

    @abstractmethod
    def health(self) -> StoreHealth:
        """Never raises."""

    @abstractmethod
    def _upsert(self, collection: StoreCollection, points: Sequence[StoredPoint]) -> None: ...

    @abstractmethod
    def _delete(
        self, collection: StoreCollection, conditions: Sequence[StoreCondition]
    ) -> None: ...

    @abstractmethod
    def _search(
        self, collection: StoreCollection, question: StoreQuestion, *, seconds: float
    ) -> StoreFound: ...

    @abstractmethod
    def _count(self, collection: StoreCollection, conditions: Sequence[StoreCondition]) -> int: ...

    @abstractmethod
    def _held(
        self, collection: StoreCollection, conditions: Sequence[StoreCondition]
    ) -> Iterator[uuid.UUID]: ...


def _of(documents: Sequence[uuid.UUID] | None) -> tuple[StoreCondition, ...]:
    return () if documents is None else (AnyOf(DOCUMENT, tuple(map(str, documents))),)


def cause_of(error: BaseException) -> str:
    """Why a server was not reached, as an operator needs it; no address."""
    causes = [error]
    while (inner := getattr(error, "source", None) or error.__cause__ or error.__context__) and (
        inner not in causes
    ):
        causes.append(inner)
        error = inner
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return "its certificate is not trusted (SSL_CERT_FILE names those that are)"
        if isinstance(cause, ConnectionRefusedError):
            return "nothing listens at its address"
        if isinstance(cause, socket.gaierror):
            return "the name of its host is unknown"
    if any("timeout" in type(cause).__name__.lower() for cause in causes):
        return "not in time"
    return "the connection failed or broke off"


def option_errors(store: type[SearchStore] | SearchStore, options: Any) -> str:
    """Return what is wrong with a profile's options for the store; "" if they are valid."""
    if not isinstance(options, dict):
        return "An object, such as {}."
    for name, value in options.items():
        allowed = store.options.get(name)
        if allowed is None:
            return f"The store has no option {str(name)!r}."
        if isinstance(allowed[0], str):
            if value not in allowed:
                return f"{name}: one of {', '.join(map(str, allowed))}."
        elif type(value) is not int or not allowed[0] <= value <= int(allowed[1]):
            return f"{name}: a whole number from {allowed[0]} to {allowed[1]}."
    return ""
