"""Which build of torch an installation takes: never CUDA by accident."""

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import ModuleType
from typing import Any
from zipfile import ZipFile

import pytest
from django.conf import settings

REQUIREMENTS = Path(settings.BASE_DIR) / "requirements"
CUDA = 'nvidia-cublas==13.1; platform_system == "Linux"'


@pytest.fixture
def install_torch() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "install_torch", REQUIREMENTS / "install_torch.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def linux_without_card(install_torch: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(install_torch, "has_nvidia_card", lambda: False)
    return install_torch


def reachable(*indexes: str) -> Any:
    def pip(*arguments: str, is_quiet: bool = False) -> subprocess.CompletedProcess[str]:
        is_known = "--index-url" not in arguments or bool(set(indexes) & set(arguments))
        return subprocess.CompletedProcess(arguments, 0 if is_known else 1, "", "")

    return pip


@pytest.mark.parametrize(
    ("requires", "expected"),
    [
        ([CUDA, "sympy"], True),
        (["cuda-bindings==13.0", "sympy"], True),
        (["sympy", "networkx; extra == 'all'"], False),
        (['nvidia-cublas==13.1; platform_system == "Windows"'], False),
        (["nvidia-cublas==13.1; extra == 'cuda'"], False),
    ],
)
def test_a_cuda_build_is_known_by_what_it_requires(
    install_torch: ModuleType, requires: list[str], expected: bool
):
    assert install_torch.is_cuda_build({"requires_dist": requires}) is expected


@pytest.mark.parametrize("requires", [CUDA, "sympy"])
def test_pip_is_asked_what_it_would_install(
    install_torch: ModuleType, requires: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    _wheel(tmp_path, requires)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    assert install_torch.needs_cuda("torch==99.0") is (requires == CUDA)


def test_the_cpu_index_is_taken_where_cuda_would_come(
    linux_without_card: ModuleType, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(linux_without_card, "needs_cuda", lambda torch: True)
    monkeypatch.setattr(linux_without_card, "pip", reachable(linux_without_card.CPU_INDEX))
    assert linux_without_card.choose_index("torch==2.13.0") == linux_without_card.CPU_INDEX


def test_without_the_cpu_index_the_download_is_announced(
    linux_without_card: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.setattr(linux_without_card, "needs_cuda", lambda torch: True)
    monkeypatch.setattr(linux_without_card, "pip", reachable())
    assert linux_without_card.choose_index("torch==2.13.0") == ""
    assert "make run TORCH_INDEX=" in capsys.readouterr().err


def test_a_mirror_with_a_cpu_build_is_left_alone(
    linux_without_card: ModuleType, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(linux_without_card, "needs_cuda", lambda torch: False)
    monkeypatch.setattr(linux_without_card, "pip", None)
    assert linux_without_card.choose_index("torch==2.13.0") == ""


def test_a_card_gets_what_pip_brings(install_torch: ModuleType, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(install_torch, "has_nvidia_card", lambda: True)
    monkeypatch.setattr(install_torch, "pip", None)
    assert install_torch.choose_index("torch==2.13.0") == ""


def test_a_named_index_is_used_as_it_is(install_torch: ModuleType, monkeypatch: pytest.MonkeyPatch):
    calls: list[tuple[str, ...]] = []

    def pip(*arguments: str) -> subprocess.CompletedProcess[str]:
        calls.append(arguments)
        return subprocess.CompletedProcess(arguments, 0)

    monkeypatch.setenv("TORCH_INDEX", "https://wheels.example.com")
    monkeypatch.setattr(install_torch, "pip", pip)
    assert install_torch.main() == 0
    (arguments,) = calls
    assert arguments[:3] == ("--no-deps", "--index-url", "https://wheels.example.com")


# -- with real pip, and indexes on this machine ------------------------------------------------


@contextmanager
def _served(folder: Path) -> Iterator[str]:
    handler = partial(_Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def pinned() -> str:
    lines = (REQUIREMENTS / "torch.txt").read_text().splitlines()
    (version,) = [line.split("==")[1].split()[0] for line in lines if line.startswith("torch==")]
    return version


@pytest.fixture
def installed(
    linux_without_card: ModuleType, tmp_path: Path, pinned: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Any]:
    """Install from a main index, where PyTorch's index is a second one; return the versions."""
    for index in ("main", "cpu"):
        (tmp_path / index / "torch").mkdir(parents=True)
    target = tmp_path / "target"
    with _served(tmp_path) as address:
        monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
        monkeypatch.setenv("PIP_INDEX_URL", f"{address}/main")
        monkeypatch.setenv("PIP_TARGET", str(target))
        monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
        for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "TORCH_INDEX"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr(linux_without_card, "CPU_INDEX", f"{address}/cpu")

        def install() -> list[str]:
            assert linux_without_card.main() == 0
            found = target.glob("torch-*.dist-info")
            return [folder.name.removesuffix(".dist-info") for folder in found]

        yield install


def test_pip_takes_the_cpu_build_from_its_own_index(installed: Any, tmp_path: Path, pinned: str):
    _wheel(tmp_path / "main" / "torch", CUDA, pinned)
    _wheel(tmp_path / "cpu" / "torch", "sympy", f"{pinned}+cpu")
    assert installed() == [f"torch-{pinned}+cpu"]


def test_pip_takes_a_mirrors_own_cpu_build(installed: Any, tmp_path: Path, pinned: str):
    _wheel(tmp_path / "main" / "torch", "sympy", pinned)
    _wheel(tmp_path / "cpu" / "torch", "sympy", f"{pinned}+cpu")
    assert installed() == [f"torch-{pinned}"]


def test_pip_warns_before_it_takes_the_only_build_there_is(
    installed: Any, tmp_path: Path, pinned: str, capfd: pytest.CaptureFixture[str]
):
    _wheel(tmp_path / "main" / "torch", CUDA, pinned)
    assert installed() == [f"torch-{pinned}"]
    assert "press Ctrl-C and name an index" in capfd.readouterr().err


def _wheel(folder: Path, requires: str, version: str = "99.0") -> None:
    info = f"torch-{version}.dist-info"
    with ZipFile(folder / f"torch-{version}-py3-none-any.whl", "w") as wheel:
        about = (
            f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\nRequires-Dist: {requires}\n"
        )
        wheel.writestr(f"{info}/METADATA", about)
        tags = "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        wheel.writestr(f"{info}/WHEEL", tags)
        wheel.writestr(f"{info}/RECORD", "")
