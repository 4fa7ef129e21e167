"""Selects the faults, tries one after the other, and prints a line for each.

python -m tests.faults.runner --only F1 F4 --trials 50 --json faults.json
"""

import argparse
import ctypes
import json
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import psutil

from . import outcomes
from .ledger import Ledger
from .outcomes import FAULTS, Fault, NotPossibleHere, Outcome
from .provider import StageHandler, embedding_api
from .stage import Theatre

CLONE_NEWNS = 0x00020000
MS_REC, MS_PRIVATE = 0x4000, 0x40000


def _load_families() -> None:
    from . import families  # noqa: F401  (each registers its faults)


def run(fault: Fault, theatre: Theatre, trials: int | None = None) -> Outcome:
    """Try one fault. What a trial did not expect counts as stuck."""
    outcome = Outcome(trials=trials or fault.trials)
    StageHandler.forget()
    try:
        fault.play(theatre, outcome)
    except NotPossibleHere as reason:
        outcome.impossible = str(reason)
    except Exception as error:
        outcome.stuck += 1
        outcome.remarks.append(f"the trial broke off: {error!r}\n{traceback.format_exc()}")
    if not outcome.is_good:
        theatre.drop_shared()
    return outcome


def _own_mounts() -> None:
    """Leave the machine's mount namespace, so that what is mounted here is seen by nobody else."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) == 0:
        libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None)


def _end_at_once(folder: Path) -> None:
    """At SIGTERM take along what was started, without waiting for clients that wait for it."""

    def end(*_: object) -> None:
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                home = process.environ().get("RAGSITE_HOME", "")
                if any(str(folder) in part for part in (home, *process.cmdline())):
                    process.kill()
        _remove(folder)
        os._exit(143)

    signal.signal(signal.SIGTERM, end)


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Try faults on the running service.")
    parser.add_argument("--only", nargs="*", default=[], help="Their codes, e.g. F1 F4.")
    parser.add_argument("--trials", type=int, help="How often, where a fault can be repeated.")
    parser.add_argument("--json", type=Path, help="Also write all figures to this file.")
    parser.add_argument("--keep", action="store_true", help="Keep homes and logs.")
    parser.add_argument("--list", action="store_true", help="Only list the faults.")
    return parser.parse_args(argv)


def chosen(only: Sequence[str]) -> list[Fault]:
    """Return the faults with these codes, or all of them."""
    if unknown := [code for code in only if code not in FAULTS]:
        raise SystemExit(f"No such fault: {', '.join(unknown)}. There are {', '.join(FAULTS)}.")
    selected = [one for one in FAULTS.values() if not only or one.code in only]
    return sorted(selected, key=lambda one: (int(one.code.strip("Fabc")), one.code))


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main(argv: Sequence[str] | None = None) -> int:
    options = _arguments(argv)
    _load_families()
    selected = chosen(options.only)
    if options.list:
        for one in selected:
            say(f"{one.code:<6} {one.title}")
        return 0
    _own_mounts()
    folder = Path(tempfile.mkdtemp(prefix="rf-"))
    _end_at_once(folder)
    folder.chmod(0o711)  # the database's user must be able to enter
    done: dict[str, Outcome] = {}
    started = time.monotonic()
    try:
        with embedding_api() as address:
            theatre = Theatre(folder, Ledger(folder / "ledger.jsonl"), address)
            try:
                say(outcomes.heading())
                for one in selected:
                    done[one.code] = run(one, theatre, options.trials)
                    say(outcomes.line(one.code, one.title, done[one.code]))
                    for remark in done[one.code].remarks:
                        say("       " + remark.replace("\n", "\n       "))
            finally:
                theatre.drop_shared()
    finally:
        if options.json:
            rows = {code: asdict(outcome) for code, outcome in done.items()}
            options.json.write_text(json.dumps(rows, indent=2))
        if options.keep:
            say(f"Homes and logs are in {folder}.")
        else:
            _remove(folder)
    say(f"{len(done)} faults in {(time.monotonic() - started) / 60:.0f} minutes.")
    return outcomes.exit_code(list(done.values()))


def _remove(folder: Path) -> None:
    for _ in range(3):  # a database that has just been killed may still be writing
        with suppress(OSError):
            shutil.rmtree(folder)
            return
        time.sleep(1)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    sys.exit(main())
