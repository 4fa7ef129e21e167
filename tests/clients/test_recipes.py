"""docs/recipes.md and the client's README, run as they stand."""

import os
import re
import subprocess
import sys
from pathlib import Path

import openai
import pytest
import yaml
from ragsite_client import Client

from tests.project.readme_script import differences
from tests.project.service import ROOT, Service

_LIBRECHAT = re.compile(r"^```yaml\n(endpoints:\n.*?)^```$", re.MULTILINE | re.DOTALL)
# What LibreChat sends beside model and messages, by its documentation.
_ITS_DEFAULTS = {
    "temperature": 1,
    "top_p": 1,
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "user": "66f1",
    "stream": True,
}
_BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LIBRARY = {
    "kiln.md": "# Kiln\n\n## Firing\n\nHeat the kiln to 1240 degrees for nine hours.\n",
    "clay.md": "# Clay\n\n## Wedging\n\nClay is wedged forty times before it is thrown.\n",
}


def programs(page: Path) -> list[tuple[str, str]]:
    """(code, output shown) of each block of Python."""
    blocks = _BLOCK.findall(page.read_text())
    following = [*blocks[1:], ("", "")]
    return [
        (code, shown if kind_after == "text" else "")
        for (kind, code), (kind_after, shown) in zip(blocks, following, strict=True)
        if kind == "python"
    ]


@pytest.fixture
def library(service: Service, tmp_path: Path) -> Path:
    with Client(service.url, service.key) as client:
        for document in client.documents():
            client.delete_document(document.id)
    folder = tmp_path / "library"
    folder.mkdir()
    for name, text in LIBRARY.items():
        (folder / name).write_text(text)
    return tmp_path


def run(code: str, folder: Path, service: Service) -> str:
    paths = {"PYTHONPATH": str(ROOT / "clients" / "python" / "src"), "PYTHONUTF8": "1"}
    access = {"RAGSITE_URL": service.url, "RAGSITE_API_KEY": service.key}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, **paths, **access},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, f"{code}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_every_recipe_prints_what_is_shown(service: Service, library: Path):
    recipes = programs(ROOT / "docs" / "recipes.md")
    assert len(recipes) >= 3
    for code, shown in recipes:  # each builds on those before
        assert shown, "a recipe without its output"
        printed = run(code, library, service)
        if shown.startswith("{"):
            start = shown.index("…")
            assert printed.startswith(shown[:start].strip())
            assert "1240 degrees" in printed
        else:
            assert not differences(shown.strip(), printed)


def test_the_clients_readme_works(service: Service, library: Path):
    (documents, _), (memory, _) = programs(ROOT / "clients" / "python" / "README.md")
    printed = run(f"{documents}\n{memory}", library, service)
    assert printed.startswith("notes/kiln 0 ")
    *documents_part, said, held = printed.strip().splitlines()
    assert "Heat to 1240 degrees for nine hours." in documents_part[-1]
    assert "We moved to Utrecht." in said
    assert "Ada" in held
    assert "Utrecht" in held


def test_librechats_configuration_answers(service: Service, library: Path):
    with Client(service.url, service.key) as client:
        client.ingest_files(library / "library" / "kiln.md", wait=60)
    (block,) = _LIBRECHAT.findall((ROOT / "docs" / "recipes.md").read_text())
    (endpoint,) = yaml.safe_load(block)["endpoints"]["custom"]
    assert endpoint["apiKey"] == "${RAGSITE_API_KEY}"
    base = endpoint["baseURL"].replace("http://localhost:8000", service.url)
    assert base.startswith(service.url)
    with openai.OpenAI(base_url=base, api_key=service.key) as client:
        models = {model.id for model in client.models.list()}
        assert models >= set(endpoint["models"]["default"])
        messages = [{"role": "user", "content": "How hot must the kiln be?"}]
        chunks = client.chat.completions.create(
            model=endpoint["models"]["default"][0], messages=messages, **_ITS_DEFAULTS
        )
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert text == "Heat the kiln to 1240 degrees for nine hours. [1]"
