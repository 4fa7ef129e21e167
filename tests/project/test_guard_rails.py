"""Rules that the code keeps: sizes, names, schema, migrations, a start without heavy imports."""

import ast
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command

ROOT = Path(settings.BASE_DIR)
APPS = ("documents", "retrieval", "evaluation")
HEAVY = {
    "torch",
    "transformers",
    "sentence_transformers",
    "scipy",
    "matplotlib",
    "sklearn",
    "pypdf",
    "rapidocr",
    "cv2",
    "mcp",
    "onnx",
    "onnxruntime",
}


SHARED_NAMES = {
    "Command",  # Django's name
    "Migration",  # Django's name
}


def sources() -> Iterator[Path]:
    for folder in ("ragsite", *APPS, "tests"):
        yield from (ROOT / folder).rglob("*.py")


def test_no_module_is_longer_than_400_lines():
    long = [
        f"{path.relative_to(ROOT)}: {len(path.read_text().splitlines())}"
        for path in sources()
        if "migrations" not in path.parts and len(path.read_text().splitlines()) > 400
    ]
    assert not long


def test_no_file_holds_an_unresolved_merge():
    command = ["git", "grep", "-lE", "^(<<<<<<<|>>>>>>>) "]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if found.returncode > 1:
        pytest.skip("not a checkout of git")
    assert found.stdout == ""


def test_no_module_has_a_name_that_says_nothing():
    vague = {"utils.py", "helpers.py", "misc.py", "common.py", "services.py", "managers.py"}
    assert not [path for path in sources() if path.name in vague]


def test_one_class_name_means_one_thing():
    places = defaultdict(list)
    for path in sources():
        if path.is_relative_to(ROOT / "tests"):
            continue
        for name in type_names(path):
            places[name].append(str(path.relative_to(ROOT)))
    shared = {name: where for name, where in places.items() if len(where) > 1}
    assert not {name: where for name, where in shared.items() if name not in SHARED_NAMES}
    assert set(shared) >= SHARED_NAMES, "remove what is no longer shared"


def type_names(path: Path) -> Iterator[str]:
    """Return the classes of a module, and its aliases of `Literal[…]` or `Callable[…]`."""
    for node in ast.parse(path.read_text()).body:
        match node:
            case ast.ClassDef(name=name):
                yield name
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Subscript(value=ast.Name(id="Literal" | "Callable")),
            ):
                yield name


def test_the_committed_schema_is_the_one_the_code_gives():
    out = StringIO()
    call_command("spectacular", "--validate", "--fail-on-warn", stdout=out)
    committed = (ROOT / "docs" / "openapi.yaml").read_text()
    assert out.getvalue().strip() == committed.strip(), "run `make schema` and commit the result"


@pytest.mark.usefixtures("database")
def test_models_and_migrations_agree():
    call_command("makemigrations", "--check", "--dry-run", verbosity=0)


def in_fresh_process(code: str) -> str:
    setup = "import django; django.setup()\nfrom django.core.management import call_command\n"
    setup += "from django.test import Client\n"
    done = subprocess.run(
        [sys.executable, "-c", setup + code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize(
    "act",
    [
        "call_command('check')",
        "call_command('migrate', verbosity=0)",
        "import documents.tasks, documents.management.commands.ingest",
        "import ragsite.management.commands.up",
        "import evaluation.tasks, evaluation.management.commands.import_golden_set",
        "assert Client(HTTP_HOST='localhost').get('/admin/login/').status_code == 200",
        "assert Client(HTTP_HOST='localhost').get('/api/docs').status_code == 200",
    ],
)
def test_nothing_heavy_is_loaded_by(act: str):
    loaded = in_fresh_process(f"{act}\nimport sys; print(*sys.modules)").split()
    assert "django" in loaded
    assert not HEAVY & set(loaded)


def test_migrations_run_forward_and_back(tmp_path: Path):
    """In a home of its own: an empty database, everything in, our apps out, everything in again."""
    import os

    environment = {**os.environ, "RAGSITE_HOME": str(tmp_path), "RAGSITE_TESTS": str(tmp_path)}
    backwards = [[app, "zero"] for app in ("evaluation", "retrieval", "documents")]
    for arguments in ([], *backwards, []):
        done = subprocess.run(
            [sys.executable, "manage.py", "migrate", *arguments],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
