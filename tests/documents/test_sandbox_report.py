"""What the sandbox lacks on a machine is found out, reported, and refused where it is required."""

import errno
import platform
import re
from pathlib import Path
from typing import Any

import pytest

from documents import checks
from documents.extractors.confinement import kernel, landlock, reach, seccomp, syscalls
from documents.extractors.confinement.sandbox import Sandbox, SandboxFailed, SandboxOptions
from documents.ingestion.extraction import SandboxWorker, SandboxWorkerFailed

from .test_extraction import order
from .test_sandbox import exit_code_of, is_root, new_worker


def sandbox_here(monkeypatch: pytest.MonkeyPatch, **options: Any) -> Sandbox:
    """Without leaving the network: that would hold for the tests' own process."""

    def refuse() -> None:
        raise OSError(errno.EPERM, "not allowed")

    monkeypatch.setattr(kernel, "leave_network", refuse)
    monkeypatch.setattr(
        "documents.extractors.confinement.sandbox._leave_network", lambda: "not allowed"
    )
    return Sandbox(SandboxOptions(**options), ocr=None, runs_programs=False)


def test_a_kernel_without_landlock_is_reported_and_the_rest_holds(monkeypatch: pytest.MonkeyPatch):
    def missing(self: Any) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(landlock.Ruleset, "__init__", missing)
    sandbox = sandbox_here(monkeypatch)
    protection = sandbox.protection
    assert protection.missing["landlock"] == "Function not implemented"
    assert (protection.landlock, protection.is_complete) == (0, False)
    assert protection.seccomp is seccomp.is_supported()
    assert exit_code_of(sandbox.enter) == 0
    with pytest.raises(SandboxFailed, match="landlock"):
        _ = sandbox_here(monkeypatch, mode="required").protection


def test_a_processor_without_a_filter_is_reported(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    sandbox = sandbox_here(monkeypatch)
    assert "processor" in sandbox.protection.missing["seccomp"]
    assert not sandbox.protection.is_complete
    assert exit_code_of(sandbox.enter) == 0


@is_root
@pytest.mark.parametrize(
    ("user", "reason"), [("nobody-at-all", "there is no user"), ("root", "root"), ("0", "root")]
)
def test_a_user_that_will_not_do_is_reported(
    monkeypatch: pytest.MonkeyPatch, user: str, reason: str
):
    protection = sandbox_here(monkeypatch, user=user).protection
    assert reason in protection.missing["user"]
    assert protection.user == ""


@is_root
def test_code_that_the_user_cannot_read_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    monkeypatch.setattr(reach, "code_paths", lambda root: [str(closed)])
    protection = sandbox_here(monkeypatch).protection
    assert protection.missing["user"] == f"nobody cannot read {closed}"
    assert protection.capabilities
    monkeypatch.setattr(reach, "code_paths", lambda root: [])
    monkeypatch.setattr(reach, "loaded_files", list)
    assert sandbox_here(monkeypatch).protection.user == "nobody"
    needs_more = sandbox_here(monkeypatch, read_paths=(str(closed),))  # an OCR engine's models
    assert needs_more.protection.missing["user"] == f"nobody cannot read {closed}"


def test_where_it_is_required_and_missing_no_file_is_read():
    broken = new_worker("required")
    broken.module = "tests.documents.worker_without_landlock"
    try:
        with pytest.raises(SandboxWorkerFailed, match="EXTRACT_SANDBOX is required"):
            order(broken, "answer")
    finally:
        broken.close()


@pytest.mark.parametrize(
    ("protection", "expected"),
    [
        ({"is_complete": True, "missing": {}}, []),
        ({"is_complete": True, "missing": {"user": "why"}}, ["ragsite.I030"]),
        ({"is_complete": False, "missing": {"landlock": "why"}}, ["ragsite.W030"]),
    ],
)
def test_the_deploy_check_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, protection: dict[str, Any], expected: list[str]
):
    monkeypatch.setattr(SandboxWorker, "survey", lambda self, ocr: protection)
    messages = checks.readers_are_confined(None)
    assert [message.id for message in messages] == expected
    assert all("why" in message.msg for message in messages)


def test_the_deploy_check_asks_a_real_worker():
    messages = checks.readers_are_confined(None)
    assert [message.id for message in messages] in ([], ["ragsite.I030"], ["ragsite.W030"])


def test_a_mode_that_does_not_exist_is_refused_at_start(settings: Any):
    settings.EXTRACTION = {**settings.EXTRACTION, "sandbox": {"mode": "on"}}
    assert [message.id for message in checks.sandbox_is_available(None)] == ["ragsite.E030"]


HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}


@pytest.mark.parametrize("machine", HEADERS)
def test_the_numbers_of_system_calls_are_the_kernels(machine: str):
    if not HEADERS[machine].exists():
        pytest.skip("the kernel's headers are not installed")
    found = re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", HEADERS[machine].read_text())
    known = {name: int(number) for name, number in found}
    ours = syscalls.DENIED | syscalls.PROGRAMS | syscalls.OWN_PROCESS_ONLY
    ours |= {"prlimit64": syscalls.PRLIMIT, "ioctl": syscalls.IOCTL, "clone": syscalls.CLONE}
    for name, numbers in ours.items():
        number = getattr(numbers, machine)
        assert number == known.get(name, number if (number or 0) > 450 else None), name
