"""A container's health check, which starts in a moment because it needs no Django.

    python -m ragsite.service.probe web|worker

Exits with 0 if the web server answers /readyz, or the workers have reported lately.
"""

import os
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

SILENT_AFTER = 90.0
SECONDS = 8.0


def main(arguments: list[str]) -> int:
    if arguments == ["web"]:
        return _report(web_problem())
    if arguments == ["worker"]:
        return _report(worker_problem(Path(os.environ.get("RAGSITE_HOME", "var"))))
    return _report("usage: python -m ragsite.service.probe web|worker")


def web_problem() -> str:
    """Return why the web server is not ready; blank if it is."""
    request = urllib.request.Request(
        f"http://{_address()}:{os.environ.get('PORT', '8000')}/readyz",
        headers={"Host": _host_name()},
    )
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(request, timeout=SECONDS) as answer:
            return "" if answer.status == 200 else f"status {answer.status}"
    except urllib.error.HTTPError as error:
        return error.read(2000).decode("utf-8", "replace")
    except OSError as error:
        return str(error)


def worker_problem(home: Path) -> str:
    """Return why the workers are not known to be alive; blank if they are."""
    try:
        age = time.time() - _mark(home).stat().st_mtime
    except OSError:
        return "no worker has reported yet"
    return "" if age < SILENT_AFTER else f"the workers have been silent for {age:.0f} s"


def note_worker(home: Path) -> None:
    """Record that the workers under this home's supervisor are alive."""
    _mark(home).touch()


def _mark(home: Path) -> Path:
    return home / "run" / "worker.alive"


def _address() -> str:
    host = os.environ.get("HOST", "127.0.0.1")
    if host in ("0.0.0.0", "::"):  # noqa: S104
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


def _host_name() -> str:
    """Return a name that the service accepts (ALLOWED_HOSTS)."""
    names = os.environ.get("ALLOWED_HOSTS", "localhost").split(",")
    return names[0].strip().lstrip(".").replace("*", "localhost") or "localhost"


def _report(problem: str) -> int:
    if problem:
        print(problem, file=sys.stderr)  # noqa: T201
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
