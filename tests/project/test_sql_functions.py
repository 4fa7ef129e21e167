"""The .sql files show the functions that the migrated database really has."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connections, transaction
from django.db.migrations.state import ProjectState

from ragsite.database.sql_functions import SqlFunction, read_function

APPS = ("documents", "evaluation", "retrieval")


def sql_files() -> list[Path]:
    return [path for app in APPS for path in sorted(Path(settings.BASE_DIR, app, "sql").glob("*"))]


def function_files() -> dict[str, tuple[str, str]]:
    """The current file of each function: the highest number wins."""
    files = [path for path in sql_files() if path.suffix == ".sql"]
    return {
        read_function(path.parts[-3], path.name)[0]: (path.parts[-3], path.name)
        for path in sorted(files, key=lambda path: path.name)
    }


def squeezed(statement: str) -> str:
    """Without comments, and without the white space that means nothing."""
    lines = (line for line in statement.splitlines() if not line.lstrip().startswith("--"))
    text = re.sub(r"\s+", " ", " ".join(lines)).strip().removesuffix(";").strip()
    return re.sub(r"\s?([()])\s?", r"\1", text)


@pytest.fixture
def definitions(db: None) -> dict[str, str]:
    with connections["owner"].cursor() as cursor:
        cursor.execute(
            "SELECT 'ragsite.' || proname, pg_get_functiondef(oid) FROM pg_proc "
            "WHERE pronamespace = 'ragsite'::regnamespace"
        )
        rows = cursor.fetchall()
    assert len(rows) == len(dict(rows)), "two functions share a name"
    return dict(rows)


def test_every_function_has_its_file_and_every_file_its_function(
    definitions: dict[str, str],
) -> None:
    assert set(function_files()) == set(definitions)


def test_the_files_say_what_the_database_runs(definitions: dict[str, str]) -> None:
    for name, (app, file_name) in function_files().items():
        _, statement = read_function(app, file_name)
        assert squeezed(statement) == squeezed(definitions[name]), f"{app}/sql/{file_name}"


def test_files_are_numbered_after_a_migration_of_their_app() -> None:
    for path in sql_files():
        if path.name == "README.md":
            continue
        number, _, name = path.stem.partition("_")
        migrations = Path(settings.BASE_DIR, path.parts[-3], "migrations")
        assert list(migrations.glob(f"{number}_*.py")), path
        assert read_function(path.parts[-3], path.name)[0] == f"ragsite.{name}"


def test_a_migration_can_load_every_file(definitions: dict[str, str]) -> None:
    owner = connections["owner"]
    state = ProjectState()
    with transaction.atomic(using="owner"):
        with owner.schema_editor(atomic=False) as editor:
            for app, file_name in function_files().values():
                operation = SqlFunction(app, file_name, replaces=file_name)
                operation.database_forwards(app, editor, state, state)
                operation.database_backwards(app, editor, state, state)
        with owner.cursor() as cursor:
            cursor.execute(
                "SELECT 'ragsite.' || proname, pg_get_functiondef(oid) FROM pg_proc "
                "WHERE pronamespace = 'ragsite'::regnamespace"
            )
            loaded = dict(cursor.fetchall())
        transaction.set_rollback(True, using="owner")
    for name, definition in definitions.items():
        assert squeezed(loaded[name]) == squeezed(definition)
