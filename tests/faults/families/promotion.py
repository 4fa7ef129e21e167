"""The primary database dies under load, and its replica is promoted."""

import random
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import psutil
import psycopg

from ragsite.postgres.embedded import EmbeddedServer
from tests.standby import Standby, standby_of

from ..outcomes import Outcome, fault, p95
from ..stage import Stage, Tenant, Theatre, clients, text_of, until

CALM_SECONDS = 8.0  # of load before the primary dies, and after the promotion
LAGS = 100  # measurements


@dataclass
class Servers:
    """The primary and its replica; after the promotion there is only the second."""

    primary: EmbeddedServer
    standby: Standby

    @property
    def sockets(self) -> list[Path]:
        return [self.primary.socket_dir(), self.standby.sockets]

    def address(self, choice: str, *, login: str = "") -> str:
        hosts = ",".join(f"{str(each).replace('/', '%2F')}:5432" for each in self.sockets)
        return f"postgres://{login}{hosts}/ragsite?target_session_attrs={choice}"

    def sql(self, statement: str, *values: Any, which: str = "read-write") -> Any:
        hosts = ",".join(map(str, self.sockets))
        with psycopg.connect(
            host=hosts, user="postgres", dbname="ragsite", autocommit=True,
            target_session_attrs=which,
        ) as connection:  # fmt: skip
            return connection.execute(statement, values or None).fetchall()  # type: ignore[arg-type]

    def lags(self) -> list[float]:
        """Milliseconds until the replica has replayed what the primary has just written."""
        found = []
        folder = {"user": "postgres", "dbname": "ragsite", "autocommit": True}
        with (
            psycopg.connect(host=str(self.sockets[0]), **folder) as first,  # type: ignore[arg-type]
            psycopg.connect(host=str(self.sockets[1]), **folder) as second,  # type: ignore[arg-type]
        ):
            for _ in range(LAGS):
                (position,) = first.execute("SELECT pg_current_wal_flush_lsn()").fetchone() or ()
                began = time.monotonic()
                replayed = "SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn"
                while not (second.execute(replayed, [position]).fetchone() or ())[0]:
                    time.sleep(0.0005)
                found.append((time.monotonic() - began) * 1000)
                time.sleep(0.03)
        return found

    def kill_primary(self) -> None:
        mine = str(self.primary.home)
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.name() == "postgres" and any(mine in part for part in process.cmdline()):
                    children = process.children(recursive=True)
                    process.kill()
                    for child in children:
                        with suppress(psutil.NoSuchProcess):
                            child.kill()


