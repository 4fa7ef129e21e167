"""Make files that the service writes under RAGSITE_HOME readable by its own user only."""

import logging
import os
import stat
from pathlib import Path

logger = logging.getLogger(__name__)

UMASK = 0o077
FOLDERS = ("storage", "tmp", "models")
FILES = ("secret_key", "credentials.json")


def make_folder(path: Path, *, mode: int = 0o700) -> None:
    """Create a folder with exactly this mode, whatever the umask; an existing one is unchanged."""
    try:
        path.mkdir(parents=True)
    except FileExistsError:
        return
    path.chmod(mode)


def keep_private(home: Path) -> None:
    """Set the umask for this process and its children, and fix the modes of existing files."""
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
