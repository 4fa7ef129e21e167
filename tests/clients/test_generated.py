"""The client's models are those of the committed schema."""

import runpy

from tests.project.service import ROOT

GENERATOR = ROOT / "clients" / "python" / "generate.py"


def test_the_models_are_made_from_the_schema_as_it_is():
    """Cheap, by a digest; `make test-clients` compares every line."""
    made = runpy.run_path(str(GENERATOR))
    for name, schemas in made["parts"]().items():
        text = (made["PACKAGE"] / name).read_text()
        assert f"Schema {made['digest'](schemas)}." in text, "run `make client`, commit the result"
