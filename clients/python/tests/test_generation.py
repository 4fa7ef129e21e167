"""The committed models, line by line."""

import runpy

from tests.project.service import ROOT


def test_the_committed_files_are_what_the_generator_makes() -> None:
    made = runpy.run_path(str(ROOT / "clients" / "python" / "generate.py"))
    for name, text in made["files"]().items():
        assert (made["PACKAGE"] / name).read_text() == text, "run `make client`"
