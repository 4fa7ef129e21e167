"""Finds Chromium, or installs Debian's: `python -m tests.browser.chromium`."""

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome")
SKIPPED = 3  # the exit code that tells make to go on without the browser tests


def find() -> str | None:
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def install() -> None:
    if shutil.which("apt-get") and os.geteuid() == 0:
        for command in (["update", "-qq"], ["install", "-y", "-qq", "chromium"]):
            subprocess.run(["apt-get", *command], stdout=subprocess.DEVNULL, check=False)


if __name__ == "__main__":
    if find() is None:
        install()
    if find() is None:
        print("There is no Chromium and no apt-get to install it: browser tests are skipped.")  # noqa: T201
        sys.exit(SKIPPED)
