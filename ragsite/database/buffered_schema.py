"""A schema editor for migrations of a database that is in use.

Django works out an operation, executes it, and works out the next, while the transaction holds the
tables that have been changed so far: seconds for a long migration, and everybody waits. This editor
keeps the statements until the migration ends or Django reads the database, and then executes them
one right after the other. `postpone_code` does the same for what a migration does in Python.
"""

import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from django.db.backends.postgresql.schema import DatabaseSchemaEditor
from django.db.migrations import Migration, RunPython

Act = Callable[[], Any]


class BufferedSchemaEditor(DatabaseSchemaEditor):
    """Statements of migrations that are not atomic are executed at once, as usual."""

    def __enter__(self) -> "BufferedSchemaEditor":
        self._waiting: list[str | Act] = []
        self._is_executing = False
        self._stack = ExitStack()
        super().__enter__()
        self._stack.enter_context(self.connection.execute_wrapper(self._after_waiting))
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        with self._stack:
            try:
                if kind is None:
                    self._execute_deferred()
            except BaseException:
                super().__exit__(*sys.exc_info())
                raise
            super().__exit__(kind, error, traceback)

    def execute(self, sql: Any, params: Any = ()) -> None:
        if self.collect_sql or not self.atomic_migration or self._is_executing:
            super().execute(sql, params)
        elif params is None:
            self._waiting.append(str(sql))
        else:
            self._waiting.append(self.connection.ops.compose_sql(str(sql), params))

    def do_later(self, act: Act) -> None:
        """Call `act` when the statements before it have been executed."""
        if self.atomic_migration:
            self._waiting.append(act)
        else:
            act()

    def _execute_deferred(self) -> None:
        """Execute what Django keeps for the end, such as foreign keys, and all that waits."""
        for statement in self.deferred_sql:
            self.execute(statement, None)
        self.deferred_sql: list[Any] = []
        self._execute_waiting()

    def _execute_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        self._is_executing = True
        try:
            for each in waiting:
                if isinstance(each, str):
                    super().execute(each, None)
                else:
                    each()
        finally:
            self._is_executing = False

    def _after_waiting(
        self, execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any
    ) -> Any:
        """Before any other statement on this connection, the waiting ones take effect."""
        if self._waiting and not self._is_executing:
            self._execute_waiting()
        return execute(sql, params, many, context)


class _Postponed:
    """The function of a RunPython operation, called in its turn among the statements."""

    def __init__(self, code: Callable[..., Any]) -> None:
        self.code = code

    def __call__(self, apps: Any, editor: Any) -> None:
        editor.do_later(lambda: self.code(apps, editor))


def postpone_code(migration: Migration) -> None:
    for operation in migration.operations:
        if isinstance(operation, RunPython):
            operation.code = _postponed(operation.code)
            if operation.reverse_code is not None:  # otherwise it cannot be undone
                operation.reverse_code = _postponed(operation.reverse_code)


def _postponed(code: Callable[..., Any]) -> "_Postponed":
    return code if isinstance(code, _Postponed) else _Postponed(code)
