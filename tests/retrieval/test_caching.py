"""Caches: computed once, kept for a while, apart by tenant and revision, never in the way."""

import pickle
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import caches

from ragsite.platform.memory_cache import MemoryCache
from ragsite.platform.signed_bytes import SignedBytes
from retrieval.cache import results
from retrieval.cache import store as cache_store
from retrieval.cache.results import embed_query_cached, get_or_compute, search_cached
from retrieval.requests import Filters, SearchRequest

from ..redis_server import redis_server
from ..threads import at_once
from .computations import Counting, answer

ONE, OTHER = uuid.UUID(int=1), uuid.UUID(int=2)


@pytest.fixture(autouse=True)
def empty() -> Iterator[None]:
    yield
    cache_store._breaker.cache_clear()
    for alias in ("results", "queries"):
        if isinstance(caches[alias], MemoryCache):
            caches[alias].clear()


def redis_at(settings: Any, port: int, *, seconds: float = 10.0) -> None:
    entry = {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": f"redis://:hidden@127.0.0.1:{port}/0",
        "OPTIONS": {
            "serializer": "ragsite.platform.signed_bytes.SignedBytes",
            "socket_connect_timeout": seconds,
            "socket_timeout": seconds,
        },
    }
    settings.CACHES = {**settings.CACHES, "results": entry, "queries": entry}


@pytest.fixture
def redis(settings: Any, tmp_path: Path) -> Iterator[None]:
    """A real TCP server that speaks Redis; Redis itself or Valkey where it is installed."""
    with redis_server(tmp_path) as port:
        redis_at(settings, port)
        settings.CACHES["results"]["LOCATION"] = f"redis://127.0.0.1:{port}/0"
        settings.CACHES["queries"]["LOCATION"] = f"redis://127.0.0.1:{port}/0"
        yield
        for alias in ("results", "queries"):
            caches[alias].close()


@pytest.fixture
def closed_port(settings: Any) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    redis_at(settings, port)


@pytest.fixture(params=["memory", "redis"])
def anywhere(request: pytest.FixtureRequest) -> None:
    if request.param == "redis":
        request.getfixturevalue("redis")


# -- once, and then from the cache -------------------------------------------------


@pytest.mark.usefixtures("anywhere")
def test_what_was_computed_is_kept():
    compute = Counting({"a": [1.5, None]})
    assert get_or_compute("results", "k", 60, compute) == ({"a": [1.5, None]}, "miss")
    assert get_or_compute("results", "k", 60, compute) == ({"a": [1.5, None]}, "hit")
    assert compute.times == 1


@pytest.mark.usefixtures("anywhere")
def test_sixteen_at_once_compute_once():
    compute = Counting(seconds=0.3)
    outcomes = at_once(16, lambda n: get_or_compute("results", "k", 60, compute))
    assert compute.times == 1
    assert [value for value, _ in outcomes] == [42] * 16
    assert sorted(state for _, state in outcomes) == ["hit"] * 15 + ["miss"]


@pytest.mark.usefixtures("anywhere")
def test_different_keys_do_not_wait_for_each_other():
    together = threading.Barrier(4)

    def compute() -> int:
        together.wait(timeout=20)  # passes only if all four are computing
        return 42

    outcomes = at_once(4, lambda n: get_or_compute("results", f"k{n}", 60, compute))
    assert outcomes == [(42, "miss")] * 4


@pytest.mark.usefixtures("anywhere")
def test_an_error_reaches_all_who_wait_and_the_next_one_tries_again(
    monkeypatch: pytest.MonkeyPatch,
):
    compute = Counting(ValueError("no"), seconds=0.2)

    def call(number: int) -> str:
        try:
            get_or_compute("results", "k", 60, compute)
        except ValueError:
            return "error"
        return "value"

    assert at_once(8, call) == ["error"] * 8
    assert compute.times == 1
    with monkeypatch.context() as patch:  # no lock was left behind to wait for
        patch.setattr(results.time, "sleep", lambda seconds: pytest.fail("It waited."))
        assert get_or_compute("results", "k", 60, lambda: 1) == (1, "miss")


def test_an_entry_ends_with_its_time():
    compute = Counting()
    get_or_compute("results", "k", 0.1, compute)
    time.sleep(0.15)
    assert get_or_compute("results", "k", 60, compute)[1] == "miss"


@pytest.mark.usefixtures("redis")
def test_an_entry_in_redis_ends_with_its_time():
    compute = Counting()
    get_or_compute("results", "k", 1, compute)
    assert get_or_compute("results", "k", 1, compute)[1] == "hit"
    time.sleep(1.2)
    assert get_or_compute("results", "k", 1, compute)[1] == "miss"


