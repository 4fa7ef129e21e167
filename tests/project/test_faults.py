"""Killed at any moment: nothing lost, nothing twice, no hand needed. Run by `make test-faults`."""

import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from .service import Service, until

pytestmark = pytest.mark.faults

PARAGRAPH = "The keeper of light {n} noted in line {m} that the sea was calm and the oil ran low. "


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    # Durable, unlike in the other tests: this is where a promise is tried.
    extra = {"JOB_LEASE_SECONDS": "10", "RAGSITE_PG_FSYNC": "on"}
    service = Service(tmp_path / "home", extra=extra)
    try:
        service.start("--no-samples")
        yield service
    finally:
        service.kill_everything()


def text_of(number: int) -> str:
    sections = (
        f"## Watch {s}\n\n" + "".join(PARAGRAPH.format(n=number, m=s * 10 + m) for m in range(8))
        for s in range(6)
    )
    return f"# Log {number}\n\n" + "\n\n".join(sections)


def send(service: Service, numbers: range) -> list[str]:
    """Only what was acknowledged counts: this is the ledger."""
    acknowledged = []
    with service.client() as client:
        for number in numbers:
            files = {"file": (f"log-{number}.md", text_of(number))}
            answer = client.post("ingest", files=files)
            assert answer.status_code == 202, answer.text
            acknowledged.append(answer.json()["results"][0]["document_id"])
    return acknowledged


def statuses(service: Service) -> Counter[str]:
    counts: Counter[str] = Counter()
    with service.client() as client:
        address = "documents?limit=200"
        while address:
            page = client.get(address).json()
            counts.update(document["status"] for document in page["results"])
            address = page["next"]
    return counts


def wait_until_done(service: Service, *, seconds: float) -> Counter[str]:
    def done() -> Counter[str] | None:
        counts = statuses(service)
        return counts if not counts["queued"] + counts["processing"] else None

    return until(done, seconds=seconds, every=1)


def assert_each_is_whole_and_there_once(service: Service, ledger: list[str]) -> None:
    with service.client() as client:
        for number, document_id in enumerate(ledger):
            document = client.get(f"documents/{document_id}").json()
            assert document["status"] == "ready", document
            chunks = client.get(f"documents/{document_id}/chunks?limit=200").json()["results"]
            assert [c["ordinal"] for c in chunks] == list(range(document["chunks_count"]))
            text = client.get(f"documents/{document_id}/text").json()["text"]
            assert text == text_of(number)
            for chunk in chunks:
                assert text[chunk["span"]["start"] : chunk["span"]["end"]] == chunk["content"]


def kill(process: psutil.Process) -> None:
    with suppress(psutil.NoSuchProcess):
        process.send_signal(signal.SIGKILL)


def test_random_worker_processes_killed_while_two_hundred_files_are_indexed(service: Service):
    ledger = send(service, range(200))
    chance = random.Random(1)
    for _ in range(12):
        time.sleep(chance.uniform(0.5, 4))
        if victims := service.workers():
            kill(chance.choice(victims))
    assert wait_until_done(service, seconds=400) == Counter(ready=200)
    assert_each_is_whole_and_there_once(service, ledger)


def test_idle_workers_killed_and_the_next_document_is_indexed_all_the_same(service: Service):
    time.sleep(5)
    for process in service.workers():
        if psutil.Process(process.pid).ppid() != service.process.pid:
            kill(process)
    (document_id,) = send(service, range(1))
    started = time.monotonic()
    assert wait_until_done(service, seconds=90) == Counter(ready=1)
    assert time.monotonic() - started < 60
    assert_each_is_whole_and_there_once(service, [document_id])


def test_everything_killed_and_started_again_recovers_by_itself(service: Service):
    ledger = send(service, range(40))
    time.sleep(3)
    service.kill_everything()
    assert service.processes() == []
    service.start("--no-samples")
    assert wait_until_done(service, seconds=300) == Counter(ready=40)
    assert_each_is_whole_and_there_once(service, ledger)


def test_only_the_supervisor_killed_leaves_nothing_running(service: Service):
    service.process.send_signal(signal.SIGKILL)
    service.process.wait()
    until(
        lambda: not [p for p in service.processes() if "postgres" not in p.name()],
        seconds=40,
    )
    service.start("--no-samples")
    ledger = send(service, range(3))
    assert wait_until_done(service, seconds=120) == Counter(ready=3)
    assert_each_is_whole_and_there_once(service, ledger)


def test_the_database_killed_answers_503_and_comes_back(service: Service):
    ledger = send(service, range(20))
    postmaster = [p for p in service.processes() if p.name() == "postgres" and "-D" in p.cmdline()]
    assert len(postmaster) == 1
    kill(postmaster[0])
    with service.client() as client:
        seen = Counter()
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            seen[client.get("documents").status_code] += 1
            if seen[200]:
                break
            time.sleep(0.3)
    assert set(seen) <= {200, 503}, seen
    assert seen[200]
    assert wait_until_done(service, seconds=300) == Counter(ready=20)
    assert_each_is_whole_and_there_once(service, ledger)
