"""The ledger of `make faults`: what it must count, so that a fault cannot pass unnoticed."""

import hashlib
import json
from pathlib import Path

import pytest

from .ledger import GONE, Entry, Ledger, Seen, compare

CONTENT = b"The sea was calm."
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.jsonl")


def verdict_of(ledger: Ledger, seen: Seen) -> tuple[int, int, int]:
    verdict = compare(ledger.entries("acme"), lambda entry: seen)
    return len(verdict.lost), len(verdict.leaked), len(verdict.stuck)


def test_an_acknowledged_upload_that_is_there_is_nothing_to_report(ledger: Ledger):
    ledger.note("acme", "1", CONTENT)
    assert verdict_of(ledger, Seen("ready", DIGEST)) == (0, 0, 0)


@pytest.mark.parametrize(
    "seen",
    [
        Seen(GONE),
        Seen("failed", DIGEST),
        Seen("cancelled", DIGEST),
        Seen("ready"),
        Seen("ready", hashlib.sha256(b"other bytes").hexdigest()),
    ],
    ids=["no document", "failed", "cancelled", "no original", "another original"],
)
def test_an_acknowledged_upload_that_is_missing_is_lost(ledger: Ledger, seen: Seen):
    ledger.note("acme", "1", CONTENT)
    assert verdict_of(ledger, seen) == (1, 0, 0)


@pytest.mark.parametrize("status", ["queued", "processing"])
def test_what_does_not_come_to_an_end_is_stuck(ledger: Ledger, status: str):
    ledger.note("acme", "1", CONTENT)
    assert verdict_of(ledger, Seen(status, DIGEST)) == (0, 0, 1)


def test_what_was_deleted_and_is_still_there_has_leaked(ledger: Ledger):
    ledger.note("acme", "1", CONTENT)
    ledger.expect("1", GONE)
    assert verdict_of(ledger, Seen("ready", DIGEST)) == (0, 1, 0)
    assert verdict_of(ledger, Seen(GONE)) == (0, 0, 0)


def test_a_later_version_replaces_the_earlier_one(ledger: Ledger):
    ledger.note("acme", "1", b"the first version")
    ledger.note("acme", "1", CONTENT)
    assert verdict_of(ledger, Seen("ready", DIGEST)) == (0, 0, 0)


def test_each_namespace_has_its_own_entries(ledger: Ledger):
    ledger.note("acme", "1", CONTENT)
    ledger.note("other", "2", CONTENT)
    assert [entry.document_id for entry in ledger.entries("acme")] == ["1"]


def test_entries_are_on_the_disk_at_once(ledger: Ledger, tmp_path: Path):
    entry = ledger.note("acme", "1", CONTENT)
    lines = (tmp_path / "ledger.jsonl").read_text().splitlines()
    assert [Entry(**json.loads(line)) for line in lines] == [entry]
