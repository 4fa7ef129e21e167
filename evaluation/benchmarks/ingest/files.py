"""Ingest every file of a folder: each must end as ready, or as failed with a known code.

make bench-files DATA=PATH
"""

import argparse
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from evaluation.benchmarks.service import stage

CODES = stage.READING_CODES | {"too_large", "unsupported_type", "type_mismatch"}


@dataclass(frozen=True, slots=True)
class FileOutcome:
    path: Path
    kind: str
    end: str  # "ready", a code, or a defect: "stuck", "status 500", …
    seconds: float
    peak: int  # bytes, of the process that read it

    @property
    def is_wrong(self) -> bool:
        return self.end != "ready" and self.end not in CODES


class Trial:
    def __init__(self) -> None:
        from django.test import Client

        from documents.accounts import keys
        from documents.ingestion.extraction import shared_sandbox_worker
        from ragsite.database.tenancy import operator

        with operator():
            _, self.key = keys.issue(stage.new_namespace(), scopes=("read", "write"))
        self.client = Client(raise_request_exception=False, SERVER_NAME="localhost")
        self.worker = shared_sandbox_worker()

    def run(self, path: Path) -> FileOutcome:
        started = time.perf_counter()
        self.worker.peak_bytes = 0
        stage.reset_peak()
        kind, end = self._take(path)
        seconds = time.perf_counter() - started
        return FileOutcome(path, kind, end, seconds, self.worker.peak_bytes or stage.peak_bytes())

    def _take(self, path: Path) -> tuple[str, str]:
        suffix = path.suffix.lower().lstrip(".") or "none"
        headers = {"Authorization": f"Bearer {self.key}"}
        with path.open("rb") as file:
            form = {"file": file, "source_uri": path.as_uri(), "on_duplicate": "keep"}
            answer = self.client.post("/api/v1/ingest", form, headers=headers)
        if answer.status_code not in (200, 202):
            error = answer.json().get("error", {}) if answer.status_code < 500 else {}
            return suffix, error.get("code") or f"status {answer.status_code}"
        stage.work()
        (result,) = answer.json()["results"]
        about = self.client.get(f"/api/v1/documents/{result['document_id']}", headers=headers)
        document = about.json()
        if document["status"] == "ready":
            return document["source_type"], "ready"
        failure = document["error"] or {}
        is_over = document["status"] == "failed"
        return document["source_type"], failure.get("code", "no code") if is_over else "stuck"


def report(outcomes: Iterable[FileOutcome]) -> str:
    by_kind: dict[str, list[FileOutcome]] = defaultdict(list)
    for outcome in outcomes:
        by_kind[outcome.kind].append(outcome)
    lines = [
        "| type | files | ready | failed | seconds | slowest | peak memory |",
        "|---|--:|--:|---|--:|--:|--:|",
    ]
    everything = [outcome for group in by_kind.values() for outcome in group]
    for kind, group in [*sorted(by_kind.items()), ("all", everything)]:
        ends = Counter(outcome.end for outcome in group)
        ready = ends.pop("ready", 0)
        failed = ", ".join(f"{count} `{code}`" for code, count in ends.most_common())
        seconds = [outcome.seconds for outcome in group]
        peak = max(outcome.peak for outcome in group) / stage.MEGABYTE
        lines.append(
            f"| {kind} | {len(group)} | {ready} | {failed} | {sum(seconds):.1f} "
            f"| {max(seconds):.2f} | {peak:.0f} MB |"
        )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="A folder; all its files.")
    options = parser.parse_args()
    paths = sorted(path.resolve() for path in options.data.rglob("*") if path.is_file())
    if not paths:
        parser.error(f"There are no files in {options.data}.")
    stage.set_up()
    trial = Trial()
    outcomes = [trial.run(path) for path in paths]
    sys.stdout.write(f"{stage.machine()}\n\n{report(outcomes)}\n")
    wrong = [outcome for outcome in outcomes if outcome.is_wrong]
    for outcome in wrong:
        sys.stdout.write(f"WRONG: {outcome.path}: {outcome.end}\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
