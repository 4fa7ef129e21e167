"""Profiles and reindexing through the API, the command and the admin."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import CommandError
from django.test import Client
from django.urls import reverse

from documents.models import IndexProfile, Namespace, Reindex
from ragsite.database.tenancy import operator

from ..client import Api
from ..documents.test_commands import run
from .test_reindex import fill


@pytest.fixture
def master(api_of: Callable[..., Api], tenant: Namespace) -> Api:
    return api_of(tenant, ("read", "write", "admin"))


def reindex(api: Api, action: str, **fields: Any) -> Any:
    return api.post("reindex", {"action": action, **fields})


def test_profiles_are_made_and_listed(master: Api, small_profile: IndexProfile):
    made = master.post(
        "profiles",
        {
            "name": "flat",
            "embedder": "small",
            "ann_method": "ivfflat",
            "ann_options": {"lists": 20},
            "chunk_size": 40,
        },
    )
    assert (made.status, made.body["dimensions"], made.body["chunk_overlap"]) == (201, 64, 6)
    assert made.body["ann_options"] == {"lists": 20}
    names = [profile["name"] for profile in master.get("profiles").body["results"]]
    assert names == ["default", "hashing", "small", "flat"]


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"name": "a b"}, 422, "invalid_request"),
        ({"name": "x", "colour": 1}, 422, "invalid_request"),
        ({"name": "x", "embedder": "nowhere"}, 422, "embedding_failed"),
        ({"name": "x", "embedder": "hashing", "dimensions": 300}, 422, "profile_mismatch"),
        ({"name": "x", "embedder": "hashing", "dimensions": 4001}, 422, "invalid_request"),
        (
            {"name": "x", "embedder": "hashing", "ann_method": "diskann"},
            422,
            "ann_method_unavailable",
        ),
        (
            {"name": "x", "embedder": "hashing", "ann_options": {"m": 1}},
            422,
            "invalid_request",
        ),
        ({"name": "hashing", "embedder": "hashing"}, 422, "invalid_request"),
    ],
)
def test_a_profile_that_cannot_be_is_refused(
    master: Api, body: dict[str, Any], status: int, code: str
):
    answer = master.post("profiles", body)
    assert (answer.status, answer.code) == (status, code)


def test_the_whole_way_through_the_api(
    master: Api, small_profile: IndexProfile, build: Callable[[], None]
):
    fill(master, 4)
    build()
    assert master.get("reindex").body == {"active_profile": "hashing", "reindex": None}
    estimate = reindex(master, "estimate", profile="small")
    assert (estimate.status, estimate.body["estimate"]["documents"]) == (200, 4)
    assert (reindex(master, "switch").status, reindex(master, "switch").code) == (404, "no_reindex")

    begun = reindex(master, "build", profile="small")
    assert (begun.status, begun.body["reindex"]["state"]) == (202, "building")
    assert begun.body["reindex"]["progress"]["done"] == 0
    assert reindex(master, "switch").code == "reindex_behind"
    build()
    status = master.get("reindex").body["reindex"]
    assert (status["state"], status["progress"]["done"]) == ("built", 4)
    assert reindex(master, "compare").body["reindex"]["parity"]["questions"] == 4
    assert reindex(master, "switch").body["active_profile"] == "small"
    assert reindex(master, "rollback").body["active_profile"] == "hashing"
    assert reindex(master, "rollback").code == "reindex_refused"
    assert reindex(master, "switch").status == 200
    assert reindex(master, "cancel").status == 409
    reclaimed = reindex(master, "reclaim")
    assert (reclaimed.status, reclaimed.body["reindex"]) == (202, None)
    assert reindex(master, "outdated").body["queued_documents"] == 0


def test_what_makes_no_sense_is_said(master: Api, api: Api, small_profile: IndexProfile):
    for body in (
        {"action": "build"},
        {"action": "fly"},
        {"action": "switch", "profile": "small"},
        {"action": "build", "profile": "nowhere"},
    ):
        answer = master.post("reindex", body)
        assert (answer.status, answer.code) == (422, "invalid_request"), body
    assert reindex(master, "build", profile="hashing").status == 409
    for method in ("GET", "POST"):
        assert api.call(method, "reindex", {"profile": "small"}).code == "insufficient_scope"
    assert api.post("profiles", {"name": "x"}).code == "insufficient_scope"


def test_a_reclaim_waits_for_searches_that_began_before_the_switch(
    master: Api, small_profile: IndexProfile, build: Callable[[], None], settings: Any
):
    fill(master, 1)
    reindex(master, "build", profile="small")
    build()
    settings.REINDEX = {**settings.REINDEX, "grace": 60}
    reindex(master, "switch")
    assert reindex(master, "reclaim").code == "reindex_too_early"


def test_the_whole_way_by_command(
    api: Api, tenant: Namespace, small_profile: IndexProfile, build: Callable[[], None]
):
    fill(api, 3)
    build()
    here = ("--namespace", "tenant")
    told = json.loads(run("reindex", "--profile", "small", *here, "--estimate", "--json"))
    assert told["estimate"]["documents"] == 3
    with pytest.raises(CommandError, match="No reindex has been started"):
        run("reindex", "--switch", *here)
    with pytest.raises(CommandError, match="Name the new profile"):
        run("reindex", *here)
    told = json.loads(run("reindex", "--profile", "small", *here, "--json"))
    assert (told["state"], told["parity"]["questions"]) == ("built", 3)
    assert told["active_profile"] == "hashing"
    assert "active_profile: small" in run("reindex", "--switch", *here)
    assert "state: switched" in run("reindex", "--status", *here)
    assert "active_profile: hashing" in run("reindex", "--rollback", *here)
    told = json.loads(run("reindex", "--switch", "--reclaim", *here, "--json"))
    assert told["active_profile"] == "small"
    assert told["removed"] > 0
    assert json.loads(run("reindex", "--outdated", *here, "--json"))["queued"] == 0


def test_all_namespaces_at_once(
    api: Api,
    api_of: Callable[..., Api],
    tenant: Namespace,
    other_tenant: Namespace,
    small_profile: IndexProfile,
    build: Callable[[], None],
):
    for one in (api, api_of(other_tenant)):
        fill(one, 2)
    build()
    lines = run("reindex", "--profile", "small", "--all", "--switch", "--json").splitlines()
    assert {json.loads(line)["namespace"] for line in lines} == {"tenant", "other"}
    assert {json.loads(line)["active_profile"] for line in lines} == {"small"}
    lines = run("reindex", "--all", "--rollback", "--json").splitlines()
    assert {json.loads(line)["active_profile"] for line in lines} == {"hashing"}
    assert "removed" in run("reindex", "--all", "--cancel")
    with pytest.raises(CommandError, match="nothing to do"):
        run("reindex", "--all", "--rollback")


def test_the_admin_makes_profiles_and_refuses_what_cannot_work(
    boss: Client, small_profile: IndexProfile
):
    page = reverse("admin:documents_indexprofile_add")
    fields = {
        "name": "by-hand",
        "chunker": "structure",
        "chunker_options": "{}",
        "chunk_size": "40",
        "chunk_overlap": "5",
        "embedder": "small",
        "ann_method": "hnsw",
        "ann_options": "{}",
    }
    refused = boss.post(page, {**fields, "ann_method": "scann"})
    assert "alloydb_scann" in refused.content.decode()
    assert boss.post(page, fields).status_code == 302
    with operator():
        assert IndexProfile.objects.get(name="by-hand").dimensions == 64


def test_the_admin_begins_watches_and_switches(
    boss: Client,
    api: Api,
    tenant: Namespace,
    small_profile: IndexProfile,
    build: Callable[[], None],
):
    fill(api, 3)
    build()
    add = reverse("admin:documents_reindex_add")
    fields = {"namespace": str(tenant.pk), "profile": str(small_profile.pk)}
    assert boss.post(add, fields).status_code == 302
    page = reverse("admin:documents_reindex_changelist")
    assert "<progress" in boss.get(page).content.decode()
    assert "on its way to" in boss.post(add, fields).content.decode()
    build()
    with operator():
        row = Reindex.objects.get()
    change = reverse("admin:documents_reindex_change", args=[row.pk])
    assert "Not compared yet" in boss.get(change).content.decode()

    def act(action: str) -> str:
        chosen = {"action": action, "_selected_action": [str(row.pk)]}
        answer = boss.post(page, chosen, follow=True)
        if action in ("cancel", "reclaim"):  # they destroy, and so they ask first
            assert f"{action.capitalize()} 1 reindex?" in answer.text
            sure = {**chosen, "confirmed": answer.context["fingerprint"]}
            answer = boss.post(page, sure, follow=True)
        return answer.content.decode()

    assert "compared" in act("compare")
    assert "alike, of 3 questions" in boss.get(page).content.decode()
    assert "Passages in common" in boss.get(change).content.decode()
    assert "tenant: switched." in act("switch")
    assert "is switched" in act("cancel")
    assert "rolled back" in act("roll_back")
    assert "cancelled" in act("cancel")
    assert "has ended" in act("switch")
