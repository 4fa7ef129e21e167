"""The version of the code: the commit in a checkout, else the release."""

import subprocess
import tomllib
from functools import cache
from pathlib import Path

from django.conf import settings


@cache
def code_version() -> str:
    root = Path(settings.BASE_DIR)
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    release = str(project["version"])
    try:
        commit = _git(root, "rev-parse", "--short=12", "HEAD")
        changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.SubprocessError):
        return release
    return f"{release} {commit}{'+changes' if changed else ''}"


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(  # noqa: S603
        ["git", *arguments],  # noqa: S607
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
        timeout=10,
    )
    return done.stdout.strip()
