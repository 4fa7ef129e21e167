"""What the service writes under RAGSITE_HOME can be read by its own user and nobody else."""

import logging
import os
import stat
from pathlib import Path

logger = logging.getLogger(__name__)

UMASK = 0o077
FOLDERS = ("storage", "tmp", "models")
FILES = ("secret_key", "credentials.json")


def make_folder(path: Path, *, mode: int = 0o700) -> None:
    """With exactly this mode, whatever the umask; one that is there stays as it is."""
    try:
        path.mkdir(parents=True)
    except FileExistsError:
        return
    path.chmod(mode)


def keep_private(home: Path) -> None:
    """For this process and its children from now on, and for what earlier releases left open."""
    os.umask(UMASK)
    for name in (*FOLDERS, *FILES):
        _close(home / name)


def _close(path: Path) -> None:
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & UMASK:
            path.chmod(mode & ~UMASK)
            logger.warning("files.closed", extra={"path": str(path), "mode": oct(mode)})
    except FileNotFoundError:
        return
    except PermissionError:
        logger.warning("files.open_to_others", extra={"path": str(path)})
