"""A namespace with a row in every table of an archive, and what is compared."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from documents.archives import contents
from documents.archives.exporting import export_namespace
from documents.embedders.base import Embedder
from documents.models import (
    Namespace,
)
from ragsite.database.tenancy import operator

from ...client import Api
from ..test_tenant_wall import rows, tenant_tables

QUESTIONS = ("twelve lights", "who keeps the log", "harbour", "ink log", "north height")
NOTES = "# Harbour\n\nThe harbour has twelve lights.\n\n# Log\n\nThe master keeps the log in ink."


def counting(embed: Callable[..., Any], calls: list[int]) -> Callable[..., Any]:
    def counted(self: Embedder, texts: Any, *rest: Any, **more: Any) -> Any:
        calls.append(len(texts))
        return embed(self, texts, *rest, **more)

    return counted


def counts_of(tenant: Namespace) -> dict[str, int]:
    held = {table for table, _ in tenant_tables()} & contents.INCLUDED
    return {
        table: rows(f"SELECT count(*) FROM {table} WHERE namespace_id = %s", [tenant.pk])[0][0]
        for table in sorted(held)
    }


def hits(api: Api, *, with_ids: bool = True) -> list[Any]:
    """The results of all questions. Without ids, those of the same score are in no order."""
    names = ["content", "scores", "relevance", "source_uri", "section"]
    names += ["chunk_id", "document_id"] if with_ids else []
    found = []
    for question in QUESTIONS:
        results = api.query(question).body["results"]
        assert results
        if not with_ids:
            results.sort(key=lambda hit: (-hit["scores"]["final"], hit["content"]))
        found.append([{name: hit[name] for name in names} for hit in results])
    return found


def exported(tenant: Namespace, path: Path) -> Path:
    with operator():
        fresh = Namespace.objects.get(pk=tenant.pk)
    export_namespace(fresh, path, release="test")
    return path
