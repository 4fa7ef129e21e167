"""Install the torch that torch.txt pins: the CPU build where there is no NVIDIA card.

Plain pip brings the CUDA build on Linux, which is several gigabytes. This asks pip what it would
install and, where that is CUDA and nothing here could use it, takes torch from PyTorch's CPU index.
A mirror that offers a CPU build is left alone. TORCH_INDEX names an index and skips all of this.

    python requirements/install_torch.py

Runs in the new virtual environment, where there is nothing but pip.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

CPU_INDEX = "https://download.pytorch.org/whl/cpu"
WITHOUT_CPU_BUILD = f"""\
No NVIDIA card was found, but the only torch that pip can reach is the CUDA build. It works on the
CPU too, but is a download of several gigabytes. PyTorch's CPU index ({CPU_INDEX})
cannot be reached. To avoid the download, press Ctrl-C and name an index that has the CPU build:

    make run TORCH_INDEX=<address>
"""


def main() -> int:
    lines = Path(__file__).with_name("torch.txt").read_text().splitlines()
    (torch,) = [line.strip() for line in lines if line.startswith("torch==")]
    index = os.environ.get("TORCH_INDEX") or choose_index(torch)
    if not index:
        say("Installing (the first time takes a few minutes, most of it for torch) ...")
    # Its dependencies come with everything else, from the usual index and with their pins.
    return pip("--no-deps", *index_option(index), torch).returncode


def choose_index(torch: str) -> str:
    """The index to install from; empty for the one that pip is set up with."""
    if sys.platform != "linux" or has_nvidia_card() or not needs_cuda(torch):
        return ""
    if pip("--dry-run", "--no-deps", *index_option(CPU_INDEX), torch, is_quiet=True).returncode:
        say(WITHOUT_CPU_BUILD)
        return ""
    say(f"No NVIDIA card: installing the CPU build of torch from {CPU_INDEX}")
    say("(TORCH_INDEX=<address> takes another one; the first time takes a few minutes) ...")
    return CPU_INDEX


def has_nvidia_card() -> bool:
    return bool(shutil.which("nvidia-smi")) or any(Path("/dev").glob("nvidia*"))


def needs_cuda(torch: str) -> bool:
    """Whether the torch that plain pip would install requires CUDA packages."""
    # Without its dependencies: where an index serves no metadata, pip downloads what it looks at.
    done = pip("--dry-run", "--no-deps", "--report", "-", torch, is_quiet=True)
    if done.returncode:
        return False  # the installation will fail as well, and say why
    return any(is_cuda_build(item["metadata"]) for item in json.loads(done.stdout)["install"])


def is_cuda_build(metadata: dict[str, Any]) -> bool:
    from pip._vendor.packaging.requirements import Requirement

    required = [Requirement(line) for line in metadata.get("requires_dist", [])]
    return any(
        one.name.startswith(("nvidia-", "cuda-"))
        and (one.marker is None or one.marker.evaluate({"extra": ""}))
        for one in required
    )


def index_option(index: str) -> list[str]:
    return ["--index-url", index] if index else []


def pip(*arguments: str, is_quiet: bool = False) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pip", "install", "--quiet", *arguments]
    output = subprocess.PIPE if is_quiet else None
    return subprocess.run(command, stdout=output, stderr=output, text=True, check=False)  # noqa: S603


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
