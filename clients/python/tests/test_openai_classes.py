"""LangChain's and LlamaIndex's own classes for OpenAI, as docs/recipes.md uses them."""

import re
import subprocess
import sys

from tests.project.service import ROOT, Service

_BLOCK = re.compile(r"^```py\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_recipe_answers_and_embeds(service: Service):
    (code,) = _BLOCK.findall((ROOT / "docs" / "recipes.md").read_text())
    done = subprocess.run(  # in the environment that the fixture has set
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=180, check=False
    )
    assert done.returncode == 0, done.stderr
    answer, dimensions, other = done.stdout.strip().splitlines()
    assert answer == "Heat the kiln 🔥 to 1240 degrees for nine hours. [1]"
    assert int(dimensions) > 100
    assert "1240 degrees" in other
