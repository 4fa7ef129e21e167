"""Disks that are full: for originals, for uploads on their way, and for the database."""

import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import httpx2

from ragsite.postgres import cluster, embedded

from ..outcomes import NotPossibleHere, Outcome, fault
from ..stage import Stage, Tenant, Theatre, text_of, until

MEGABYTE = 2**20


def _mounted(name: str, megabytes: int) -> Callable[[Path], None]:
    """Give the home a small disk of its own, which is gone with the runner's mount namespace."""

    def prepare(home: Path) -> None:
        folder = home / name
        folder.mkdir(mode=0o711)
        command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0711", "none", folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise NotPossibleHere(f"mounting a tmpfs is refused ({done.stderr.strip()})")

    return prepare


class Ballast:
    """A file that takes all room but a little."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "ballast"

    def fill(self, leaving: int) -> None:
        with self.path.open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(b"x" * MEGABYTE)
        with suppress(OSError), self.path.open("ab", buffering=0) as file:
            while file.write(b"x" * 4096):
                pass
        size = self.path.stat().st_size
        with self.path.open("r+b") as file:
            file.truncate(max(0, size - leaving))

    def drop(self) -> None:
        self.path.unlink()


def _large(name: str, kilobytes: int) -> bytes:
    """Text of which only little is indexed in the time of a trial."""
    return text_of(name) + b"\n\n" + b" " * (kilobytes * 1024)


def _fill_up(tenant: Tenant, outcome: Outcome, kilobytes: int, *, times: int) -> int:
    """Upload so often; returns how often it was refused for want of room."""
    refused = 0
    for n in range(times):
        name = f"file-{time.monotonic_ns()}"
        answer = tenant.send(name, _large(name, kilobytes))
        if answer.status_code in (413, 507):
            refused += 1
            code = answer.json()["error"]["code"]
            outcome.require(code == "storage_full", f"{answer.status_code} with the code {code}")
        else:
            what = f"upload {n}: {answer.status_code} {answer.text[:300]}"
            outcome.require(answer.status_code in (200, 202), what)
    return refused


def _documents(tenant: Tenant) -> int:
    return int(tenant.stage.sql(
        "SELECT count(*) FROM documents_document WHERE namespace_id = %s", tenant.id
    )[0][0])  # fmt: skip


def _still_answers(tenant: Tenant, outcome: Outcome) -> None:
    answer = tenant.query(f"Who noted line {time.monotonic_ns()}?")
    found = answer.status_code == 200 and bool(answer.json()["results"])
    outcome.require(found, f"a query while the disk is full: {answer.status_code}")


def _recover(tenant: Tenant, outcome: Outcome, freed_at: float) -> None:
    document_id = tenant.upload(f"after-{time.monotonic_ns()}")
    outcome.require(tenant.wait_for(document_id) == "ready", "no upload succeeds afterwards")
    outcome.recovery.append(time.monotonic() - freed_at)


@fault("F4", "disk full: originals", trials=2, own_stage=True)
def originals(theatre: Theatre, outcome: Outcome) -> None:
    refused = 0
    with theatre.own_stage(_mounted("storage", 64)) as stage:
        tenant = stage.tenant(profile="steady")
        tenant.wait_for(tenant.upload("base"))
        ballast = Ballast(stage.home / "storage")
        for _ in range(outcome.trials):
            ballast.fill(leaving=MEGABYTE)
            refused += _fill_up(tenant, outcome, 300, times=8)
            _still_answers(tenant, outcome)
            ballast.drop()
            _recover(tenant, outcome, time.monotonic())
        acknowledged = len(stage.ledger.entries(tenant.slug))
        outcome.leak(_documents(tenant) - acknowledged, "documents that were refused")
        outcome.require(refused > 0, "nothing was refused")
        stage.judge(outcome, tenant)
    outcome.figures["refused"] = refused


@fault("F6", "disk full: uploads on their way", trials=2, own_stage=True)
def temporary_files(theatre: Theatre, outcome: Outcome) -> None:
    refused = 0
    with theatre.own_stage(_mounted("tmp", 16)) as stage:
        tenant = stage.tenant(profile="steady")
        tenant.wait_for(tenant.upload("base"))
        ballast = Ballast(stage.home / "tmp")
        for _ in range(outcome.trials):
            ballast.fill(leaving=MEGABYTE)
            refused += _fill_up(tenant, outcome, 8 * 1024, times=3)
            left = [p for p in (stage.home / "tmp").rglob("*") if p.is_file() and p != ballast.path]
            outcome.leak(sum(p.stat().st_size for p in left), "bytes of refused uploads")
            _still_answers(tenant, outcome)
            ballast.drop()
            _recover(tenant, outcome, time.monotonic())
        outcome.require(refused == 3 * outcome.trials, f"only {refused} were refused")
        stage.judge(outcome, tenant)
    outcome.figures["refused"] = refused


@fault("F5", "disk full: the database", trials=1, own_stage=True)
def database(theatre: Theatre, outcome: Outcome) -> None:
    codes: dict[int, int] = {}
    with theatre.own_stage(_mounted("postgres", 900)) as stage:
        tenant = stage.tenant(profile="steady")
        tenant.wait_for(tenant.upload("base"))
        ballast = Ballast(stage.home / "postgres")
        for _ in range(outcome.trials):
            ballast.fill(leaving=2 * MEGABYTE)
            _press_on(tenant, codes)
            ballast.drop()
            freed_at = time.monotonic()
            until(lambda: _answers(tenant), seconds=120)
            _recover(tenant, outcome, freed_at)
        wrong = {code: n for code, n in codes.items() if code not in (200, 202, 503, 507)}
        outcome.require(not wrong, f"responses while the disk was full: {wrong}")
        outcome.require(any(code >= 500 for code in codes), f"nothing was refused: {codes}")
        _check_indexes(stage, outcome)
        _check_pages(stage, outcome)
        _compare_with_exact(stage, tenant, outcome)
        stage.judge(outcome, tenant)
    outcome.figures["responses"] = codes


def _press_on(tenant: Tenant, codes: dict[int, int]) -> None:
    """Upload until the database has refused for a while."""
    deadline = time.monotonic() + 60
    refused = 0
    while time.monotonic() < deadline and refused < 20:
        name = f"file-{time.monotonic_ns()}"
        with suppress(httpx2.TransportError):
            status = tenant.send(name, text_of(name, sections=60)).status_code
            codes[status] = codes.get(status, 0) + 1
            refused += status >= 500
        time.sleep(0.1)


def _answers(tenant: Tenant) -> bool:
    with suppress(httpx2.TransportError):
        return tenant.client.get("documents").status_code == 200
    return False


def _check_indexes(stage: Stage, outcome: Outcome) -> None:
    """Every table and B-tree must be whole, as far as this PostgreSQL can tell."""
    if not stage.sql("SELECT 1 FROM pg_available_extensions WHERE name = 'amcheck'"):
        outcome.figures["amcheck"] = "not in this PostgreSQL"
        return
    program = cluster.binaries(embedded.MAJOR) / "pg_amcheck"
    sockets = embedded.EmbeddedServer(stage.home).socket_dir()
    command = [program, "--install-missing", "-h", sockets, "-U", "postgres", "ragsite"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    outcome.require(done.returncode == 0, f"pg_amcheck: {(done.stdout + done.stderr)[-500:]}")
    stage.sql("DROP EXTENSION amcheck")
    outcome.figures["amcheck"] = "nothing found"


def _check_pages(stage: Stage, outcome: Outcome) -> None:
    """Stop the service and compare every page of the database with its checksum."""
    stage.service.stop()
    program = cluster.binaries(embedded.MAJOR) / "pg_checksums"
    command = [program, "--check", "-D", stage.home / "postgres" / "data"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    outcome.require(done.returncode == 0, f"pg_checksums: {(done.stdout + done.stderr)[-500:]}")
    stage.service.start("--no-samples")


NEAREST = """
    SELECT id FROM documents_chunk WHERE profile_id = '{profile}'
    ORDER BY (embedding::halfvec(256) <#> '{vector}'::halfvec(256)) {exactly} LIMIT 10
"""


def _compare_with_exact(stage: Stage, tenant: Tenant, outcome: Outcome) -> None:
    """The vector index must find what reading every row finds."""
    ((profile, vector),) = stage.sql(
        "SELECT profile_id, embedding::text FROM documents_chunk WHERE namespace_id = %s LIMIT 1",
        tenant.id,
    )
    values = {"profile": profile, "vector": vector}
    by_index = set(stage.sql(NEAREST.format(exactly="", **values)))
    exact = set(stage.sql(NEAREST.format(exactly="+ 0", **values)))  # an index cannot serve this
    same = len(by_index & exact)
    outcome.figures["recall@10"] = f"{same}/{len(exact)}"
    outcome.require(same >= 0.9 * len(exact), f"recall {same} of {len(exact)}")
