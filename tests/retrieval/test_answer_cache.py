"""Which answers are the same, and which are not worth keeping."""

import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from django.core.cache import caches

from retrieval.cache.fingerprints import fingerprint
from retrieval.cache.results import search_cached
from retrieval.requests import Filters, SearchRequest, SearchResult

from .computations import Counting, answer

ONE, OTHER = uuid.UUID(int=1), uuid.UUID(int=2)
REQUEST = SearchRequest("how hot is the kiln?", filters=Filters(tags=("pottery",)))


@pytest.fixture(autouse=True)
def empty() -> Iterator[None]:
    yield
    caches["results"].clear()


def ask(
    compute: Callable[[], SearchResult],
    *,
    namespace_id: uuid.UUID = ONE,
    revision: int = 1,
    profile_id: int = 1,
    request: SearchRequest = REQUEST,
) -> str:
    return search_cached(namespace_id, revision, profile_id, request, compute)[1]


@pytest.mark.parametrize(
    "change",
    [
        {"namespace_id": OTHER},
        {"revision": 2},
        {"profile_id": 2},
        {"request": replace(REQUEST, query="how hot is the oven?")},
        {"request": replace(REQUEST, k=11)},
        {"request": replace(REQUEST, explain=True)},
        {"request": replace(REQUEST, filters=Filters())},
        {"request": replace(REQUEST, filters=Filters(tags=("pottery",), metadata={"a": 1}))},
    ],
)
def test_whatever_differs_is_asked_anew(change: dict[str, Any]):
    assert ask(Counting(answer())) == "miss"
    assert ask(Counting(answer()), **change) == "miss"
    assert ask(Counting(answer())) == "hit"


def test_a_change_of_settings_is_a_change_of_answers(settings: Any):
    ask(Counting(answer()))
    settings.SEARCH = {**settings.SEARCH, "candidates": 77}
    assert ask(Counting(answer())) == "miss"


def test_degraded_answers_are_given_but_not_kept():
    degraded = Counting(answer("lexical_only: embedding_failed"))
    assert [ask(degraded), ask(degraded)] == ["miss", "miss"]
    assert ask(Counting(answer())) == "miss"
    assert ask(Counting(answer())) == "hit"


def test_the_order_of_keys_does_not_matter_but_types_do():
    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    different = [1, 1.0, True, "1", None, [1], {"1": 1}, {1: 1}, ONE, str(ONE), "", b"".decode()]
    assert len({fingerprint(value) for value in different}) == len(different) - 1
    assert fingerprint("a", "b") != fingerprint("ab")
    assert fingerprint({1, 2}) == fingerprint({2, 1})


def test_odd_text_has_a_fingerprint_and_unknown_types_have_none():
    assert fingerprint("\ud800\x00") != fingerprint("\ud801\x00")
    with pytest.raises(TypeError, match="object cannot be part"):
        fingerprint(object())
