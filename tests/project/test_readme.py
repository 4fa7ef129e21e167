"""The README and the pages that continue it, run against a service as `make run` starts it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .readme_script import Step, differences, steps
from .service import ROOT, Service, until

PAGES = ("README.md", "docs/command-line.md", "docs/chunking.md")  # each builds on those before
NOTE = "# Kiln\n\nHeat the kiln to 1240 degrees for nine hours.\n"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    service = Service(tmp_path_factory.mktemp("readme"))
    try:
        service.start()
        until(lambda: "Try it:" in service.log, seconds=180)
        yield service
    finally:
        service.kill_everything()


class Shell:
    """A reader at a terminal in the checkout, with notes of their own at home."""

    def __init__(self, service: Service, folder: Path) -> None:
        notes = folder / "notes"
        notes.mkdir(parents=True)
        (notes / "kiln.md").write_text(NOTE)
        (folder / "manage.py").symlink_to(ROOT / "manage.py")
        self.service, self.folder = service, folder
        self.environment = {**service.environment, "HOME": str(folder)}

    def run(self, step: Step) -> str:
        command = step.command.replace(".venv/bin/python", sys.executable)
        command = command.replace("rs_…", self.service.key)
        command = command.replace("http://127.0.0.1:8000", self.service.url)
        script = f"set -eo pipefail\n{command}\nexport -p > {self.folder}/exports"
        exports = self.folder / "exports"
        before = f". {exports}\n" if exports.exists() else ""
        done = subprocess.run(
            ["bash", "-c", before + script],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, f"$ {step.command}\n{done.stdout}\n{done.stderr}"
        return done.stdout


def test_every_command_works_and_prints_what_is_shown(service: Service, tmp_path: Path):
    shell = Shell(service, tmp_path / "reader")
    wrong = {}
    ran = [step for page in PAGES for step in steps((ROOT / page).read_text())]
    assert len(ran) > 15
    for step in ran:
        printed = shell.run(step)
        if os.environ.get("README_PRINT"):
            sys.stderr.write(f"$ {step.command}\n{printed}\n")
        if step.shown and (found := differences(step.shown, printed)):
            wrong[step.command] = found
    assert not wrong, json.dumps(wrong, indent=2, ensure_ascii=False)


def test_the_printed_question_answers_itself_in_the_first_result(service: Service):
    banner = service.log[service.log.index("Try it:") :]
    curl = banner[banner.index("curl") :].split("\n\n")[0]
    printed = subprocess.run(curl, shell=True, capture_output=True, check=True).stdout
    first = json.loads(printed)["results"][0]
    assert first["source_uri"] == "sample:warranty-and-returns.md"
    assert "| Skerry, Jetty, Mooring, Buoy | 3 years |" in first["content"]


@pytest.mark.parametrize(
    ("shown", "printed", "is_right"),
    [
        ('{"a": 1, "b": "x…"}', '{"a": 1, "b": "xyz", "c": 2}', True),
        ('{"a": 1}', '{"a": 2}', False),
        ('{"a": 1}', '{"b": 1}', False),
        ('{"a": [1]}', '{"a": []}', False),
        ('{"a": "x"}', '{"a": null}', False),
        ('{"times_ms": {"all": 3.5}}', '{"times_ms": {"all": 4}}', True),
        ('{"times_ms": {"all": 3.5}}', '{"times_ms": {}}', False),
        ("Namespace acme created.", "Namespace acme created.\n", True),
        ("Namespace acme created.", "There is one already.", False),
        ("two\nlines", "two", False),
        ("Nine hours. [cite:z99z]", "Nine hours. [cite:a1b2]", True),
        ("Nine hours. [cite:z99z]", "Nine hours.", False),
    ],
)
def test_outputs_are_compared(shown: str, printed: str, *, is_right: bool):
    assert (not differences(shown, printed)) == is_right
