"""SQL functions as numbered files, and the migration operation that loads one."""

import re
from pathlib import Path

from django.conf import settings
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState

from .isolation import give_to_definer

_NAME = re.compile(r"CREATE OR REPLACE FUNCTION (ragsite\.\w+)\(")


def read_function(app: str, file_name: str) -> tuple[str, str]:
    """Return the function's name, with its schema, and the statement that creates it."""
    statement = Path(settings.BASE_DIR, app, "sql", file_name).read_text()
    found = _NAME.search(statement)
    if found is None:
        raise ValueError(f"{app}/sql/{file_name} creates no function of schema ragsite.")
    return found[1], statement


class SqlFunction(Operation):
    """Create or replace a function from `<app>/sql/<file_name>` (documents/sql/README.md).

    A SECURITY DEFINER function belongs to the definer role and can be called by the application
    and operator roles only. `replaces` is the file to go back to when the migration is reversed.
    """

    reversible = True

    def __init__(self, app: str, file_name: str, *, replaces: str = "") -> None:
        self.app, self.file_name, self.replaces = app, file_name, replaces

    def deconstruct(self) -> tuple[str, list[str], dict[str, str]]:
        return type(self).__name__, [self.app, self.file_name], {"replaces": self.replaces}

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        pass  # no model changes

    def database_forwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        self._create(schema_editor, self.file_name)

    def database_backwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        if self.replaces:
            self._create(schema_editor, self.replaces)
        else:
            name, _ = read_function(self.app, self.file_name)
            schema_editor.execute(f"DROP FUNCTION IF EXISTS {name}")

    def _create(self, schema_editor: BaseDatabaseSchemaEditor, file_name: str) -> None:
        name, statement = read_function(self.app, file_name)
        schema_editor.execute(statement, params=None)  # no parameters, so % is literal
        if "SECURITY DEFINER" in statement:
            give_to_definer(schema_editor, name)

    def describe(self) -> str:
        return f"Load {self.app}/sql/{self.file_name}"
