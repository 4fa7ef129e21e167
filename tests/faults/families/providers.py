"""Providers that fail: errors, limits, silence, trickles, cut answers and vectors that are none."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import httpx2

from tests import chat_server

from ..outcomes import Outcome, fault
from ..provider import Script, StageHandler, scripted
from ..stage import Stage, Tenant, Theatre

DEADLINE = 15  # seconds, of an embedding call with its retries: provider.embedders
RETRY_AFTER = 7
CLOSED_WITHIN = 2.0  # seconds after the client has left, of the call to the language model


class Failing:
    """A script whose first calls fail in a given way."""

    def __init__(self, calls: int, how: Script) -> None:
        self.calls, self.how = calls, how
        self.at: list[float] = []

    def __call__(self, handler: StageHandler, body: dict[str, Any]) -> None:
        self.at.append(time.monotonic())
        if len(self.at) <= self.calls:
            self.how(handler, body)
        else:
            handler.good(body)

    @property
    def gaps(self) -> list[float]:
        """Seconds between the calls that failed, and to the first that did not."""
        failed = self.at[: self.calls + 1]
        return [later - earlier for earlier, later in pairwise(failed)]


def _job(tenant: Tenant, document_id: str) -> tuple[int, str]:
    statement = "SELECT attempts, state FROM documents_ingestjob WHERE document_id = %s"
    attempts, state = tenant.stage.sql(statement, document_id)[0]
    return int(attempts), str(state)


@fault("F7", "the embedding API answers 500 three times", trials=3)
def three_errors(theatre: Theatre, outcome: Outcome) -> None:
    tenant = theatre.stage.tenant()
    attempts = []
    for trial in range(outcome.trials):
        script = Failing(3, lambda handler, body: handler.answer({}, status=500))
        with scripted(script):
            began = time.monotonic()
            document_id = tenant.upload(f"log-{trial}")
            status = tenant.wait_for(document_id)
        outcome.recovery.append(time.monotonic() - began)
        outcome.require(status == "ready", f"the document is {status}")
        outcome.require(min(script.gaps[:2]) > 0.2, f"tried again at once: {script.gaps}")
        attempts.append(_job(tenant, document_id)[0])
    outcome.figures["attempts"] = attempts
    theatre.stage.judge(outcome, tenant)


@fault("F8", "the embedding API answers 429 with Retry-After 7", trials=2)
def too_many(theatre: Theatre, outcome: Outcome) -> None:
    stage = theatre.stage
    tenant, other = stage.tenant(), stage.tenant(profile="steady")
    waits, others = [], []
    for trial in range(outcome.trials):
        script = Failing(
            1, lambda handler, body: handler.answer({}, status=429, Retry_After=str(RETRY_AFTER))
        )
        with scripted(script):
            document_id = tenant.upload(f"log-{trial}")
            for n in range(3):
                began = time.monotonic()
                other.wait_for(other.upload(f"other-{trial}-{n}"))
                others.append(time.monotonic() - began)
            status = tenant.wait_for(document_id)
        waits += script.gaps
        outcome.require(status == "ready", f"the document is {status}")
        outcome.require(_job(tenant, document_id)[0] == 1, "the lease was lost while waiting")
    outcome.require(min(waits) >= RETRY_AFTER, f"asked again after {min(waits):.1f} s")
    outcome.recovery += waits
    outcome.figures["longest wait of the other tenant"] = f"{max(others):.1f} s"
    stage.judge(outcome, tenant, other)


def _hang(handler: StageHandler, body: dict[str, Any]) -> None:
    time.sleep(60)


def _drip(handler: StageHandler, body: dict[str, Any]) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    for _ in range(600):
        try:
            handler.wfile.write(b" ")
        except OSError:
            return
        time.sleep(0.1)


def _cut(handler: StageHandler, body: dict[str, Any]) -> None:
    handler.cut(body)


@fault(
    "F9", "the embedding API hangs, drips and cuts its answers, with both workers in it", trials=1
)
def silence(theatre: Theatre, outcome: Outcome) -> None:
    stage = theatre.stage
    tenant, other = stage.tenant(), stage.tenant(profile="steady")
    for trial in range(outcome.trials):
        for name, how in (("hang", _hang), ("drip", _drip), ("cut", _cut)):
            with scripted(Failing(6, how)):  # all calls of the first attempt of both
                sent = [tenant.upload(f"{name}-{trial}-{n}") for n in range(2)]
                time.sleep(1)
                began = time.monotonic()
                other.wait_for(other.upload(f"other-{name}-{trial}"))
                free_after = time.monotonic() - began
                statuses = [tenant.wait_for(document_id) for document_id in sent]
            outcome.figures[f"slot free after {name}"] = f"{free_after:.1f} s"
            outcome.recovery.append(free_after)
            outcome.require(statuses == ["ready"] * 2, f"{name}: {statuses}")
            if free_after > DEADLINE + 5:
                outcome.stuck += 1
    stage.judge(outcome, tenant, other)


BAD_VECTORS = ("nan", "zero", "wrong_dimension", "too_few", "null", "words")


def _bad_by_name(handler: StageHandler, body: dict[str, Any]) -> None:
    texts = " ".join(body["input"])
    for name in BAD_VECTORS:
        if f"badly-{name}-" in texts:
            getattr(handler, name)(body)
            return
    handler.good(body)


@fault("F10", "the embedding API returns vectors that are none", trials=1)
def bad_vectors(theatre: Theatre, outcome: Outcome) -> None:
    stage = theatre.stage
    tenant = stage.tenant()
    codes = {}
    for trial in range(outcome.trials):
        with scripted(_bad_by_name):
            sent = {name: tenant.upload(f"badly-{name}-{trial}") for name in BAD_VECTORS}
            good = tenant.upload(f"well-{trial}")
            for name, document_id in sent.items():
                stage.ledger.expect(document_id, "failed")
                tenant.wait_for(document_id)
                document = tenant.get(f"documents/{document_id}").json()
                codes[name] = (document.get("error") or {}).get("code")
                outcome.leak(tenant.fingerprint(document_id)[0], f"passages of {name}")
            outcome.require(tenant.wait_for(good) == "ready", "a good document beside them failed")
    wrong = {name: code for name, code in codes.items() if not str(code).startswith("provider_")}
    outcome.require(not wrong, f"errors {wrong}")
    outcome.figures["codes"] = sorted(set(codes.values()))
    stage.judge(outcome, tenant)


QUESTION = "What did the keeper note about the sea and the oil?"


@contextmanager
def answering(
    theatre: Theatre, *, seconds: int = 10
) -> Iterator[tuple[Stage, Tenant, chat_server.Site]]:
    """A stage with language models that are slow or fail; `seconds` are an answer's limit."""
    with chat_server.provider() as site:
        models = {
            name: {"BACKEND": "openai", "OPTIONS": {"url": site.url(name), "model": name}}
            for name in ("normal", "slow", "dies", "drips", "stalls_midway")
        }
        site.reply_with("The sea was calm and the oil ran low. " * 40)
        settings = {"LANGUAGE_MODELS": json.dumps(models), "ANSWER_SECONDS": str(seconds)}
        with theatre.own_stage(**settings) as stage:
            tenant = stage.tenant(profile="steady")
            tenant.wait_for(tenant.upload("log"))
            yield stage, tenant, site


