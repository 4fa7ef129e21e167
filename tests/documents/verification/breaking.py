"""Break rows as the owner of the tables, as no role of the service could, and look again."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import connections

from documents.models import Document, DocumentVersion
from documents.verification.auditing import verify
from documents.verification.findings import Report
from ragsite.database.tenancy import operator


def by_owner(statement: str, *parameters: object) -> None:
    with connections["owner"].cursor() as cursor:
        cursor.execute(statement, parameters)


def document(name: str) -> Document:
    with operator():
        return Document.objects.get(source_uri__endswith=name)


def live_version(name: str) -> DocumentVersion:
    with operator():
        return DocumentVersion.objects.get(document=document(name), state="live")


def found(report: Report) -> list[str]:
    return sorted({finding.check for finding in report.findings})


def assert_found(check: str, *, what: str = "", example: object = None) -> None:
    report = verify()
    assert found(report) == [check], report.findings
    (finding,) = report.findings
    assert what in finding.what
    assert finding.count == 1
    assert finding.namespace == "tenant"
    if example is not None:
        assert finding.examples == (str(example),)


def assert_mended(check: str) -> None:
    report = verify(repair=True)
    assert report.is_clean, report.findings
    assert [finding.check for finding in report.repaired] == [check]
    assert verify().is_clean


def assert_mended_by_workers(check: str, work: Callable[[], int]) -> None:
    report = verify(repair=True)
    assert {finding.check for finding in report.findings + report.repaired} == {check}
    assert work() == 1
    again = verify()
    assert again.is_clean, again.findings


@contextmanager
def without_constraint(table: str, name: str) -> Iterator[None]:
    """Drop a constraint; at the end empty the table and restore it."""
    with connections["owner"].cursor() as cursor:
        cursor.execute(
            "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = %s", [name]
        )
        (definition,) = cursor.fetchone()
        cursor.execute(f"ALTER TABLE {table} DROP CONSTRAINT {name}")
        try:
            yield
        finally:
            cursor.execute(f"TRUNCATE {table} CASCADE")
            cursor.execute(f"ALTER TABLE {table} ADD CONSTRAINT {name} {definition}")
