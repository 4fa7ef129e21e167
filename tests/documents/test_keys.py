"""API keys: shown once, kept as a hash, refused when wrong, revoked or expired; and request ids."""

import hashlib
import re
import uuid
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError
from django.db.models.functions import Now
from django.utils import timezone

from documents.accounts import keys
from documents.models import ApiKey, Namespace
from ragsite.database.tenancy import operator

from ..client import Answer, Api


def issue(tenant: Namespace, **options: object) -> tuple[ApiKey, str]:
    with operator():
        return keys.issue(tenant, **{"scopes": ["read"], **options})


def authorized(api: Api, header: str) -> Answer:
    return Api(api.client).get("documents", Authorization=header)


def reread(key: ApiKey) -> ApiKey:
    with operator():
        return ApiKey.objects.get(pk=key.pk)


def test_a_key_works_and_only_its_hash_is_stored(tenant: Namespace, api: Api):
    key, plain = issue(tenant)
    assert re.fullmatch(r"rs_[0-9a-f]{12}_[A-Za-z0-9_-]{43}", plain)
    secret = plain.split("_", 2)[2]
    with operator():
        (row,) = ApiKey.objects.filter(pk=key.pk).values()
    assert row["secret_sha256"] == hashlib.sha256(secret.encode()).hexdigest()
    assert secret not in str(row)
    assert plain not in str(key)
    for header in (f"Bearer {plain}", f"bearer {plain}", f"Bearer  {plain} "):
        assert authorized(api, header).status == 200


def test_two_keys_are_never_alike(tenant: Namespace):
    issued = [issue(tenant) for _ in range(20)]
    assert len({plain for _, plain in issued}) == len({key.prefix for key, _ in issued}) == 20


def test_a_wrong_key_is_refused_and_says_nothing_of_why(tenant: Namespace, api: Api):
    _, plain = issue(tenant)
    prefix, secret = plain.split("_", 2)[1:]
    other = "A" if secret[0] != "A" else "B"
    wrong = [
        f"rs_{prefix}_{other}{secret[1:]}",  # a known prefix with another secret
        f"rs_{'0' * 12}_{secret}",
        f"rs_{prefix}_{secret}x",
        f"rs_{prefix}_{secret[:-1]}",
        f"rs_{prefix.upper()}x_{secret}",
        f"{prefix}_{secret}",
        f"rs_{prefix}_",
        "rs_' OR 1=1 --",
        "x" * 10_000,
        "",
    ]
    answers = [authorized(api, f"Bearer {key}") for key in wrong]
    answers += [authorized(api, f"Basic {plain}"), authorized(api, plain)]
    assert {(answer.status, answer.code) for answer in answers} == {(401, "invalid_key")}
    assert len({answer.body["error"]["message"] for answer in answers}) == 1
    assert all(a.headers["WWW-Authenticate"].startswith("Bearer") for a in answers)
    nobody = Api(api.client).get("documents")
    assert (nobody.status, nobody.code) == (401, "not_authenticated")


def test_a_revoked_and_an_expired_key_are_told_apart(tenant: Namespace, api: Api):
    revoked, plain_revoked = issue(tenant)
    _, plain_expired = issue(tenant, expires_at=timezone.now() - timedelta(seconds=1))
    _, plain_fresh = issue(tenant, expires_at=timezone.now() + timedelta(hours=1))
    assert authorized(api, f"Bearer {plain_revoked}").status == 200
    with operator():
        ApiKey.objects.filter(pk=revoked.pk).update(revoked_at=Now())
    refused = [authorized(api, f"Bearer {plain}") for plain in (plain_revoked, plain_expired)]
    assert [(a.status, a.code) for a in refused] == [(401, "key_revoked"), (401, "key_expired")]
    assert authorized(api, f"Bearer {plain_fresh}").status == 200
    # Whoever does not hold the secret does not learn that the key was revoked.
    guess = plain_revoked[:-1] + ("A" if plain_revoked[-1] != "A" else "B")
    assert authorized(api, f"Bearer {guess}").code == "invalid_key"


