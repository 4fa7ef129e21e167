"""Write locked.txt: every package that the service runs on, pinned, with the hashes of its files.

torch is left out, and with it its CUDA packages: which build is right depends on the machine, so
install_torch.py installs it first. The rest is then installed with

    pip install --require-hashes --no-deps -r requirements/locked.txt

Run by `make lock`, with uv and with the package indexes that pip is set up for.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
INPUTS = ("base.txt", "s3.txt", "tracing.txt")
LEFT_OUT = re.compile(r"(torch|triton|nvidia-[\w-]+|cuda-[\w-]+)==")
PIN = re.compile(r"^[\w.-]+==", re.MULTILINE)
HEADER = "# Written by `make lock` (requirements/lock.py). torch comes first: install_torch.py.\n"


def main() -> int:
    command = [
        *(str(Path(sys.executable).with_name("uv")), "pip", "compile"),
        *(str(HERE / name) for name in INPUTS),
        *("--universal", "--python-version", "3.11", "--generate-hashes", "--quiet"),
        *("--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-find-links"),
        *("--index-strategy", "unsafe-best-match"),  # as pip does: the best of all indexes
    ]
    done = subprocess.run(  # noqa: S603
        command, env={**os.environ, **indexes()}, stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode:
        say("The packages could not be resolved: see above. locked.txt is unchanged.")
        return done.returncode
    text = HEADER + without_torch(done.stdout)
    (HERE / "locked.txt").write_text(text)
    say(f"{len(PIN.findall(text))} packages locked in requirements/locked.txt.")
    return 0


def indexes() -> dict[str, str]:
    """Return pip's package indexes under uv's names; uv does not read pip's settings."""
    names = {
        "index-url": "UV_DEFAULT_INDEX",
        "extra-index-url": "UV_INDEX",
        "find-links": "UV_FIND_LINKS",
    }
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False
    ).stdout
    found = {}
    for line in listed.splitlines():
        key, _, value = line.partition("=")
        name = names.get(key.rpartition(".")[2])
        if name and name not in os.environ:
            words = value.strip("'\"").replace("\\n", " ").split()
            found[name] = ("," if name == "UV_FIND_LINKS" else " ").join(words)
    return found


def without_torch(locked: str) -> str:
    """Leave out torch and what only it needs; an entry goes on while its lines end with "\\"."""
    kept = []
    is_left_out = is_continued = False
    for line in locked.splitlines(keepends=True):
        if not is_continued:
            is_left_out = bool(LEFT_OUT.match(line))
        is_continued = line.rstrip().endswith("\\")
        if not is_left_out:
            kept.append(line)
    return "".join(kept)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
