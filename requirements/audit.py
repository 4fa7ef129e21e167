"""Look for known vulnerabilities in everything that locked.txt and torch.txt pin.

    0  every package was looked up, and none has a known vulnerability
    1  some have
    2  the vulnerability service could not be asked about all of them: nothing is known

pip-audit alone exits with 0 for packages that its service does not know. Run by `make audit`.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PIN = re.compile(r"^([A-Za-z0-9][\w.-]*)==([^\s;\\]+)", re.MULTILINE)
NOT_REACHED = "Nothing is known: the vulnerability service could not be asked about {}."


def main() -> int:
    pinned = pins()
    report = ask(pinned)
    if report is None:
        say(NOT_REACHED.format(f"any of {len(pinned)} packages"))
        return 2
    skipped = [entry["name"] for entry in report if "skip_reason" in entry]
    missing = {name.lower() for name, _ in pinned} - {entry["name"].lower() for entry in report}
    vulnerable = [entry for entry in report if entry.get("vulns")]
    for entry in vulnerable:
        for found in entry["vulns"]:
            fixed = ", ".join(found.get("fix_versions", [])) or "no version yet"
            say(f"{entry['name']} {entry['version']}: {found['id']}, fixed in {fixed}")
    if unknown := sorted({*skipped, *missing}):
        say(NOT_REACHED.format(f"{len(unknown)} of {len(pinned)} packages, such as {unknown[0]}"))
        return 1 if vulnerable else 2
    say(f"{len(pinned)} packages looked up, {len(vulnerable)} with known vulnerabilities.")
    return 1 if vulnerable else 0


def pins() -> list[tuple[str, str]]:
    text = (HERE / "locked.txt").read_text() + (HERE / "torch.txt").read_text()
    return PIN.findall(text)


def ask(pinned: list[tuple[str, str]]) -> list[dict[str, Any]] | None:
    """Return what pip-audit found for each package; None if it could not ask."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("".join(f"{name}=={version}\n" for name, version in pinned))
        file.flush()
        command = [str(Path(sys.executable).with_name("pip-audit")), "--format", "json"]
        command += ["--progress-spinner", "off", "--disable-pip", "--no-deps"]
        command += ["--requirement", file.name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    try:
        entries: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError, TypeError):
        say((done.stderr.strip().splitlines() or ["pip-audit gave no report"])[-1][:300])
        return None
    return entries


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
