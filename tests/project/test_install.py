"""Which build of torch an installation takes: never CUDA by accident."""

import importlib.util
import subprocess
import sys
from pathlib import Path
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


def _wheel(folder: Path, requires: str) -> None:
    info = "torch-99.0.dist-info"
    with ZipFile(folder / "torch-99.0-py3-none-any.whl", "w") as wheel:
        about = f"Metadata-Version: 2.1\nName: torch\nVersion: 99.0\nRequires-Dist: {requires}\n"
        wheel.writestr(f"{info}/METADATA", about)
        tags = "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        wheel.writestr(f"{info}/WHEEL", tags)
        wheel.writestr(f"{info}/RECORD", "")
