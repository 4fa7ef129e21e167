"""A hostile file hurts nothing but its own job: the cell, with a reader that obeys the file."""

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

from documents.ingestion.extraction import Cell, CellBroken, Unreadable, extract
from documents.passages import Extracted


@pytest.fixture(scope="module")
def cell() -> Iterator[Cell]:
    # Wall time to spare: on a busy machine a second of processor time may take a minute.
    cell = hostile_cell(wall_seconds=120)
    yield cell
    cell.close()


def hostile_cell(*, wall_seconds: float) -> Cell:
    return Cell(
        memory_bytes=512 * 2**20,
        output_bytes=10 * 2**20,
        cpu_seconds=2,
        wall_seconds=wall_seconds,
        module="tests.documents.hostile_cell",
    )


def stored(data: bytes) -> BinaryIO:
    file = tempfile.TemporaryFile()  # noqa: SIM115
    file.write(data)
    file.seek(0)
    return file


def order(cell: Cell, what: str) -> Extracted:
    with stored(what.encode()) as file:
        return cell.extract(file, media_type="application/x-obedient", name="x")


def test_what_was_read_comes_out_as_it_went_in(cell: Cell):
    extracted = order(cell, "answer")
    assert extracted.text == "Ünï\u2028 text"
    assert extracted.pages[0].number == 1


def test_every_file_is_read_in_a_process_of_its_own(cell: Cell):
    pids = {order(cell, "answer").metadata["pid"] for _ in range(3)}
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
def test_whatever_a_file_does_ends_with_a_code_and_the_cell_goes_on(
    cell: Cell, what: str, code: str, words: str
):
    with pytest.raises(Unreadable, match=words) as caught:
        order(cell, what)
    assert caught.value.code == code
    assert "secret" not in str(caught.value)
    assert_goes_on(cell)


def test_a_file_that_hangs_its_reader_is_given_up_after_its_time():
    cell = hostile_cell(wall_seconds=2)
    try:
        started = time.monotonic()
        with pytest.raises(Unreadable, match="too long") as caught:
            order(cell, "hang")
        assert caught.value.code == "resource_limit"
        assert time.monotonic() - started < 60  # it would sleep for ten minutes
        cell.wall_seconds = 120
        assert_goes_on(cell)
    finally:
        cell.close()


def assert_goes_on(cell: Cell) -> None:
    assert order(cell, "answer").text
    assert cell._process is not None
    assert psutil.Process(cell._process.pid).children() == []


def test_a_cell_that_died_is_a_fault_of_ours_and_the_next_file_gets_a_new_one(cell: Cell):
    order(cell, "answer")
    assert cell._process is not None
    os.kill(cell._process.pid, signal.SIGKILL)
    cell._process.wait()
    assert order(cell, "answer").text  # seen at once: a new one


def test_a_cell_that_dies_at_work_breaks_one_job_and_no_more(cell: Cell):
    order(cell, "answer")
    assert cell._process is not None
    threading.Timer(0.5, cell._process.kill).start()
    with pytest.raises(CellBroken):
        order(cell, "hang")
    assert order(cell, "answer").text


def test_plain_text_needs_no_cell():
    file = BytesIO(b"Twelve lights.")
    assert extract(file, media_type="text/plain", name="a.txt").text == "Twelve lights."
