"""The keys that Citus needs (docs/citus.md), on PostgreSQL without it: all works with them."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.db import connections

from ..client import Api

SCRIPT = Path(__file__).resolve().parents[2] / "docs" / "deployment" / "citus-keys.sql"
LARGE = (
    "documents_document",
    "documents_documentversion",
    "documents_chunk",
    "documents_chunkterms",
)
Constraints = dict[tuple[str, str], str]


def constraints() -> Constraints:
    with connections["owner"].cursor() as cursor:
        cursor.execute(
            "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) "
            "FROM pg_constraint WHERE conrelid <> 0 AND contype IN ('p', 'u', 'f') "
            "AND connamespace = 'public'::regnamespace"
        )
        return {(table, name): definition for table, name, definition in cursor.fetchall()}


def run(statement: str) -> None:
    with connections["owner"].cursor() as cursor:
        cursor.execute(statement)


@pytest.fixture
def keys_for_citus(db: None) -> Iterator[None]:
    before = constraints()
    run(SCRIPT.read_text())
    try:
        yield
    finally:
        run("TRUNCATE documents_ingestjob")  # nothing has deleted those of deleted documents
        _restore(before)


def _restore(before: Constraints) -> None:
    """References first go and last come, because they need the keys."""
    changed = set(constraints().items()) ^ set(before.items())
    names = sorted({where for where, _ in changed})
    present = constraints()
    for foreign in (True, False):
        for table, name in names:
            definition = present.get((table, name), "")
            if definition and definition.startswith("FOREIGN") is foreign:
                run(f"ALTER TABLE {table} DROP CONSTRAINT {name}")
    for foreign in (False, True):
        for table, name in names:
            definition = before.get((table, name), "")
            if definition and definition.startswith("FOREIGN") is foreign:
                run(f"ALTER TABLE {table} ADD CONSTRAINT {name} {definition}")
    assert constraints() == before


@pytest.mark.usefixtures("keys_for_citus")
def test_with_these_keys_documents_come_change_are_found_and_go(api: Api, work: Callable[[], int]):
    for (table, _), definition in constraints().items():
        if table in LARGE and not definition.startswith("FOREIGN"):
            assert "namespace_id" in definition
    name = "tower.md"
    for material in ("granite", "marble"):
        api.upload((name, f"# Tower\n\nThe tower is made of {material}."))
        assert work() == 1
        (hit,) = api.query("What is the tower made of?").body["results"]
        assert material in hit["content"]
    assert api.delete(f"documents/{hit['document_id']}").status == 200
    assert api.query("What is the tower made of?").body["results"] == []
    with connections["owner"].cursor() as cursor:
        for table in LARGE:
            cursor.execute(f"SELECT count(*) FROM {table}")
            assert cursor.fetchone()[0] == 0, table
