"""Backups made while the service works, also killed ones, and what is restored from them."""

import hashlib
import random
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2

from ..belongings import furnish
from ..ledger import GONE, Entry
from ..outcomes import Outcome, fault
from ..stage import Stage, Tenant, Theatre, clients, text_of

# What keeps tenants apart, in the catalogue: the same before and after.
FENCES = {
    "tables": """
        SELECT relname, relrowsecurity, relforcerowsecurity, relowner::regrole::text FROM pg_class
        WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY 1
    """,
    "policies": """
        SELECT tablename, policyname, permissive, roles::text, cmd, qual, with_check
        FROM pg_policies ORDER BY 1, 2
    """,
    "grants": """
        SELECT table_name, grantee, privilege_type FROM information_schema.role_table_grants
        WHERE table_schema = 'public' ORDER BY 1, 2, 3
    """,
    "functions": """
        SELECT oid::regprocedure::text, proowner::regrole::text, prosecdef,
               (SELECT array_agg(item::text ORDER BY item::text) FROM unnest(proacl) AS item)
        FROM pg_proc
        WHERE pronamespace IN ('public'::regnamespace, 'ragsite'::regnamespace) ORDER BY 1
    """,
    "roles": """
        SELECT rolname, rolsuper, rolbypassrls, rolcanlogin FROM pg_roles
        WHERE rolname LIKE 'ragsite%' ORDER BY 1
    """,
}
QUESTIONS = ("Who noted that oil ran low?", "What did the keeper of log-2 note?", "calm sea")


def _answers(tenant: Tenant) -> list[Any]:
    hits = [tenant.query(question, k=10).json()["results"] for question in QUESTIONS]
    kept = ("chunk_id", "document_id", "content", "span", "relevance")
    return [[{name: hit[name] for name in kept} for hit in each] for each in hits]


@contextmanager
def _restored(theatre: Theatre, saved: Path, outcome: Outcome) -> Iterator[Stage]:
    """Another installation, restored from the backup."""
    other = theatre.new_stage()
    try:
        began = time.monotonic()
        other.command("restore", str(saved))
        outcome.recovery.append(time.monotonic() - began)
        other.service.start("--no-samples")
        yield other
    finally:
        other.close()


def _there(other: Tenant, entry: Entry) -> bool:
    if other.wait_for(entry.document_id) != "ready":
        return False
    original = other.get(f"documents/{entry.document_id}/original")
    return hashlib.sha256(original.content).hexdigest() == entry.sha256


@fault("F20", "a backup while clients upload and delete, restored elsewhere", trials=2,
       own_stage=True)  # fmt: skip
def restored_elsewhere(theatre: Theatre, outcome: Outcome) -> None:
    with theatre.own_stage() as stage:
        quiet, busy = stage.tenant(profile="steady"), stage.tenant(profile="steady")
        for n in range(6):
            quiet.upload(f"log-{n}")
        furnish(quiet)
        quiet.wait()
        for trial in range(outcome.trials):
            saved = stage.home / f"backup-{trial}"
            with clients(_upload(busy), _upload_and_delete(busy)) as raised:
                time.sleep(3)
                before = {e.document_id: e.expected for e in stage.ledger.entries(busy.slug)}
                began = time.time()
                stage.command("backup", str(saved))
                outcome.figures["backup"] = f"{time.time() - began:.1f} s"
            outcome.require(not raised, f"a client broke off: {raised[:2]}")
            busy.wait()
            _compare(theatre, outcome, saved, (quiet, busy), before)
        stage.judge(outcome, quiet, busy)


def _compare(
    theatre: Theatre,
    outcome: Outcome,
    saved: Path,
    tenants: tuple[Tenant, Tenant],
    before: dict[str, str],
) -> None:
    """Hold the restored installation against what was acknowledged before the backup began."""
    stage = tenants[0].stage
    with _restored(theatre, saved, outcome) as other:
        quiet, busy = (Tenant(other, t.slug, t.id, t.key) for t in tenants)
        outcome.require(_answers(quiet) == _answers(tenants[0]), "questions are answered otherwise")
        later = 0
        for entry in stage.ledger.entries(busy.slug):
            if entry.document_id not in before:
                later += busy.status(entry.document_id) == GONE
            elif entry.expected != GONE:
                outcome.lost += not _there(busy, entry)
            elif before[entry.document_id] == GONE:
                outcome.leak(int(busy.status(entry.document_id) != GONE), "deleted documents")
        outcome.figures["acknowledged after it began and not in it"] = later
        for what, statement in FENCES.items():
            here, there = stage.sql(statement), other.sql(statement)
            outcome.require(bool(here) and here == there, f"other {what} than before")
            outcome.figures[what] = len(there)
        other.count_leaks(outcome)
        other.audit(outcome)


def _upload(tenant: Tenant) -> Any:
    own = Tenant(tenant.stage, tenant.slug, tenant.id, tenant.key)

    def act() -> None:
        own.upload(f"log-{time.monotonic_ns()}", text_of(str(time.monotonic_ns()), sections=1))
        time.sleep(0.1)

    return act


def _upload_and_delete(tenant: Tenant) -> Any:
    own = Tenant(tenant.stage, tenant.slug, tenant.id, tenant.key)

    def act() -> None:
        name = f"passing-{time.monotonic_ns()}"
        document_id = own.upload(name, text_of(name, sections=1))
        time.sleep(0.2)
        with suppress(httpx2.TransportError):
            if own.client.delete(f"documents/{document_id}").is_success:
                own.stage.ledger.expect(document_id, GONE)

    return act


@fault("F20b", "kill -9 of backups at random moments, then one that is complete", trials=6,
       own_stage=True)  # fmt: skip
def backup_killed(theatre: Theatre, outcome: Outcome) -> None:
    chance = random.Random(20)
    with theatre.own_stage() as stage:
        quiet, busy = stage.tenant(profile="steady"), stage.tenant(profile="steady")
        for n in range(6):
            quiet.upload(f"log-{n}")
        quiet.wait()
        saved = stage.home / "backup"
        with clients(_upload_and_delete(busy)) as raised:
            for _ in range(outcome.trials):
                _kill_midway(stage, saved, chance.uniform(0.5, 3))
                outcome.require(not saved.exists(), "a killed backup looks like a complete one")
        outcome.require(not raised, f"a client broke off: {raised[:2]}")
        busy.wait()
        stage.command("backup", str(saved))
        draft = saved.with_name("backup.partial")
        outcome.leak(int(draft.exists()), "drafts of killed backups")
        before = {e.document_id: e.expected for e in stage.ledger.entries(busy.slug)}
        _compare(theatre, outcome, saved, (quiet, busy), before)
        stage.judge(outcome, quiet, busy)


def _kill_midway(stage: Stage, saved: Path, seconds: float) -> None:
    service = stage.service
    command = [service.python, "manage.py", "backup", str(saved)]
    process = subprocess.Popen(
        command, cwd=service.code, env=service.environment, stdout=subprocess.DEVNULL
    )
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=seconds)
        shutil.rmtree(saved, ignore_errors=True)  # it was complete before it could be killed
    process.kill()
    process.wait()
