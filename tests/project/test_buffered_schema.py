"""Migrations hold tables only while their statements are executed, one right after the other."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import ProgrammingError, connections
from django.db.migrations import Migration, RunPython, RunSQL
from django.db.migrations.state import ProjectState

from ragsite.database.buffered_schema import BufferedSchemaEditor, postpone_code


@pytest.fixture
def connection(db: None) -> Iterator[Any]:
    owner = connections["owner"]
    yield owner
    with owner.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS kiln")


def held(connection: Any) -> int:
    """Locks of this transaction on tables of ours, without waking up what waits."""
    statement = (
        "SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND pid = %s "
        "AND relation IS NOT NULL"
    )
    with connections["operator"].cursor() as other:
        other.execute(statement, [connection.connection.info.backend_pid])
        return int(other.fetchone()[0])


def numbers(connection: Any) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT number FROM kiln ORDER BY number")
        return [row[0] for row in cursor.fetchall()]


def test_nothing_is_locked_until_the_end_or_until_something_is_read(connection: Any):
    with BufferedSchemaEditor(connection) as editor:
        editor.execute("CREATE TABLE kiln (number int)")
        editor.execute("INSERT INTO kiln VALUES (%s), (%s)", [1, 2])
        assert held(connection) == 0
        assert numbers(connection) == [1, 2]
        assert held(connection) > 0
        editor.execute("INSERT INTO kiln VALUES (3)", None)
    assert numbers(connection) == [1, 2, 3]


def test_code_takes_its_turn_among_the_statements(connection: Any):
    seen: list[list[int]] = []

    def add(apps: Any, editor: Any) -> None:
        seen.append(numbers(connection))
        editor.execute("INSERT INTO kiln VALUES (10)")

    migration = Migration("0001_kiln", "kilns")
    migration.operations = [
        RunSQL("CREATE TABLE kiln (number int)"),
        RunSQL("INSERT INTO kiln VALUES (1)"),
        RunPython(add),
        RunSQL("UPDATE kiln SET number = number + 100"),
    ]
    for _ in range(2):  # a migration that is tried again is not wrapped twice
        postpone_code(migration)
    with BufferedSchemaEditor(connection) as editor:
        migration.apply(ProjectState(), editor)
        assert seen == []
        assert held(connection) == 0
    assert seen == [[1]]
    assert numbers(connection) == [101, 110]


def test_a_statement_that_fails_at_the_end_takes_the_others_back(connection: Any):
    def fail() -> None:
        with BufferedSchemaEditor(connection) as editor:
            editor.execute("CREATE TABLE kiln (number int)")
            editor.execute("INSERT INTO oven VALUES (1)")

    with pytest.raises(ProgrammingError, match="oven"):
        fail()
    with pytest.raises(ProgrammingError, match="kiln"):
        numbers(connection)


def test_a_migration_without_a_transaction_is_executed_step_by_step(connection: Any):
    with BufferedSchemaEditor(connection, atomic=False) as editor:
        editor.execute("CREATE TABLE kiln (number int)")
        editor.do_later(lambda: editor.execute("INSERT INTO kiln VALUES (1)"))
        assert editor._waiting == []
    assert numbers(connection) == [1]
