"""A hostile file hurts nothing but its own job: the worker, with a reader that obeys the file."""

import os
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from io import BytesIO
from typing import BinaryIO

import psutil
import pytest

from documents.ingestion.extraction import SandboxWorker, SandboxWorkerFailed, Unreadable, extract
from documents.passages import Extracted


@pytest.fixture(scope="module")
def worker() -> Iterator[SandboxWorker]:
    # Wall time to spare: on a busy machine a second of processor time may take a minute.
    worker = hostile_worker(wall_seconds=120)
    yield worker
    worker.close()


def hostile_worker(*, wall_seconds: float) -> SandboxWorker:
    return SandboxWorker(
        memory_bytes=512 * 2**20,
        output_bytes=10 * 2**20,
        cpu_seconds=2,
        wall_seconds=wall_seconds,
        module="tests.documents.hostile_worker",
    )


def stored(data: bytes) -> BinaryIO:
    file = tempfile.TemporaryFile()  # noqa: SIM115
    file.write(data)
    file.seek(0)
    return file


def order(worker: SandboxWorker, what: str) -> Extracted:
    with stored(what.encode()) as file:
        return worker.extract(file, media_type="application/x-obedient", name="x")


def test_what_was_read_comes_out_as_it_went_in(worker: SandboxWorker):
    extracted = order(worker, "answer")
    assert extracted.text == "Ünï\u2028 text"
    assert extracted.pages[0].number == 1


def test_every_file_is_read_in_a_process_of_its_own(worker: SandboxWorker):
    pids = {order(worker, "answer").metadata["pid"] for _ in range(3)}
    assert len(pids) == 3
    assert os.getpid() not in pids


@pytest.mark.parametrize(
    ("what", "code", "words"),
    [
        ("complain", "parse_error", "It is broken."),
        ("bug", "parse_error", "damaged or hostile"),
        ("spin", "resource_limit", "processor time"),
        ("hoard", "resource_limit", "memory"),
        ("gush", "resource_limit", "more text"),
        ("dig", "too_complex", "nested"),
        ("crash", "parse_error", "damaged or hostile"),
        ("open_many", "parse_error", "damaged or hostile"),
        ("leave", "parse_error", "damaged or hostile"),
    ],
)
def test_whatever_a_file_does_ends_with_a_code_and_the_worker_goes_on(
    worker: SandboxWorker, what: str, code: str, words: str
):
    with pytest.raises(Unreadable, match=words) as caught:
        order(worker, what)
    assert caught.value.code == code
    assert "secret" not in str(caught.value)
    assert_goes_on(worker)


def test_a_file_that_hangs_its_reader_is_given_up_after_its_time():
    worker = hostile_worker(wall_seconds=2)
    try:
        started = time.monotonic()
        with pytest.raises(Unreadable, match="too long") as caught:
            order(worker, "hang")
        assert caught.value.code == "resource_limit"
        assert time.monotonic() - started < 60  # it would sleep for ten minutes
        worker.wall_seconds = 120
        assert_goes_on(worker)
    finally:
        worker.close()


def assert_goes_on(worker: SandboxWorker) -> None:
    assert order(worker, "answer").text
    assert worker._process is not None
    assert psutil.Process(worker._process.pid).children() == []


def test_a_worker_that_died_is_a_fault_of_ours_and_the_next_file_gets_a_new_one(
    worker: SandboxWorker,
):
    order(worker, "answer")
    assert worker._process is not None
    os.kill(worker._process.pid, signal.SIGKILL)
    worker._process.wait()
    assert order(worker, "answer").text  # seen at once: a new one


def test_a_worker_that_dies_at_work_breaks_one_job_and_no_more(worker: SandboxWorker):
    order(worker, "answer")
    assert worker._process is not None
    threading.Timer(0.5, worker._process.kill).start()
    with pytest.raises(SandboxWorkerFailed):
        order(worker, "hang")
    assert order(worker, "answer").text


def test_plain_text_needs_no_worker():
    file = BytesIO(b"Twelve lights.")
    assert extract(file, media_type="text/plain", name="a.txt").text == "Twelve lights."