def test_a_host_whose_clock_is_wrong_neither_ends_a_key_early_nor_keeps_one_alive(
    tenant: Namespace, api: Api, monkeypatch: pytest.MonkeyPatch
):
    """Revoked on a host that is two hours ahead, refused at once on the others."""
    now = timezone.now()
    _, fresh = issue(tenant, expires_at=now + timedelta(hours=1))
    _, ended = issue(tenant, expires_at=now - timedelta(seconds=1))
    revoked, plain = issue(tenant)
    monkeypatch.setattr(timezone, "now", lambda: now + timedelta(hours=2))
    assert authorized(api, f"Bearer {fresh}").status == 200
    with operator():
        keys.revoke(ApiKey.objects.filter(pk=revoked.pk))
    monkeypatch.setattr(timezone, "now", lambda: now - timedelta(hours=2))
    assert authorized(api, f"Bearer {plain}").code == "key_revoked"
    assert authorized(api, f"Bearer {ended}").code == "key_expired"


def test_the_last_use_is_written_but_not_at_every_call(tenant: Namespace, api: Api):
    key, plain = issue(tenant)
    assert key.last_used_at is None
    authorized(api, f"Bearer {plain}")
    first = reread(key).last_used_at
    assert first
    authorized(api, f"Bearer {plain}")
    assert reread(key).last_used_at == first
    with operator():
        ApiKey.objects.filter(pk=key.pk).update(last_used_at=Now() - timedelta(minutes=2))
    authorized(api, f"Bearer {plain}")
    assert reread(key).last_used_at > first


def test_scopes_open_what_they_name_and_admin_opens_all(
    tenant: Namespace, api_of: Callable[..., Api]
):
    def may(*scopes: str) -> tuple[bool, bool]:
        api = api_of(tenant, scopes)
        write = api.post("ingest", {"documents": [{"content": "x"}]}).status
        return api.get("documents").status == 200, write in (200, 202)

    assert may("read") == (True, False)
    assert may("write") == (False, True)
    assert may("read", "write") == may("admin") == (True, True)


def test_a_key_with_scopes_that_mean_nothing_is_not_made(tenant: Namespace):
    for scopes in ([], ["root"], ["read", "READ"], [""]):
        with pytest.raises(ValidationError):
            issue(tenant, scopes=scopes)
    with operator():
        assert not ApiKey.objects.exists()


@pytest.mark.parametrize(
    "slug", ["", "Acme", "a b", "-a", "a-", "a_b", "ü", "a\n", "x" * 64, "tenant"]
)
def test_a_namespace_with_a_bad_or_taken_slug_is_not_made(slug: str, tenant: Namespace):
    with operator():
        with pytest.raises(ValidationError):
            keys.create_namespace(slug)
        assert Namespace.objects.count() == 1


def test_a_new_namespace_starts_empty_with_the_default_profile(db: None):
    with operator():
        created = keys.create_namespace("acme-2", name="Acme")
        assert created.active_profile.name == "default"
    assert (created.chunk_count, created.revision) == (0, 0)


def test_a_request_id_is_given_back_or_made_up(api: Api):
    for given in ("abc-123", "a/b:c+d=e.f_g", "x" * 128):
        answer = api.get("documents", **{"X-Request-ID": given})
        assert answer.headers["X-Request-ID"] == given
    made_up = {api.get("documents").headers["X-Request-ID"] for _ in range(3)}
    for forged in ("", "a b", "x" * 129, "ü", "a\tb", "<b>", "a;b"):
        id_ = api.get("documents", **{"X-Request-ID": forged}).headers["X-Request-ID"]
        assert id_ != forged
        made_up.add(id_)
    assert len({uuid.UUID(id_) for id_ in made_up}) == 10
