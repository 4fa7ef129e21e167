"""Migrations with data: back and forward again, and under the code of the release before."""

import hashlib
import json
import subprocess
import tarfile
import time
from io import BytesIO
from pathlib import Path

from tests.project.service import ROOT, Service
from tests.project.upgrades import RELEASES

from ..belongings import furnish
from ..outcomes import NotPossibleHere, Outcome, fault
from ..stage import UNLIMITED, Stage, Tenant, Theatre, clients
from .database import Onlooker

# The last migrations of 0.2.0.
OF_0_2_0 = {"documents": "0019", "evaluation": "0003", "retrieval": "0005"}
# What migrations and the service itself write meanwhile.
NOT_COMPARED = {"django_migrations", "django_content_type", "auth_permission",
                "auth_user_user_permissions", "documents_workerheartbeat", "django_q_ormq",
                "documents_requestcount"}  # fmt: skip
COLUMNS = """
    SELECT table_name, column_name FROM information_schema.columns c
    JOIN information_schema.tables t USING (table_schema, table_name)
    WHERE table_schema = 'public' AND table_type = 'BASE TABLE' ORDER BY 1, 2
"""
# Those that 0.2.0 knows; 0 is no limit.
RATE_LIMITS = json.dumps(dict.fromkeys(UNLIMITED[:-1], 0))
LONGEST_LOCK = 2.5  # seconds that a statement of a client may wait for a migration


def _columns(stage: Stage) -> set[tuple[str, str]]:
    return {row for row in stage.sql(COLUMNS) if row[0] not in NOT_COMPARED}  # type: ignore[misc]


def _digests(stage: Stage) -> dict[tuple[str, str], str]:
    """A digest of each column: what it holds, and in which row."""
    columns = _columns(stage)
    digests = {}
    for table, column in columns:
        key = "id" if (table, "id") in columns else column
        rows = stage.sql(f'SELECT "{key}"::text, "{column}"::text FROM "{table}"')
        digests[table, column] = hashlib.sha256(repr(sorted(map(repr, rows))).encode()).hexdigest()
    return digests


def _fill(tenant: Tenant) -> None:
    for n in range(6):
        tenant.upload(f"log-{n}")
    # 0.2.0 knows facts of rows alone: on the way back the statements of others are dropped.
    furnish(tenant, states_facts=False)
    tenant.wait()
    time.sleep(3)  # the query log is written beside the requests


@fault("F19", "migrations back to 0.2.0 and forward again, with data", trials=2, own_stage=True)
def back_and_forward(theatre: Theatre, outcome: Outcome) -> None:
    with theatre.own_stage() as stage:
        tenant = stage.tenant(profile="steady")
        _fill(tenant)
        for _ in range(outcome.trials):
            stage.service.stop()
            began = time.monotonic()
            with stage.database():
                before = _digests(stage)
                for app, number in OF_0_2_0.items():
                    stage.command("migrate", app, number, "--verbosity", "0")
                shared = _columns(stage) & before.keys()
                stage.command("migrate", "--verbosity", "0")
                after = _digests(stage)
            changed = sorted(one for one in shared if after.get(one) != before[one])
            outcome.require(not changed, f"{len(changed)} columns have changed: {changed[:20]}")
            outcome.figures["columns as before"] = f"{len(shared) - len(changed)}/{len(shared)}"
            stage.service.start("--no-samples")
            outcome.recovery.append(time.monotonic() - began)
            stage.judge(outcome, tenant)


def _checkout(release: str, folder: Path) -> Path:
    """The code of a release, from this repository's history."""
    archive = subprocess.run(
        ["git", "archive", RELEASES[release]], cwd=ROOT, capture_output=True, check=False
    )
    if archive.returncode:
        raise NotPossibleHere(f"the history of this repository does not have {release}")
    with tarfile.open(fileobj=BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")
    return folder


def _waits(stage: Stage) -> float:
    """For how long any client's statement has been waiting for a lock, in seconds."""
    waiting = stage.sql(
        "SELECT coalesce(extract(epoch FROM max(now() - query_start)), 0)::float8 "
        "FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND usename LIKE 'ragsite%%'"
    )
    return float(waiting[0][0])


@fault("F19b", "migrations while the code of 0.2.0 serves, which then goes on", own_stage=True)
def under_old_code(theatre: Theatre, outcome: Outcome) -> None:
    old = _checkout("0.2.0", theatre.folder / "old")
    with theatre.own_stage(code=old, RATE_LIMITS=RATE_LIMITS) as stage:
        tenant = stage.tenant(profile="steady")
        tenant.wait_for(tenant.upload("base"))
        onlooker = Onlooker(stage, tenant)
        newest = Service(stage.home, port=stage.service.port, extra=stage.service.extra)
        with clients(onlooker.ask, onlooker.read, onlooker.send) as raised:
            time.sleep(3)
            longest = _migrate(stage, newest, outcome)
            time.sleep(10)  # the old code on the new tables
            left = tenant.upload("by the old code")
            tenant.wait_for(left)
        outcome.require(not raised, f"a client broke off: {raised[:2]}")
        outcome.require(longest <= LONGEST_LOCK, f"a client waited {longest:.1f} s for a lock")
        outcome.figures["longest wait for a lock"] = f"{longest:.1f} s"
        stage.service.stop()
        stage.service = newest
        newest.start("--no-samples")
        onlooker.report(outcome)
        stage.judge(outcome, tenant)


def _migrate(stage: Stage, newest: Service, outcome: Outcome) -> float:
    command = [newest.python, "manage.py", "migrate", "--verbosity", "0"]
    began = time.monotonic()
    process = subprocess.Popen(command, cwd=newest.code, env=newest.environment)
    longest = 0.0
    while process.poll() is None:
        longest = max(longest, _waits(stage))
        time.sleep(0.02)
    outcome.require(process.returncode == 0, f"migrate ended with {process.returncode}")
    outcome.recovery.append(time.monotonic() - began)
    return longest
