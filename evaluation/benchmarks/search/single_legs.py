"""Run each leg of a search separately in this process, for comparison with a whole request."""

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

TOP = 10
CANDIDATES = 100


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    value = work()
    return time.perf_counter() - started, value


@dataclass
class LegBench:
    """A loaded corpus, and each leg run separately in this process."""

    corpus: Any
    embedder: Any
    vectors: Any  # those with which the corpus was embedded
    tantivy: Any = None
    places: dict[uuid.UUID, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.places = {pk: row for row, pk in enumerate(self.corpus.ids)}

    def vector_of(self, text: str) -> list[float]:
        vector: list[float] = self.vectors.of([text])[0].tolist()
        return vector

    @contextmanager
    def inside(self) -> Iterator[Any]:
        from ragsite.database.tenancy import namespace

        with namespace(self.corpus.tenant.pk):
            yield self.corpus.tenant

    def scope(self, tags: Sequence[str] = ()) -> Any:
        from django.conf import settings

        from retrieval.candidates.scope import resolve
        from retrieval.requests import Filters
        from retrieval.search_context import read_index

        few = settings.SEARCH["exact_scan_rows"]
        index = read_index(self.corpus.tenant.pk)
        return resolve(Filters(tags=tuple(tags)), index, few=few)

    def near(self, vector: Sequence[float], scope: Any, *, exact_up_to: int | None = None) -> Any:
        from django.conf import settings

        from retrieval.candidates import dense

        rule = settings.SEARCH["exact_scan_rows"] if exact_up_to is None else exact_up_to
        return dense.find(
            vector,
            namespace_id=self.corpus.tenant.pk,
            profile=self.corpus.profile,
            scope=scope if exact_up_to is None else replace(scope, through_index=False),
            limit=CANDIDATES,
            exact_up_to=rule,
            ef_search=max(settings.SEARCH["ef_search"], CANDIDATES),
        )

    def lexical_leg(self, text: str, scope: Any, *, budget: int | None = None) -> Any:
        from django.conf import settings

        from documents.text.lexemes import parse_query
        from retrieval.candidates import lexical

        profile_id = self.corpus.profile.pk
        question = lexical.analyse(
            parse_query(text), namespace_id=self.corpus.tenant.pk, profile_id=profile_id
        )
        if question is None:
            raise SystemExit("The namespace's words have not been counted.")
        return lexical.find(
            question,
            profile_id=profile_id,
            scope=scope,
            limit=CANDIDATES,
            budget=budget or settings.SEARCH["lexical_budget"],
            enough=TOP,
        )

    def nearest(self, vector: Sequence[float], rows: np.ndarray | None = None) -> set[int]:
        """Return the exact nearest chunks, by numpy in single precision."""
        likeness = self.corpus.matrix @ np.asarray(vector, dtype=np.float32)
        if rows is not None:
            likeness = np.where(rows, likeness, -2)
        return set(np.argsort(-likeness, kind="stable")[:TOP].tolist())

    def rows_of(self, candidates: Sequence[Any]) -> set[int]:
        return {self.places[candidate.chunk_id] for candidate in candidates[:TOP]}


@contextmanager
def last_statement() -> Iterator[list[tuple[str, Any]]]:
    """Record the statements sent to the database; the last one is the leg's own."""
    from django.db import connection

    sent: list[tuple[str, Any]] = []

    def note(execute: Any, sql: str, parameters: Any, many: bool, context: Any) -> Any:
        sent.append((sql, parameters))
        return execute(sql, parameters, many, context)

    with connection.execute_wrapper(note):
        yield sent


def bare(sent: list[tuple[str, Any]]) -> float:
    """Return the seconds of the statement alone, repeated in the same transaction."""
    from django.db import connection

    with connection.cursor() as cursor:

        def run() -> None:
            cursor.execute(*sent[-1])
            cursor.fetchall()

        return timed(run)[0]
