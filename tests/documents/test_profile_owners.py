"""Index profiles that belong to a namespace: who sees them, who may take their names."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import CommandError
from django.db import connections
from django.test import Client
from django.urls import reverse

from documents import housekeeping
from documents.models import IndexProfile, Namespace
from documents.profiles import profiles, warmup
from documents.reindex import switching
from ragsite.database.tenancy import namespace, operator

from ..client import Api
from .test_commands import run

ADMIN = ("read", "write", "admin")
PLAIN = {"embedder": "hashing", "ann_method": "exact"}


@pytest.fixture
def mine(api_of: Callable[..., Api], tenant: Namespace) -> Api:
    return api_of(tenant, ADMIN)


@pytest.fixture
def theirs(api_of: Callable[..., Api], other_tenant: Namespace) -> Api:
    return api_of(other_tenant, ADMIN)


def names(api: Api) -> list[str]:
    return [profile["name"] for profile in api.get("profiles").body["results"]]


def made_by(tenant: Namespace, name: str, **fields: Any) -> IndexProfile:
    return profiles.create(name, namespace_id=tenant.pk, **{**PLAIN, **fields})


def test_a_profile_is_seen_by_whoever_made_it_and_its_name_is_free_for_others(
    mine: Api, theirs: Api
):
    body = {"name": "acme-merger", **PLAIN}
    made = mine.post("profiles", body)
    assert (made.status, made.body["shared"]) == (201, False)
    assert names(mine) == ["default", "hashing", "acme-merger"]
    assert names(theirs) == ["default", "hashing"]

    again = theirs.post("profiles", {**body, "chunk_size": 50})
    assert again.status == 201  # it tells nothing of the other
    assert again.body["chunk_size"] == 50
    for api in (mine, theirs):
        twice = api.post("profiles", body)
        assert (twice.status, twice.body["error"]["details"]["fields"][0]["field"]) == (422, "name")
    assert mine.post("profiles", {**body, "name": "default"}).status == 422  # all can see that one


def test_anothers_profile_answers_like_one_that_nobody_has(
    mine: Api, theirs: Api, tenant: Namespace
):
    made_by(tenant, "acme-merger")
    for action in ("estimate", "build"):
        foreign, unknown = (
            theirs.post("reindex", {"action": action, "profile": name})
            for name in ("acme-merger", "nobodys")
        )
        assert (foreign.status, foreign.body["error"]["message"]) == (
            unknown.status,
            unknown.body["error"]["message"],
        )
    assert mine.post("reindex", {"action": "estimate", "profile": "acme-merger"}).status == 200


def test_a_namespace_moves_to_its_own_profile_and_searches_under_it(
    mine: Api, theirs: Api, tenant: Namespace, build: Callable[[], None], settings: Any
):
    mine.upload(("harbour.md", "# Harbour\n\nTwelve lights."))
    made_by(tenant, "acme-merger", chunk_size=40)
    assert mine.post("reindex", {"profile": "acme-merger"}).status == 202
    build()
    assert mine.post("reindex", {"action": "compare"}).status == 200
    assert mine.post("reindex", {"action": "switch"}).body["active_profile"] == "acme-merger"
    answer = mine.query("lights")
    assert answer.body["diagnostics"]["profile"] == "acme-merger"
    assert len(answer.body["results"]) == 1
    mine.upload(("pier.md", "# Pier\n\nA pier of stone."))
    build()
    assert mine.query("stone").body["results"][0]["title"] == "Pier"
    assert warmup.embedders_in_use() == {"hashing"}
    assert mine.post("reindex", {"action": "reclaim"}).status == 202
    switching.sweep(tenant.pk)
    housekeeping.tidy()
    assert "acme-merger" not in names(theirs)


def test_the_database_itself_shows_a_tenant_no_other_tenants_profile(
    tenant: Namespace, other_tenant: Namespace
):
    profile = made_by(tenant, "acme-merger")
    for owner, seen in ((tenant, True), (other_tenant, False)):
        with namespace(owner.pk):
            assert IndexProfile.objects.filter(pk=profile.pk).exists() is seen
    assert not IndexProfile.objects.filter(pk=profile.pk).exists()


def test_who_was_given_anothers_profile_sees_it_for_good(
    theirs: Api, tenant: Namespace, other_tenant: Namespace
):
    profile = made_by(tenant, "acme-merger")
    switching.start(other_tenant.pk, profile)
    assert "acme-merger" in names(theirs)
    switching.cancel(other_tenant.pk)
    assert "acme-merger" in names(theirs)


def test_commands_name_a_profile_by_its_namespace_where_the_name_alone_is_not_enough(
    tenant: Namespace, other_tenant: Namespace
):
    run("profile", "create", "own", "--namespace", "tenant", "--embedder", "hashing")
    listed = run("profile", "list")
    assert "tenant/own" in listed
    assert "\ndefault" in f"\n{listed}"
    only = profiles.find_for_operator("own")
    assert only.namespace_id == tenant.pk
    made_by(other_tenant, "own")
    with pytest.raises(CommandError, match="Several namespaces"):
        run("profile", "drop", "own")
    assert profiles.find_for_operator("own", near=other_tenant.pk).namespace_id == other_tenant.pk
    assert profiles.find_for_operator("tenant/own").pk == only.pk
    run("profile", "drop", "tenant/own")
    assert profiles.find_for_operator("own").namespace_id == other_tenant.pk


def test_an_operator_changes_who_sees_a_profile(theirs: Api, tenant: Namespace):
    made_by(tenant, "own")
    run("profile", "assign", "own", "--shared")
    assert "own" in names(theirs)
    run("profile", "assign", "own", "--namespace", "tenant")
    assert "own" not in names(theirs)
    with pytest.raises(CommandError, match="of this name"):
        run("profile", "create", "default", "--namespace", "tenant", "--embedder", "hashing")


def test_the_admin_makes_a_profile_for_one_namespace(
    boss: Client, mine: Api, theirs: Api, tenant: Namespace
):
    form = {
        "name": "by-hand",
        "namespace": str(tenant.pk),
        "chunker": "structure",
        "chunker_options": "{}",
        "chunk_size": 60,
        "chunk_overlap": 9,
        "embedder": "hashing",
        "ann_method": "exact",
        "ann_options": "{}",
    }
    added = boss.post(reverse("admin:documents_indexprofile_add"), form)
    assert added.status_code == 302
    assert "by-hand" in names(mine)
    assert "by-hand" not in names(theirs)
    taken = boss.post(reverse("admin:documents_indexprofile_add"), form)
    assert taken.status_code == 200
    assert b"of this name" in taken.content
    assert boss.get(reverse("admin:documents_indexprofile_changelist")).status_code == 200


def test_the_profile_of_a_namespace_that_is_gone_is_swept_up(
    boss: Client, theirs: Api, new_namespace: Callable[..., Namespace]
):
    leaving = new_namespace("leaving")
    made_by(leaving, "left-behind")
    with operator():
        Namespace.objects.filter(pk=leaving.pk).delete()
    assert "left-behind" not in names(theirs)
    assert boss.get(reverse("admin:documents_indexprofile_changelist")).status_code == 200
    assert "left-behind" in run("profile", "list")
    housekeeping.tidy()
    with operator():
        assert not IndexProfile.objects.filter(name="left-behind").exists()


def test_the_migration_gives_a_profile_to_its_only_user(
    tenant: Namespace, other_tenant: Namespace, hashing_profile: IndexProfile
):
    from importlib import import_module

    single = profiles.create("single", **PLAIN)
    unused = profiles.create("unused", **PLAIN)
    switching.start(tenant.pk, single)
    migration = import_module("documents.migrations.0013_profile_owner")
    with connections["owner"].cursor() as cursor:
        cursor.execute(migration.ASSIGN_TO_ONLY_USER)
    with operator():
        owners = dict(IndexProfile.objects.values_list("name", "namespace_id"))
    assert owners == {
        "default": None,
        hashing_profile.name: None,  # both namespaces use it
        single.name: tenant.pk,
        unused.name: None,
    }
