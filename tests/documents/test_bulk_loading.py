"""`manage.py ingest --bulk`: the same rows as the ordinary way, in few statements, resumable."""

from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from documents.loading import files
from documents.models import Chunk, ChunkTerms, Document, DocumentVersion, Namespace
from ragsite.database.tenancy import namespace

pytestmark = pytest.mark.usefixtures("db")

CHUNK = ("ordinal", "kind", "content", "tokens", "section", "start", "end", "page_start")
CHUNK = (*CHUNK, "page_end", "metadata", "chunk_hash", "embedding")
DOCUMENT = ("source_uri", "title", "tags", "metadata", "status", "chunks_count", "tokens_count")
DOCUMENT = (*DOCUMENT, "language", "content_sha256", "embedding_model", "ingestion_version")


@pytest.fixture
def library(tmp_path: Path) -> Path:
    for number in range(12):
        words = " ".join(f"word{number}x{n}" for n in range(20 * (number % 4 + 1)))
        text = f"# Port {number}\n\n{words}.\n\n## Lights\n\nThe same sentence in every one."
        (tmp_path / f"port-{number}.md").write_text(text)
    (tmp_path / "rows.csv").write_text("name,height\nNorth,12 m\nSouth,9 m\n")
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing else")
    return tmp_path


def ingest(tenant: Namespace, library: Path, *options: str) -> None:
    with pytest.raises(SystemExit):  # for broken.pdf
        call_command("ingest", str(library), "--namespace", tenant.slug, "--json", *options)


def contents(tenant: Namespace) -> list[Any]:
    with namespace(tenant.pk):
        chunks = Chunk.objects.order_by("document__source_uri", "ordinal")
        words = ChunkTerms.objects.order_by("chunk__document__source_uri", "chunk__ordinal")
        return [
            list(Document.objects.order_by("source_uri").values(*DOCUMENT)),
            [str(row) for row in chunks.values_list("document__source_uri", *CHUNK)],
            [
                str(row)
                for row in words.values_list("kind", "words_hash", "search_vector", "impacts")
            ],
            list(DocumentVersion.objects.order_by("content_sha256").values("text", "outline")),
        ]


def test_documents_come_out_as_in_the_ordinary_way(
    tenant: Namespace, other_tenant: Namespace, library: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(files, "WINDOW_FILES", 5)
    ingest(tenant, library)
    ingest(other_tenant, library, "--bulk")
    ordinary, bulk = contents(tenant), contents(other_tenant)
    assert len(ordinary[1]) > 20
    assert bulk == ordinary
    assert [d["status"] for d in bulk[0]].count("failed") == 1