class ReplicatedStage(Stage):
    servers: Servers

    def sql(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        return list(self.servers.sql(statement, *values))


@dataclass
class Reader:
    """Uploads and asks for what was uploaded, at once; and asks for what has long been there."""

    stage: Stage
    tenant: Tenant
    answered: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    refused: list[float] = field(default_factory=list)  # moments
    done: list[float] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def ask(self) -> None:
        self._ask(f"Who noted line {random.randrange(10**6)} calm?", "base")
        time.sleep(0.02)

    def send_and_ask(self) -> None:
        name = f"beacon{time.monotonic_ns()}"
        try:
            with self.stage.client(self.tenant.key) as client:
                sender = Tenant(self.stage, self.tenant.slug, self.tenant.id, self.tenant.key)
                sender.client = client
                answer = sender.send(name, text_of(name, word=name, sections=1), wait="20")
        except httpx2.TransportError as error:
            self.wrong.append(f"upload: {error!r}")
            return
        if self._is_served(answer) and answer.json()["results"][0]["status"] == "ready":
            self._ask(name, name)

    def _ask(self, question: str, expected: str) -> None:
        body = {"query": question, "k": 10, "mode": "lexical" if expected == question else "hybrid"}
        try:
            with self.stage.client(self.tenant.key) as client:
                answer = client.post("query", json=body)
        except httpx2.TransportError as error:
            self.wrong.append(f"query: {error!r}")
            return
        if not self._is_served(answer):
            return
        found = answer.json()
        source = "primary" if any("primary" in f for f in self._fallbacks(found)) else "replica"
        with self._lock:
            self.answered[source] += 1
            self.done.append(time.monotonic())
        if not any(expected in hit["source_uri"] for hit in found["results"]):
            self.wrong.append(f"{expected} not found, read from the {source}")

    @staticmethod
    def _fallbacks(found: dict[str, Any]) -> list[str]:
        return list(found["diagnostics"]["fallbacks"])

    def _is_served(self, answer: httpx2.Response) -> bool:
        if answer.status_code == 503 and answer.headers.get("Retry-After"):
            self.refused.append(time.monotonic())
            time.sleep(0.1)
            return False
        if answer.status_code not in (200, 202):
            self.wrong.append(f"{answer.status_code} {answer.text[:300]}")
            return False
        return True


@fault("F2b", "the primary database dies, its replica is promoted", trials=1, own_stage=True)
def promotion(theatre: Theatre, outcome: Outcome) -> None:
    for trial in range(outcome.trials):
        home = theatre.folder / f"primary-{trial}"
        home.mkdir(mode=0o711)
        primary = EmbeddedServer(home, fsync=True)
        primary.ensure_running()
        try:
            with standby_of(primary) as standby:
                _play(theatre, outcome, Servers(primary, standby), trial)
        finally:
            Servers(primary, standby).kill_primary()
            primary.release()


def _play(theatre: Theatre, outcome: Outcome, servers: Servers, trial: int) -> None:
    # An upload is acknowledged only when the replica has it.
    with psycopg.connect(
        host=str(servers.sockets[0]), user="postgres", dbname="ragsite", autocommit=True
    ) as connection:
        connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
        connection.execute("SELECT pg_reload_conf()")
    addresses = {
        "DATABASE_URL": servers.address("read-write", login="postgres@"),
        "DATABASE_REPLICA_URL": servers.address("prefer-standby"),
        "CACHE_RESULTS_SECONDS": "0",
    }
    stage = ReplicatedStage(
        theatre.folder / f"home-replicated-{trial}",
        theatre.ledger,
        theatre.embedding_api,
        **addresses,
    )
    stage.servers = servers
    stage.home.mkdir(parents=True)
    try:
        stage.open()
        tenant = stage.tenant(profile="steady")
        tenant.wait_for(tenant.upload("base", text_of("base", word="calm", sections=3)))
        reader = Reader(stage, tenant)
        with clients(*[reader.ask] * 3, reader.send_and_ask, reader.send_and_ask) as raised:
            began = time.monotonic()
            lags = servers.lags()
            time.sleep(max(0.0, CALM_SECONDS - (time.monotonic() - began)))
            before = Counter(reader.answered)
            outcome.require(not reader.wrong, f"before: {reader.wrong[:3]}")
            servers.kill_primary()
            died = time.monotonic()
            servers.standby.promote()
            promoted = time.monotonic()
            until(lambda: any(moment > promoted for moment in reader.done), seconds=120)
            time.sleep(CALM_SECONDS)
        outcome.require(not raised, f"a client broke off: {raised[:2]}")
        outcome.require(not reader.wrong, f"{len(reader.wrong)}: {reader.wrong[:3]}")
        back = min(moment for moment in reader.done if moment > promoted)
        outcome.recovery.append(back - died)
        outcome.figures |= {
            "lag ms p50/p95": f"{sorted(lags)[len(lags) // 2]:.1f}/{p95(lags):.1f}",
            "promoted in s": f"{promoted - died:.2f}",
            "read from the replica before": f"{before['replica']} of {before.total()}",
            "503": len(reader.refused),
            "answered after": len([moment for moment in reader.done if moment > promoted]),
        }
        stage.judge(outcome, tenant)
    finally:
        stage.close()
