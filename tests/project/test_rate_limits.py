"""Limits on requests: by key and class of route, shared by all, and on wrong keys by address."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import ProgrammingError, connection, connections
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from documents import housekeeping
from documents.accounts import keys
from documents.models import ApiKey, Namespace
from ragsite.access import rate_counters, rate_limits
from ragsite.access.client_address import client_address, network_of
from ragsite.access.rate_limits import BY_METHOD, RATE_CLASSES, Count, admission
from ragsite.database.tenancy import operator
from ragsite.platform.breaker import Breaker
from ragsite.service import programs

from ..client import Api
from ..redis_server import redis_server
from .service import free_port

WRONG = f"rs_{'0' * 12}_{'x' * 43}"
METHODS = ("get", "post", "put", "patch", "delete")
OPEN_ROUTES = ("", "admin/", "api/schema", "api/docs", "livez", "readyz", "metrics")
# For people, who sign in or hold a link.
PAGES = ("admin/", "ask/", "library", "d/", "s/", "sign-in", "sign-out")


@pytest.fixture
def redis(settings: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setattr(rate_counters, "_breaker", Breaker(failures=1, pause=5.0))
    monkeypatch.setattr(rate_counters, "TIMEOUT_SECONDS", 30.0)  # a busy machine is not Redis down
    with redis_server(tmp_path) as port:
        settings.CACHE_URL = f"redis://127.0.0.1:{port}/0"
        yield


@pytest.fixture
def broken_redis(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.CACHE_URL = f"redis://:hidden@127.0.0.1:{free_port()}/0"
    monkeypatch.setattr(rate_counters, "_breaker", Breaker(failures=1, pause=5.0))


@pytest.fixture(params=["postgres", "redis"])
def store(request: pytest.FixtureRequest, db: None) -> str:
    if request.param == "redis":
        request.getfixturevalue("redis")
    return str(request.param)


@pytest.fixture
def limited(client: Client, tenant: Namespace) -> Callable[..., Api]:
    def create(scopes: tuple[str, ...] = ("read", "write"), **limits: int) -> Api:
        with operator():
            return Api(client, keys.issue(tenant, scopes=scopes, limits=limits)[1])

    return create


def counted() -> dict[str, int]:
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT bucket, current + previous FROM documents_requestcount")
        return dict(cursor.fetchall())


# -- keys ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("store")
def test_a_key_over_its_limit_gets_429_and_is_told_when_to_come_back(limited: Callable[..., Api]):
    api = limited(read=3)
    answers = [api.get("documents") for _ in range(5)]
    assert [answer.status for answer in answers] == [200, 200, 200, 429, 429]
    left = [answer.headers["RateLimit-Remaining"] for answer in answers]
    assert left == ["2", "1", "0", "0", "0"]
    refused = answers[-1]
    assert refused.code == "rate_limited"
    assert refused.body["error"]["details"] == {"class": "read", "limit": 3, "window_seconds": 60}
    assert refused.body["error"]["request_id"] == refused.headers["X-Request-ID"]
    assert 1 <= int(refused.headers["Retry-After"]) <= 120
    assert refused.headers["RateLimit-Reset"] == refused.headers["Retry-After"]
    for answer in answers:
        assert answer.headers["RateLimit-Limit"] == "3"
        assert answer.headers["RateLimit-Policy"] == '3;w=60;name="read"'
        assert 1 <= int(answer.headers["RateLimit-Reset"]) <= 120


@pytest.mark.usefixtures("store")
def test_keys_and_classes_do_not_use_up_each_others_limits(limited: Callable[..., Api]):
    api, other = limited(read=1, search=1), limited(read=1)
    assert [api.get("jobs").status for _ in range(2)] == [200, 429]
    assert [api.query("lights").status for _ in range(2)] == [200, 429]
    assert api.upload(("a.md", "# A\n\nWords.")).status == 202
    assert other.get("jobs").status == 200


@pytest.mark.usefixtures("store")
def test_callers_at_once_share_one_limit_exactly(limited: Callable[..., Api]):
    api = limited(read=10)
    Client().get("/livez")  # loads the middleware once

    def call(_: int) -> int:
        try:
            return Api(Client(), api.key).get("profiles").status
        finally:
            connections.close_all()

    with ThreadPoolExecutor(6) as threads:
        statuses = list(threads.map(call, range(24)))
    assert (statuses.count(200), statuses.count(429)) == (10, 14)


def test_the_installations_limits_hold_where_a_key_has_none_of_its_own(
    limited: Callable[..., Api], settings: Any
):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "read": 1, "search": 1}
    usual, unlimited = limited(), limited(read=0)
    assert [usual.get("jobs").status for _ in range(2)] == [200, 429]
    answers = [unlimited.get("jobs") for _ in range(4)]
    assert {answer.status for answer in answers} == {200}
    assert not [name for name in answers[0].headers if name.startswith("RateLimit")]
    assert [unlimited.query("lights").status for _ in range(2)] == [200, 429]


def test_cached_answers_and_errors_count_too(limited: Callable[..., Api], work: Callable[[], int]):
    limited().upload(("a.md", "# Harbour\n\nTwelve lights."))
    work()
    api = limited(search=4)
    asked = [api.query("lights") for _ in range(3)]
    assert asked[-1].body["diagnostics"]["cache"] == "hit"
    assert api.post("query", {"nonsense": True}).status == 422
    assert api.query("lights").code == "rate_limited"


def test_a_request_that_is_turned_away_does_not_count(limited: Callable[..., Api]):
    api = limited(read=2)
    assert [api.get("jobs").status for _ in range(20)][2:] == [429] * 18
    assert [n for bucket, n in counted().items() if bucket.startswith("key/")] == [2]


def test_requests_pass_again_when_the_window_has_moved_on(
    limited: Callable[..., Api], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(rate_limits, "WINDOW_SECONDS", 0.5)
    api = limited(read=2)
    assert 429 in [api.get("profiles").status for _ in range(20)]
    time.sleep(1.1)
    assert api.get("profiles").status == 200


def test_old_counts_are_forgotten_and_young_ones_kept(limited: Callable[..., Api]):
    limited().get("jobs")
    with connections["owner"].cursor() as cursor:
        cursor.execute(
            "INSERT INTO documents_requestcount VALUES ('old', 1, 0, 9, now() - interval '1 s')"
        )
    housekeeping.tidy()
    assert "old" not in counted()
    assert len(counted()) == 1


@pytest.mark.usefixtures("db")
def test_the_application_role_can_count_but_not_change_what_is_counted():
    for statement in (
        "SELECT * FROM documents_requestcount",
        "DELETE FROM documents_requestcount",
        "UPDATE documents_requestcount SET current = 0",
    ):
        with (
            pytest.raises(ProgrammingError, match="permission denied"),
            connection.cursor() as cursor,
        ):
            cursor.execute(statement)


def test_whoever_knows_only_a_keys_prefix_cannot_use_up_its_limit(limited: Callable[..., Api]):
    api = limited(read=1)
    forged = Api(api.client, f"{api.key[:-43]}{'x' * 43}")
    assert [forged.get("jobs").code for _ in range(3)] == ["invalid_key"] * 3
    assert api.get("jobs").status == 200


def test_a_database_clock_that_was_set_back_locks_nobody_out(db: None):
    window = int(time.time() // 60)
    with connections["owner"].cursor() as cursor:
        cursor.execute(
            "INSERT INTO documents_requestcount VALUES ('b', %s, 9, 9, now())", [window + 500]
        )
    assert rate_counters.count_in_postgres("b", 5).is_allowed


# -- what a caller is told -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "count", "remaining", "reset"),
    [
        (10, Count(True, 0, 1, 0.5), 9, 30),
        (10, Count(True, 10, 3, 0.5), 2, 30),
        (10, Count(False, 10, 5, 0.4), 0, 12),  # 10 · (1 − 0.6) + 6 = 10
        (10, Count(False, 0, 10, 0.5), 0, 36),  # half a minute, and until one of ten has faded
        (1, Count(False, 0, 1, 0.0), 0, 120),
    ],
)
def test_what_is_left_and_when_there_is_more(limit: int, count: Count, remaining: int, reset: int):
    told = admission("read", limit, count)
    assert (told.remaining, told.reset_seconds) == (remaining, reset)
    if not count.is_allowed:  # and then it really fits
        later = count.elapsed + reset / 60
        if later < 1:
            assert rate_limits.fits(count.previous, count.current + 1, later + 1e-9, limit)
        else:
            assert rate_limits.fits(count.current, 1, later - 1 + 1e-9, limit)


# -- Redis that is away ----------------------------------------------------------------------------


@pytest.mark.usefixtures("broken_redis")
def test_without_redis_postgres_counts_and_a_warning_says_so(
    limited: Callable[..., Api], caplog: pytest.LogCaptureFixture
):
    api = limited(read=2)
    assert [api.get("jobs").status for _ in range(4)] == [200, 200, 429, 429]
    warnings = [r for r in caplog.records if r.getMessage() == "rate_limits.redis_down"]
    assert len(warnings) == 1  # then it is left alone for some seconds
    assert "hidden" not in caplog.text


def test_with_redis_nothing_is_counted_in_postgres(redis: None, limited: Callable[..., Api]):
    assert limited(read=5).get("jobs").headers["RateLimit-Remaining"] == "4"
    assert counted() == {}


# -- wrong keys ------------------------------------------------------------------------------------


@pytest.mark.usefixtures("store")
def test_wrong_keys_are_slowed_down_by_address_and_valid_ones_are_not(api: Api, settings: Any):
    settings.WRONG_KEYS_PER_MINUTE = 3
    guesser = Api(api.client, WRONG)
    answers = [guesser.get("jobs") for _ in range(5)]
    assert [a.code for a in answers] == ["invalid_key"] * 3 + ["rate_limited"] * 2
    assert answers[-1].status == 429
    assert int(answers[-1].headers["Retry-After"]) >= 1
    assert Api(api.client, "nonsense").get("jobs").status == 429
    assert api.get("jobs").status == 200
    elsewhere = Client(REMOTE_ADDR="192.0.2.7")
    assert Api(elsewhere, WRONG).get("jobs").status == 401


def test_x_forwarded_for_is_believed_only_as_far_as_there_are_proxies(settings: Any, rf: Any):
    def seen(forwarded: str, proxies: int) -> str:
        settings.TRUSTED_PROXIES = proxies
        request = rf.get("/", REMOTE_ADDR="198.51.100.1", HTTP_X_FORWARDED_FOR=forwarded)
        return client_address(request)

    assert seen("203.0.113.9", 0) == "198.51.100.1"
    assert seen("6.6.6.6, 203.0.113.9", 1) == "203.0.113.9"
    assert seen("6.6.6.6, 203.0.113.9, 10.0.0.1", 2) == "203.0.113.9"
    assert seen("203.0.113.9", 2) == "198.51.100.1"  # one did not come through both
    assert seen("6.6.6.6, nonsense", 1) == "unknown"
    assert seen("::ffff:203.0.113.9", 1) == "203.0.113.9"
    assert "--no-proxy-headers" in programs.web().argv  # else uvicorn believes local clients


def test_an_ipv6_client_is_known_by_its_network():
    assert network_of("2001:db8:1:2:aaaa::1") == network_of("2001:db8:1:2:bbbb::2")
    assert network_of("2001:db8:1:2::1") != network_of("2001:db8:1:3::1")
    assert network_of("203.0.113.9") == "203.0.113.9"


# -- doors -----------------------------------------------------------------------------------------


def command(*arguments: str) -> str:
    out = StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def test_limits_are_set_and_shown_by_command(tenant: Namespace, client: Client):
    made = command("api_key", "create", "--namespace", tenant.slug, "--limits", "read=1,search=0")
    api = Api(client, made.strip())
    assert [api.get("jobs").status for _ in range(2)] == [200, 429]
    prefix = api.key.split("_")[1]
    assert "read\t1\tits own" in command("api_key", "limits", prefix)
    shown = command("api_key", "limits", prefix, "read=default", "agent=5")
    assert "read\t6000\tthe installation's" in shown
    assert "agent\t5\tits own" in shown
    assert "search\tno limit\tits own" in shown
    assert api.get("jobs").status == 200
    for wrong in ("reed=5", "read=many", "read=-1", "read"):
        with pytest.raises(CommandError):
            command("api_key", "limits", prefix, wrong)
    with pytest.raises(CommandError, match="no key with the prefix"):
        command("api_key", "limits", "nobody")


def test_limits_are_set_and_changed_in_the_admin_and_nothing_else_is(
    tenant: Namespace, boss: Client
):
    form = {"namespace": str(tenant.pk), "name": "ci", "scopes": ["read"]}
    add = "/admin/documents/apikey/add/"
    assert "no class" in boss.post(add, {**form, "limits": '{"reed": 1}'}).content.decode()
    assert boss.post(add, {**form, "limits": '{"read": 7}'}).status_code == 302
    with operator():
        key = ApiKey.objects.get()
    change = f"/admin/documents/apikey/{key.pk}/change/"
    sent = {"limits": '{"read": 8}', "name": "other", "scopes": ["admin"]}
    assert boss.post(change, sent).status_code == 302
    with operator():
        changed = ApiKey.objects.get()
    assert (key.limits, changed.limits) == ({"read": 7}, {"read": 8})
    assert (changed.name, changed.scopes, changed.prefix) == ("ci", ["read"], key.prefix)
    assert boss.post(change, {"limits": ""}).status_code == 302
    with operator():
        assert ApiKey.objects.get().limits == {}


# -- every route has a class -----------------------------------------------------------------------


def routes(patterns: list[Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for pattern in patterns:
        path = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, path)
        elif isinstance(pattern, URLPattern):
            yield path, pattern.callback


def test_every_route_that_takes_a_key_names_its_class():
    seen = 0
    for path, callback in routes(get_resolver().url_patterns):
        if path in OPEN_ROUTES or path.startswith(PAGES):
            continue
        view = getattr(callback, "cls", callback)
        named = getattr(view, "rate_class", None)
        assert named is not None, f"{path} has no rate_class"
        for method in METHODS:
            if isinstance(named, str) or hasattr(view, method):
                rate_class = named if isinstance(named, str) else named[method.upper()]
                assert rate_class in RATE_CLASSES, path
        seen += 1
    assert seen >= 25


def test_the_classes_of_routes_are_the_ones_documented(settings: Any):
    assert set(settings.RATE_LIMITS) == set(RATE_CLASSES)
    assert set(BY_METHOD.values()) <= set(RATE_CLASSES)
    assert settings.RATE_LIMITS["agent"] == 30