def last_event(response: httpx2.Response) -> tuple[str, str]:
    blocks = [b for b in response.text.split("\n\n") if b.strip() and not b.startswith(":")]
    name, _, data = blocks[-1].partition("\n")
    return name.removeprefix("event: "), data.removeprefix("data: ")


@fault("F11", "answers: the model dies midway, the client leaves midway", trials=10, own_stage=True)
def streams(theatre: Theatre, outcome: Outcome) -> None:
    codes: dict[str, int] = {}
    with answering(theatre) as (stage, tenant, site):
        for trial in range(outcome.trials):
            model = ("dies", "stalls_midway")[trial % 2]
            answer = tenant.client.post(
                "answer", json={"query": QUESTION, "model": model, "stream": True}
            )
            event, data = last_event(answer)
            code = json.loads(data).get("error", {}).get("code", "") if event == "error" else event
            codes[code] = codes.get(code, 0) + 1
            outcome.require(event == "error", f"{model}: the last event is {event} {data[:200]}")
            seconds = _leave_midway(tenant, site)
            outcome.recovery.append(seconds)
            outcome.require(seconds <= CLOSED_WITHIN, f"{seconds:.1f} s to close the call")
        left = site.unfinished
        outcome.leak(len(left), "calls of the model still open")
        stage.judge(outcome, tenant)
    outcome.figures |= {"last events": codes, "call closed after leaving": ""}
    outcome.figures["call closed after leaving"] = f"{max(outcome.recovery):.1f} s at most"


def _leave_midway(tenant: Tenant, site: chat_server.Site) -> float:
    """Ask, leave after the first piece; returns how long the model's call outlived that."""
    body = {"query": QUESTION, "model": "slow", "stream": True}
    with tenant.client.stream("POST", "answer", json=body) as response:
        for line in response.iter_lines():
            if line == "event: delta":
                break
    left_at = time.monotonic()
    site.wait_for_close(30)
    return time.monotonic() - left_at
