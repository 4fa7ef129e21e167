"""Processes that die: workers at any moment, whoever looks after them, and the web server."""

import json
import random
import time
from collections import Counter
from contextlib import suppress

import httpx2
import psutil

from ..outcomes import Outcome, fault, p95
from ..provider import Hold, StageHandler, scripted
from ..stage import Stage, Tenant, Theatre, clients, text_of, until
from .providers import QUESTION, answering, last_event

BATCHES = 8  # of the document that is killed; the kill comes after 0 to 7 of them
RECOVERY_GOAL = 30.0  # seconds until the next job runs


@fault("F1", "kill -9 of a worker while it embeds", trials=50)
def busy_worker(theatre: Theatre, outcome: Outcome) -> None:
    stage = theatre.stage
    tenant, calm = stage.tenant(), stage.tenant()
    chance = random.Random(1)
    duplicates, wasted = 0, 0
    for trial in range(outcome.trials):
        undisturbed = calm.upload(f"watch-{trial}")
        calm.wait_for(undisturbed)
        embedded = StageHandler.embedded
        hold = Hold(after=chance.randrange(BATCHES))
        with scripted(hold):
            document_id = tenant.upload(f"watch-{trial}")
            until(hold.reached.is_set, seconds=60)
            stage.worker_of(hold.port).kill()
            killed_at = time.monotonic()
            hold.released.set()
            tenant.wait_for(document_id)
        outcome.recovery.append(time.monotonic() - killed_at)
        wanted, got = calm.fingerprint(undisturbed), tenant.fingerprint(document_id)
        outcome.require(wanted == got, f"trial {trial}: passages {got}, undisturbed {wanted}")
        duplicates += max(0, got[0] - wanted[0])
        wasted += StageHandler.embedded - embedded - wanted[0]
    stage.judge(outcome, tenant, calm)
    outcome.figures |= {"p95 recovery": f"{p95(outcome.recovery):.1f} s", "duplicates": duplicates}
    outcome.figures["embedded twice"] = f"{wasted} texts"


def _sentinel(stage: Stage) -> psutil.Process:
    """The process of the worker group that starts the others."""
    workers = stage.service.workers()
    parents = {p.ppid() for p in workers}
    (sentinel,) = [
        p for p in workers if p.pid in parents and p.ppid() in {other.pid for other in workers}
    ]
    return sentinel


def _worker_group(stage: Stage) -> list[psutil.Process]:
    return [p for p in stage.service.workers() if p.ppid() != stage.service.process.pid]


def _next_job_runs(outcome: Outcome, tenant: Tenant, what: str, killed_at: float) -> None:
    document_id = tenant.upload(f"after-{what}-{time.monotonic_ns()}")
    status = tenant.wait_for(document_id)
    seconds = time.monotonic() - killed_at
    outcome.recovery.append(seconds)
    outcome.figures[what] = f"{seconds:.1f} s"
    outcome.require(status == "ready", f"after {what}: the next document is {status}")


@fault("F1b", "kill -9 of whatever is idle, one after the other, then of everything", trials=9)
def idle_processes(theatre: Theatre, outcome: Outcome) -> None:
    stage = theatre.stage
    tenant = stage.tenant(profile="steady")
    outcome.trials = 0

    def kill(what: str, process: psutil.Process) -> None:
        outcome.trials += 1
        with suppress(psutil.NoSuchProcess):
            process.kill()
        _next_job_runs(outcome, tenant, what, time.monotonic())

    tenant.wait_for(tenant.upload("before"))
    # The sentinel starts its workers first, then the monitor, then the pusher.
    children = sorted(_sentinel(stage).children(), key=lambda p: p.create_time())
    names = [*(f"worker {n}" for n in range(1, len(children) - 1)), "monitor", "pusher"]
    for name, child in zip(names, children, strict=True):
        kill(name, child)
    kill("sentinel", _sentinel(stage))
    until(lambda: len(_worker_group(stage)) > 2, seconds=60)
    for process in _worker_group(stage)[1:]:
        process.kill()
    kill("worker group", _worker_group(stage)[0])
    kill("web server", stage.web_processes()[0])
    for what in ("supervisor", "everything"):
        outcome.trials += 1
        if what == "supervisor":
            stage.service.process.kill()
            stage.service.process.wait()
        else:
            tenant.upload("in flight")
            stage.service.kill_everything()
        stage.service.start("--no-samples")
        _next_job_runs(outcome, tenant, f"{what}, started again", time.monotonic())
    late = [seconds for seconds in outcome.recovery if seconds > RECOVERY_GOAL]
    outcome.figures["over 30 s"] = len(late)
    stage.judge(outcome, tenant)


@fault("F23", "SIGTERM and a new start while clients ask, upload and read answers", trials=5,
       own_stage=True)  # fmt: skip
def rolling_restart(theatre: Theatre, outcome: Outcome) -> None:
    with answering(theatre, seconds=60) as (stage, tenant, _):
        _restart(stage, tenant, outcome)


def _restart(stage: Stage, tenant: Tenant, outcome: Outcome) -> None:
    dropped: list[str] = []
    ends: Counter[str] = Counter()  # of streams
    answered = refused = 0

    def ask() -> None:
        nonlocal answered, refused
        try:
            with stage.client(tenant.key) as client:  # a new connection for each question
                question = f"Who noted line {random.randrange(10**6)}?"
                answer = client.post("query", json={"query": question, "k": 3})
        except httpx2.ConnectError:  # nobody listens: the client knows that nothing was begun
            refused += 1
            time.sleep(0.2)
        except httpx2.TransportError as error:
            dropped.append(repr(error))
        else:
            answered += 1
            if answer.status_code not in (200, 503):
                dropped.append(f"{answer.status_code} {answer.text[:200]}")

    def send() -> None:
        with suppress(httpx2.ConnectError):
            uploader.send(f"log-{time.monotonic_ns()}", text_of(str(time.monotonic_ns())))
        time.sleep(0.3)

    def listen() -> None:
        try:
            with stage.client(tenant.key) as client:
                body = {"query": QUESTION, "model": "slow", "stream": True}
                answer = client.post("answer", json=body)
        except httpx2.ConnectError:
            time.sleep(0.2)
        except httpx2.TransportError as error:
            dropped.append(f"a stream: {error!r}")
        else:
            if answer.status_code == 503:
                return
            event, data = last_event(answer)
            code = json.loads(data).get("error", {}).get("code", "") if event == "error" else ""
            ends[code or event] += 1
            if (event, code) not in (("answer", ""), ("error", "shutting_down")):
                dropped.append(f"a stream ends with {event} {data[:200]}")

    uploader = Tenant(stage, tenant.slug, tenant.id, tenant.key)
    for _ in range(outcome.trials):
        with clients(ask, ask, ask, listen, listen, send) as raised:
            time.sleep(3)
            stage.service.stop()
            stopped_at = time.monotonic()
            stage.service.start("--no-samples")
            outcome.recovery.append(time.monotonic() - stopped_at)
            time.sleep(2)
        outcome.require(not raised, f"a client's upload was cut off: {raised[:2]}")
    outcome.require(not dropped, f"{len(dropped)} requests were dropped: {dropped[:3]}")
    outcome.figures |= {"answered": answered, "refused while down": refused}
    outcome.figures |= {"streams ended with": dict(ends), "dropped": len(dropped)}
    outcome.require(ends["shutting_down"] > 0, "no stream was open at a restart")
    stage.judge(outcome, tenant)