def test_no_time_at_all_keeps_nothing():
    compute = Counting()
    assert [get_or_compute("results", "k", 0, compute)[1] for _ in range(2)] == ["miss", "miss"]


@pytest.mark.usefixtures("anywhere")
def test_what_is_not_worth_keeping_is_not_kept():
    compute = Counting()
    for _ in range(2):
        outcome = get_or_compute("results", "k", 60, compute, cacheable=lambda value: False)
        assert outcome == (42, "miss")


def test_in_the_process_itself_what_is_kept_is_not_copied():
    kept = ["anything"]
    assert get_or_compute("results", "whole", 60, lambda: kept)[0] is kept
    assert get_or_compute("results", "whole", 60, list)[0] is kept


def test_memory_is_bounded_by_number_and_by_size():
    assert caches["results"]._max_entries * cache_store.MAX_ENTRY_BYTES <= 100 * 2**20
    large = Counting("x" * (cache_store.MAX_ENTRY_BYTES + 1))
    get_or_compute("results", "large", 60, large)
    assert get_or_compute("results", "large", 60, large)[1] == "miss"
    for number in range(500):
        get_or_compute("results", f"k{number}", 60, Counting())
    assert len(caches["results"]._cache) <= caches["results"]._max_entries


def test_who_waits_too_long_computes_alone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(results, "WAIT_SECONDS", 0.1)
    release = threading.Event()
    stuck = threading.Thread(target=get_or_compute, args=("results", "k", 60, release.wait))
    stuck.start()
    time.sleep(0.05)
    assert get_or_compute("results", "k", 60, Counting("mine"))[0] == "mine"
    release.set()
    stuck.join()


def test_a_computation_that_times_out_is_not_taken_for_waiting():
    compute = Counting(TimeoutError("the work"), seconds=0.2)

    def call(number: int) -> str:
        with pytest.raises(TimeoutError, match="the work"):
            get_or_compute("results", "k", 60, compute)
        return "raised"

    assert at_once(4, call) == ["raised"] * 4
    assert compute.times == 1


def test_those_who_wait_for_someone_stopped_go_on_alone():
    stopped = Counting(SystemExit(), seconds=0.2)
    first = threading.Thread(target=lambda: _quietly(stopped))
    first.start()
    time.sleep(0.05)
    assert get_or_compute("results", "k", 60, Counting("mine")) == ("mine", "miss")
    first.join()


def _quietly(compute: Counting) -> None:
    with pytest.raises(SystemExit):
        get_or_compute("results", "k", 60, compute)


@pytest.mark.usefixtures("redis")
def test_threads_share_their_connections_to_redis():
    at_once(1, lambda n: get_or_compute("results", "k", 60, Counting()))
    first = cache_store.CacheStore("results")._cache
    (second,) = at_once(1, lambda n: cache_store.CacheStore("results")._cache)
    assert first is second


# -- between processes ---------------------------------------------------------------


@pytest.mark.usefixtures("redis")
def test_another_process_is_waited_for():
    """Two processes share a Redis, not their flights."""
    compute = Counting(seconds=0.4)

    def process(number: int) -> tuple[int, str]:
        store = cache_store.CacheStore("results")
        return results._get_or_compute(store, "k", 60, compute, lambda value: True)

    assert sorted(at_once(3, process)) == [(42, "hit"), (42, "hit"), (42, "miss")]
    assert compute.times == 1


