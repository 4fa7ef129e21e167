"""Deleting a namespace: nothing of it stays, nothing of others goes, and a receipt says what."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.cache import caches
from django.core.files.base import ContentFile
from django.core.management import CommandError, call_command
from django.test import Client
from fakeredis import TcpFakeServer

from documents import housekeeping, tasks
from documents.accounts import keys, namespace_removal
from documents.intake import originals
from documents.jobs import queue
from documents.models import Namespace, NamespaceRemoval
from documents.profiles import profiles
from ragsite.database.tenancy import operator
from ragsite.platform.cache_clearing import clear_namespace
from retrieval import query_log

from ..client import Api
from ..documents.test_admin import address
from .test_tenant_wall import full_tables, rows, tenant_tables  # noqa: F401  (a fixture)

pytestmark = pytest.mark.usefixtures("db")

# The audit log stays; a namespace's own profiles go when the last chunk is gone (retiring.sweep),
# files whose removal waits for a backup when that has ended, notes for a search store when it has
# been told to forget.
OUTLIVES_IT = {
    "documents_auditevent",
    "documents_indexprofile",
    "documents_putoffremoval",
    "documents_storechange",
}


def rows_of(tenant: Namespace) -> dict[str, int]:
    query_log.flush()
    counts = {
        table: rows(f"SELECT count(*) FROM {table} WHERE {column} = %s", [tenant.pk])[0][0]
        for table, column in tenant_tables()
    }
    return {table: n for table, n in counts.items() if n and table not in OUTLIVES_IT}


def stored_files(tenant: Namespace) -> list[Path]:
    folder = django_settings.HOME / "storage" / "uploads" / str(tenant.pk)
    return [path for path in folder.rglob("*") if path.is_file()]


def delete(tenant: Namespace) -> NamespaceRemoval:
    with operator():
        return namespace_removal.remove_namespace(tenant)


@pytest.fixture
def neighbour(api_of: Callable[..., Api], other_tenant: Namespace, work: Callable[[], int]) -> Api:
    api = api_of(other_tenant)
    api.upload(("other.md", "# Other\n\nSomebody else's lights."))
    assert work() >= 1  # full_tables leaves a job of its own
    return api


# -- what goes, what stays -----------------------------------------------------------------------


@pytest.mark.usefixtures("full_tables")
def test_every_row_and_file_goes_and_nobody_elses(
    tenant: Namespace, other_tenant: Namespace, api: Api, neighbour: Api
):
    before, others = rows_of(tenant), rows_of(other_tenant)
    assert set(before) == {t for t, _ in tenant_tables()} - OUTLIVES_IT
    files = stored_files(tenant)
    assert files
    removal = delete(tenant)
    assert removal.state == "finished"
    assert rows_of(tenant) == {}
    assert stored_files(tenant) == []
    assert not (django_settings.HOME / "storage" / "uploads" / str(tenant.pk)).exists()
    assert removal.files == len(files)
    assert removal.files_left == []
    assert sum(removal.rows.values()) == sum(before.values())
    assert removal.rows["document"] == before["documents_document"]
    assert rows_of(other_tenant) == others
    assert neighbour.query("lights").body["results"]


def test_keys_stop_working_at_once_even_if_the_rows_take_time(tenant: Namespace, api: Api):
    assert api.get("documents").status == 200
    with operator():
        namespace_removal.request_removal(tenant)
    answer = api.get("documents")
    assert (answer.status, answer.code) == (401, "key_revoked")
    with operator(), pytest.raises(Exception, match="being deleted"):
        keys.issue(Namespace.objects.get(pk=tenant.pk), scopes=["read"])
    delete(tenant)
    answer = api.get("documents")
    assert (answer.status, answer.code) == (401, "invalid_key")


def test_the_slug_is_free_again_and_the_new_namespace_is_empty(
    tenant: Namespace, api: Api, api_of: Callable[..., Api], new_namespace: Callable[..., Namespace]
):
    api.upload(("a.md", "# A\n\nText."))
    delete(tenant)
    anew = new_namespace("tenant")
    assert anew.pk != tenant.pk
    assert api_of(anew).get("documents").body["results"] == []


def test_an_upload_that_was_under_way_leaves_no_file(tenant: Namespace):
    originals.store(ContentFile(b"half-way"), namespace_id=tenant.pk)
    assert len(stored_files(tenant)) == 1
    delete(tenant)
    assert stored_files(tenant) == []


def test_a_file_that_cannot_be_removed_is_named_in_the_receipt(
    tenant: Namespace, api: Api, monkeypatch: pytest.MonkeyPatch
):
    api.upload(("a.md", "# A\n\nText."))
    remove = originals.remove
    monkeypatch.setattr(originals, "remove", lambda key: False)
    removal = delete(tenant)
    assert removal.state == "finished"
    assert removal.files == 0
    assert len(set(removal.files_left)) == 1
    assert remove(removal.files_left[0])


# -- in steps ------------------------------------------------------------------------------------


@pytest.fixture
def many(
    tenant: Namespace, api: Api, work: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> Namespace:
    """Too much for one step, and for one request."""
    monkeypatch.setattr(namespace_removal, "BATCH_ROWS", 2)
    monkeypatch.setattr(namespace_removal, "BATCH_FILES", 2)
    monkeypatch.setattr(namespace_removal, "SMALL_ROWS", 3)
    for number in range(5):
        csv = f"name,height\nNorth {number},{number} m\nSouth {number},{number} m\n"
        api.upload((f"{number}.csv", csv), rows_as_facts="true")
    assert work() == 5
    return tenant


def test_a_large_one_is_closed_now_and_removed_by_the_worker(many: Namespace, api: Api):
    removal = delete(many)
    assert removal.state == "queued"
    assert api.get("documents").status == 401
    assert rows_of(many)["documents_document"] == 5
    tasks.remove_namespace(str(removal.pk))
    assert rows_of(many) == {}
    with operator():
        removal.refresh_from_db()
    assert (removal.state, removal.rows["document"], removal.files) == ("finished", 5, 5)


def test_a_removal_that_was_cut_off_is_resumed_and_counts_on(
    many: Namespace, monkeypatch: pytest.MonkeyPatch
):
    queued: list[str] = []
    monkeypatch.setattr(namespace_removal, "queue_removal", lambda pk: queued.append(str(pk)))
    removal = delete(many)
    steps = 0
    while removal.state != "finished":
        removal = namespace_removal.run_removal(removal.pk, seconds=0)
        steps += 1
    assert steps > 5
    assert len(queued) == steps  # the last one had nothing to queue, but the request had
    assert (removal.rows["document"], removal.rows["documentversion"], removal.files) == (5, 5, 5)
    assert rows_of(many) == {}


def test_a_worker_that_lost_its_lease_stops_and_leaves_the_row_to_the_next(
    many: Namespace, monkeypatch: pytest.MonkeyPatch
):
    """Test that a worker that was suspended for longer than its lease changes nothing more."""
    monkeypatch.setattr(namespace_removal, "queue_removal", lambda pk: None)
    removal = delete(many)
    taken_over = []

    def suspended(current: NamespaceRemoval) -> None:
        if not taken_over:
            NamespaceRemoval.objects.update(lease_until="2020-01-01T00:00:00Z")
            taken_over.append(namespace_removal._claim(current.pk))

    first = namespace_removal.run_removal(removal.pk, progress=suspended)
    assert first.state == "running"
    with operator():
        (claim,) = taken_over
        assert claim.held().exists()  # the second worker's claim is untouched
        claim.release()
    assert namespace_removal.run_removal(removal.pk).state == "finished"
    assert rows_of(many) == {}


def test_housekeeping_queues_abandoned_removals_and_no_others(
    many: Namespace, other_tenant: Namespace, monkeypatch: pytest.MonkeyPatch
):
    queued: list[Any] = []
    with operator():
        removal = namespace_removal.request_removal(many)
        monkeypatch.setattr(namespace_removal, "queue_removal", queued.append)
        namespace_removal._claim(removal.pk)  # a worker is at it
    housekeeping.tidy()
    assert queued == []
    assert namespace_removal.run_removal(removal.pk).state == "running"  # and stays the only one
    with operator():
        NamespaceRemoval.objects.update(lease_until="2020-01-01T00:00:00Z")  # it died
    housekeeping.tidy()
    assert queued == [removal.pk]
    assert namespace_removal.run_removal(removal.pk).state == "finished"


def test_a_job_that_waits_is_gone_with_its_namespace(
    tenant: Namespace, api: Api, work: Callable[[], int]
):
    api.upload(("a.md", "# A\n\nText."))
    claim = queue.claim("test")
    assert claim is not None
    delete(tenant)
    assert work() == 0


def test_every_owned_table_comes_before_what_it_refers_to():
    ordered = [model._meta.db_table for model in namespace_removal.owned_models()]
    tables = {table for table, _ in tenant_tables()} - OUTLIVES_IT - {"documents_namespace"}
    assert set(ordered) == tables
    assert ordered.index("documents_chunkterms") < ordered.index("documents_chunk")
    assert ordered.index("documents_chunk") < ordered.index("documents_document")


# -- caches --------------------------------------------------------------------------------------


def test_cached_answers_are_forgotten(tenant: Namespace, other_tenant: Namespace, neighbour: Api):
    caches["results"].set(f"{tenant.pk}:1:abc", "an answer")
    neighbour.query("lights")
    delete(tenant)
    assert caches["results"].get(f"{tenant.pk}:1:abc") is None
    assert neighbour.query("lights").body["diagnostics"]["cache"] == "hit"


@pytest.fixture
def redis(settings: Any) -> Iterator[None]:
    server = TcpFakeServer(("127.0.0.1", 0), server_type="redis")

    Thread(target=server.serve_forever, daemon=True).start()
    settings.CACHES = {
        "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
        "results": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": f"redis://127.0.0.1:{server.server_address[1]}/0",
            "KEY_PREFIX": "ragsite-results",
        },
    }
    yield
    server.shutdown()
    server.server_close()


@pytest.mark.usefixtures("redis")
def test_cached_answers_in_redis_are_forgotten(tenant: Namespace, other_tenant: Namespace):
    for owner in (tenant, other_tenant):
        caches["results"].set(f"{owner.pk}:1:abc", "an answer")
    assert clear_namespace(tenant.pk) == 1
    assert caches["results"].get(f"{tenant.pk}:1:abc") is None
    assert caches["results"].get(f"{other_tenant.pk}:1:abc") == "an answer"


# -- by command and in the admin -----------------------------------------------------------------


def test_the_command_asks_first_and_prints_a_receipt(
    tenant: Namespace,
    api: Api,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    api.upload(("a.md", "# A\n\nText."))
    for typed in ("no", "", "Tenant"):
        monkeypatch.setattr("builtins.input", lambda prompt, typed=typed: typed)
        with pytest.raises(CommandError, match="Nothing was deleted"):
            call_command("namespace", "delete", "tenant")
    assert rows_of(tenant)
    monkeypatch.setattr("builtins.input", lambda prompt: "tenant")
    call_command("namespace", "delete", "tenant")
    assert rows_of(tenant) == {}
    printed = capsys.readouterr().out
    assert "Namespace tenant deleted:" in printed
    assert "1  stored file" in printed
    assert "1  document version\n" in printed


def test_the_command_with_yes_asks_nothing_and_can_print_json(
    tenant: Namespace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("builtins.input", lambda prompt: pytest.fail("asked"))
    call_command("namespace", "delete", "tenant", "--yes", "--json")
    receipt = json.loads(capsys.readouterr().out)
    assert receipt["slug"] == "tenant"
    assert receipt["state"] == "finished"
    assert receipt["rows"]["namespace"] == 1
    with pytest.raises(CommandError, match="no namespace 'tenant'"):
        call_command("namespace", "delete", "tenant", "--yes")


def test_the_admin_shows_what_goes_and_deletes_it_after_confirmation(
    tenant: Namespace, api: Api, boss: Client, onlooker: Client
):
    api.upload(("a.md", "# A\n\nText."))
    page = address(Namespace, "delete", tenant.pk)
    assert onlooker.get(page).status_code == 403
    assert "1 document" in boss.get(page).content.decode()
    assert rows_of(tenant)
    done = boss.post(page, {"post": "yes"}, follow=True)
    assert "1 file removed" in done.content.decode()
    assert rows_of(tenant) == {}
    (removal,) = rows("SELECT slug, requested_by FROM documents_namespaceremoval")
    assert removal == ("tenant", "boss")
    assert boss.get(address(NamespaceRemoval)).status_code == 200


def test_the_admin_deletes_several_at_once(
    tenant: Namespace, other_tenant: Namespace, boss: Client
):
    fields = {
        "action": "delete_selected",
        "_selected_action": [str(tenant.pk), str(other_tenant.pk)],
        "post": "yes",
    }
    boss.post(address(Namespace), fields, follow=True)
    assert rows("SELECT count(*) FROM documents_namespace") == [(0,)]


def test_the_namespaces_own_profiles_go_with_the_next_housekeeping(tenant: Namespace):
    profiles.create("own", namespace_id=tenant.pk, embedder="hashing", ann_method="exact")
    profiles.create("shared", embedder="hashing", ann_method="exact")
    delete(tenant)
    housekeeping.tidy()
    names = {name for (name,) in rows("SELECT name FROM documents_indexprofile")}
    assert "own" not in names
    assert "shared" in names
