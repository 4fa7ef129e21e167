"""What is locked is what is required, with hashes; an audit that could not ask does not pass."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = ROOT / "requirements"
PIN = re.compile(r"^([A-Za-z0-9][\w.-]*)(?:\[[\w,]+\])?==([^\s;\\#]+)", re.MULTILINE)


def load(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(REQUIREMENTS))
    spec = importlib.util.spec_from_file_location(name, REQUIREMENTS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pins_of(*files: str) -> dict[str, str]:
    text = "\n".join((REQUIREMENTS / file).read_text() for file in files)
    return {name.lower().replace("_", "-"): version for name, version in PIN.findall(text)}


DIRECT = ("web.txt", "database.txt", "formats.txt", "models.txt", "evaluation.txt", "s3.txt")


def test_the_lock_has_every_requirement_in_its_version_and_those_of_the_constraints():
    locked = pins_of("locked.txt")
    wanted = pins_of(*DIRECT, "tracing.txt")
    assert {name: locked.get(name) for name in wanted} == wanted, "run `make lock`"
    constraints = pins_of("constraints.txt")
    differing = {name for name in locked if constraints.get(name, locked[name]) != locked[name]}
    assert not differing, "run `make lock`"


def test_every_locked_package_has_hashes_and_none_brings_cuda():
    text = (REQUIREMENTS / "locked.txt").read_text()
    entries = re.split(r"\n(?=[A-Za-z0-9])", text.split("\n", 1)[1].strip())
    assert len(entries) > 100
    for entry in entries:
        assert re.match(PIN, entry)
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry)
        assert not re.match(r"(torch|triton|nvidia-|cuda-)", entry)
    assert "://" not in text, "indexes are for each machine to name"


def test_the_lock_leaves_out_torch_with_all_its_lines(monkeypatch: pytest.MonkeyPatch):
    lock = load("lock", monkeypatch)
    before, after = "tokenizers==1 \\\n    --hash=sha256:a\n", "tqdm==2 \\\n    --hash=sha256:d\n"
    left_out = "torch==3 \\\n    --hash=sha256:b \\\n    --hash=sha256:c\n"
    left_out += "nvidia-cublas==13 ; sys_platform == 'linux' \\\n    --hash=sha256:e\n"
    assert lock.without_torch(before + left_out + after) == before + after


def test_the_lock_uses_the_indexes_of_pip(monkeypatch: pytest.MonkeyPatch):
    lock = load("lock", monkeypatch)
    config = "global.extra-index-url='file:///one file:///two'\n:env:.find-links='/wheels'\n"
    done = subprocess.CompletedProcess([], 0, config)
    monkeypatch.setattr(subprocess, "run", lambda *args, **kwargs: done)
    monkeypatch.delenv("UV_INDEX", raising=False)
    monkeypatch.delenv("UV_FIND_LINKS", raising=False)
    assert lock.indexes() == {"UV_INDEX": "file:///one file:///two", "UV_FIND_LINKS": "/wheels"}


def entry(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "version": "1", "vulns": [], **more}


FLAW = {"id": "CVE-2026-0001", "fix_versions": ["2"]}


@pytest.mark.parametrize(
    ("entries", "code", "told"),
    [
        ([entry("One"), entry("two")], 0, "2 packages looked up, 0 with known"),
        ([entry("one"), entry("two", vulns=[FLAW])], 1, "two 1: CVE-2026-0001, fixed in 2"),
        ([entry("one"), {"name": "two", "skip_reason": "not found"}], 2, "could not be asked"),
        ([entry("one")], 2, "1 of 2 packages, such as two"),
        ([entry("one", vulns=[FLAW])], 1, "could not be asked about 1 of 2"),
        (None, 2, "any of 2 packages"),
    ],
)
def test_an_audit_passes_only_if_every_package_was_looked_up(
    entries: list[dict[str, Any]] | None,
    code: int,
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    audit = load("audit", monkeypatch)
    monkeypatch.setattr(audit, "pins", lambda: [("one", "1"), ("two", "1")])
    monkeypatch.setattr(audit, "ask", lambda pinned: entries)
    assert audit.main() == code
    assert told in capsys.readouterr().err


def test_a_service_that_cannot_be_reached_gives_no_report(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    audit = load("audit", monkeypatch)
    failed = subprocess.CompletedProcess([], 1, "", "trace\nConnection refused")
    monkeypatch.setattr(subprocess, "run", lambda *args, **kwargs: failed)
    assert audit.ask([("one", "1")]) is None
    assert "Connection refused" in capsys.readouterr().err


def test_the_audit_looks_up_torch_too(monkeypatch: pytest.MonkeyPatch):
    names = [name for name, _ in load("audit", monkeypatch).pins()]
    assert "torch" in names
    assert "django" in names
    assert len(names) == len(set(names))


def test_the_bill_of_materials_has_only_what_the_service_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    made = {
        "metadata": {"component": {"bom-ref": "root", "name": "ragsite"}},
        "components": [
            {"bom-ref": "1", "name": "Django"},
            {"bom-ref": "2", "name": "pytest"},
            {"bom-ref": "3", "name": "typing_extensions"},
        ],
        "dependencies": [{"ref": "1", "dependsOn": ["2", "3"]}, {"ref": "2"}],
    }
    done = subprocess.CompletedProcess([], 0, json.dumps(made))
    sbom = load("sbom", monkeypatch)
    monkeypatch.setattr(subprocess, "run", lambda *args, **kwargs: done)
    assert sbom.main(sys.executable, str(tmp_path / "new" / "sbom.json")) == 0
    written = json.loads((tmp_path / "new" / "sbom.json").read_text())
    assert [each["name"] for each in written["components"]] == ["Django", "typing_extensions"]
    assert written["dependencies"] == [{"ref": "1", "dependsOn": ["3"]}]
