"""`manage.py ingest --bulk`: the same documents as the ordinary way, resumable."""

from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from documents.embedders.hashing import HashingEmbedder
from documents.ingestion import bulk_loading, pipeline
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
    monkeypatch.setattr(bulk_loading, "WINDOW", 5)
    ingest(tenant, library)
    ingest(other_tenant, library, "--bulk")
    ordinary, bulk = contents(tenant), contents(other_tenant)
    assert len(ordinary[1]) > 20
    assert bulk == ordinary
    assert [d["status"] for d in bulk[0]].count("failed") == 1


def test_a_killed_load_goes_on_without_embedding_again(
    tenant: Namespace, library: Path, monkeypatch: pytest.MonkeyPatch
):
    embedded: list[str] = []
    original = HashingEmbedder.embed_batch

    def counted(self: HashingEmbedder, texts: list[str]) -> Any:
        embedded.extend(texts)
        return original(self, texts)

    monkeypatch.setattr(HashingEmbedder, "embed_batch", counted)

    def die(*args: Any, **kwargs: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(bulk_loading, "run_until_done", die)
        with pytest.raises(KeyboardInterrupt):
            call_command("ingest", str(library), "--namespace", tenant.slug, "--bulk")
    before = len(embedded)
    assert before > 12
    ingest(tenant, library, "--bulk")
    assert len(embedded) == before == len(set(embedded))
    with namespace(tenant.pk):
        assert Document.objects.filter(status="ready").count() == 13


def test_what_was_prepared_under_another_profile_is_split_again(tenant: Namespace):
    prepared = pipeline.Prepared(tenant.active_profile, {}, None, None)  # type: ignore[arg-type]
    assert prepared.fits(tenant.active_profile, {})
    assert not prepared.fits(tenant.active_profile, {"size": 20})


def test_it_indexes_itself(tenant: Namespace, library: Path):
    with pytest.raises(CommandError, match="--no-wait"):
        call_command("ingest", str(library), "--namespace", tenant.slug, "--bulk", "--no-wait")