@pytest.mark.usefixtures("redis")
def test_a_process_that_died_while_computing_holds_nobody_up_for_long(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(results, "WAIT_SECONDS", 0.3)
    assert cache_store.CacheStore("results").lock("k")  # and never unlocks
    assert get_or_compute("results", "k", 60, Counting()) == (42, "miss")


@pytest.mark.usefixtures("redis")
def test_only_the_holder_of_a_lock_releases_it():
    holder, other = cache_store.CacheStore("results"), cache_store.CacheStore("results")
    assert holder.lock("k")
    assert not other.lock("k")
    other.unlock("k")
    assert not other.lock("k")
    holder.unlock("k")
    assert other.lock("k")


# -- a cache that is away --------------------------------------------------------------


@pytest.mark.usefixtures("closed_port")
def test_a_cache_that_is_down_is_a_miss_and_not_an_error(
    caplog: pytest.LogCaptureFixture,
):
    before = cache_store.counts["results.down"]
    compute = Counting()
    for _ in range(20):
        assert get_or_compute("results", "k", 60, compute) == (42, "down")
    assert compute.times == 20
    assert cache_store.counts["results.down"] == before + 20
    (record,) = [r for r in caplog.records if r.message == "cache.down"]  # once, not twenty times
    assert record.levelname == "WARNING"
    assert "hidden" not in str(vars(record))


@pytest.mark.usefixtures("closed_port")
def test_a_stampede_without_a_cache_still_computes_once():
    compute = Counting(seconds=0.3)
    assert at_once(16, lambda n: get_or_compute("results", "k", 60, compute)) == [(42, "down")] * 16
    assert compute.times == 1


def test_a_cache_that_never_answers_costs_little(settings: Any):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(8)
        redis_at(settings, silent.getsockname()[1], seconds=0.25)
        assert get_or_compute("results", "k", 60, Counting()) == (42, "down")


@pytest.mark.usefixtures("redis")
def test_a_cache_that_comes_back_is_used_again():
    breaker = cache_store._breaker("results")
    breaker.failed()
    assert get_or_compute("results", "k", 60, Counting())[1] == "down"
    breaker.worked()  # as after its pause
    assert get_or_compute("results", "k", 60, Counting())[1] == "miss"
    assert get_or_compute("results", "k", 60, Counting())[1] == "hit"


# -- values that are not ours -----------------------------------------------------------


class Bomb:
    def __reduce__(self) -> Any:
        return (pytest.fail, ("code from the cache was run",))


@pytest.mark.usefixtures("redis")
@pytest.mark.parametrize("planted", [pickle.dumps(Bomb()), b"", b"x" * 100, b"17"])
def test_nothing_planted_in_redis_is_unpickled(planted: bytes):
    cache = caches["results"]
    cache._cache.get_client(None, write=True).set(cache.make_key("k"), planted)
    assert get_or_compute("results", "k", 60, Counting()) == (42, "miss")


def test_a_value_signed_with_another_secret_is_a_miss(settings: Any):
    packed = SignedBytes().dumps(b"a")
    assert SignedBytes().loads(packed) == b"a"
    settings.SECRET_KEY = "another"
    assert SignedBytes().loads(packed) is None


@pytest.mark.usefixtures("redis")
@pytest.mark.parametrize("planted", [pickle.dumps(Bomb()), b"", b"17", b'["k"]', b'["k", 1, 2]'])
def test_signed_entries_of_another_release_are_misses(planted: bytes):
    caches["results"].set("k", planted)
    assert get_or_compute("results", "k", 60, Counting()) == (42, "miss")


def test_what_json_cannot_hold_is_not_kept():
    compute = Counting({"number": 2**70})
    assert [get_or_compute("results", "k", 60, compute)[1] for _ in range(2)] == ["miss", "miss"]


@pytest.mark.usefixtures("anywhere")
def test_an_entry_moved_to_another_key_is_not_believed():
    get_or_compute("results", "theirs", 60, Counting("theirs"))
    caches["results"].set("mine", caches["results"].get("theirs"))
    assert get_or_compute("results", "mine", 60, Counting("mine")) == ("mine", "miss")


# -- answers and query vectors --------------------------------------------------------------


@pytest.mark.usefixtures("anywhere")
def test_the_same_question_is_answered_from_the_cache():
    compute = Counting(answer())
    request = SearchRequest("how hot is the kiln?", filters=Filters(tags=("pottery",)))
    assert search_cached(ONE, 1, 1, request, compute) == (answer(), "miss")
    assert search_cached(ONE, 1, 1, replace(request), compute) == (answer(), "hit")
    assert compute.times == 1


@pytest.mark.usefixtures("anywhere")
def test_a_query_is_embedded_once_by_each_model_and_tenant():
    compute = Counting((0.5, -0.25))

    def vector(identity: str = "m/1", query: str = "kiln", tenant: uuid.UUID = ONE) -> Any:
        return embed_query_cached(identity, query, compute, namespace_id=tenant)

    assert vector() == ([0.5, -0.25], "miss")
    assert vector() == ([0.5, -0.25], "hit")
    assert [vector(identity="m/2")[1], vector(query="Kiln")[1]] == ["miss", "miss"]
    assert vector(tenant=OTHER)[1] == "miss"  # a hit would tell what the other one asked
    assert compute.times == 4


def test_many_who_ask_the_same_embed_once():
    compute = Counting((0.5,), seconds=0.2)
    at_once(16, lambda n: embed_query_cached("m", "q", compute, namespace_id=ONE))
    assert compute.times == 1
