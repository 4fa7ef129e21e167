"""`manage.py ingest --bulk`: the same rows as the ordinary way, in few statements, resumable."""

import json
import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, connections
from django.test.utils import CaptureQueriesContext
from psycopg.errors import FeatureNotSupported

from documents.embedders.hashing import HashingEmbedder
from documents.intake import intake
from documents.loading import copying, files, publishing, window
from documents.loading.copying import IndexedDocument
from documents.models import (
    Chunk,
    ChunkTerms,
    Document,
    DocumentVersion,
    EmbeddingCache,
    EmbeddingUsage,
    IndexProfile,
    IngestJob,
    Namespace,
    NamespaceUsage,
    TermFrequency,
    TermStatistics,
)
from documents.passages import Extracted, Passage
from documents.profiles import profiles, vector_indexes
from documents.verification.auditing import verify
from ragsite.database.tenancy import namespace, operator

pytestmark = pytest.mark.usefixtures("db")

IDS = {"id", "namespace_id", "document_id", "version_id", "profile_id", "chunk_id", "place"}
MOMENTS = {"created_at", "updated_at", "dated_at", "published_at", "counted_at", "finished_at"}
MOMENTS |= {"started_at", "run_after", "revision", "times_ms", "embedding_tokens"}
OWN = IDS | MOMENTS | {"storage_key", "worker", "request_id", "origin"}
# Of every table that ingesting writes, by what its rows are compared.
TABLES: dict[Any, str] = {
    Document: "source_uri",
    DocumentVersion: "file_name",
    IngestJob: "document__source_uri",
    Chunk: "document__source_uri",
    ChunkTerms: "chunk__document__source_uri",
    EmbeddingCache: "text_sha256",
    EmbeddingUsage: "month",
    NamespaceUsage: "documents",
    TermFrequency: "lexeme",
}


@pytest.fixture
def library(tmp_path: Path) -> Path:
    for number in range(12):
        words = " ".join(f"word{number}x{n}" for n in range(20 * (number % 4 + 1)))
        text = f"# Port {number}\n\n{words}.\n\n## Lights\n\nThe same sentence in every one."
        (tmp_path / f"port-{number}.md").write_text(text)
    (tmp_path / "rows.csv").write_text("name,height\nNorth,12 m\nSouth,9 m\n")
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing else")
    return tmp_path


def ingest(tenant: Namespace, library: Path, *options: str) -> list[dict[str, Any]]:
    out = StringIO()
    with pytest.raises(SystemExit):  # for broken.pdf
        call_command(
            *("ingest", str(library), "--namespace", tenant.slug, "--json", *options), stdout=out
        )
    return [json.loads(line) for line in out.getvalue().splitlines()]


def contents(tenant: Namespace) -> dict[str, list[str]]:
    """All rows as text, but for ids and moments."""
    found = {}
    with namespace(tenant.pk):
        for model, by in TABLES.items():
            columns = [f.attname for f in model._meta.concrete_fields if f.attname not in OWN]
            rows = model.objects.order_by(by).values_list(*columns)
            found[model.__name__] = sorted(str(row) for row in rows)
        tenant.refresh_from_db()
        counted = TermStatistics.objects.get(profile=tenant.active_profile)
        found["counts"] = [f"{tenant.chunk_count} {counted.chunks} {counted.configurations}"]
    return found


def refuse(*args: Any, **options: Any) -> None:
    raise AssertionError("one by one")


def test_the_rows_are_those_of_the_ordinary_way(
    tenant: Namespace, other_tenant: Namespace, library: Path, monkeypatch: pytest.MonkeyPatch
):
    ingest(tenant, library, "--tags", "sea", "--collection", "ports")
    monkeypatch.setattr(files, "WINDOW_FILES", 5)
    monkeypatch.setattr(intake, "accept", refuse)
    options = ("--tags", "sea", "--collection", "ports", "--bulk", "--processes", "2")
    results = ingest(other_tenant, library, *options)
    assert {r["status"] for r in results} == {"ready", "failed"}
    assert sum(r["chunks"] for r in results) == len(contents(other_tenant)["Chunk"]) > 20
    ordinary, bulk = contents(tenant), contents(other_tenant)
    for name, rows in ordinary.items():
        assert bulk[name] == rows, name
    assert verify().is_clean


def test_statements_do_not_grow_with_documents(
    tenant: Namespace, other_tenant: Namespace, tmp_path: Path
):
    counts = []
    for owner, number in ((tenant, 3), (other_tenant, 60)):
        folder = tmp_path / owner.slug
        folder.mkdir()
        for each in range(number):
            (folder / f"{each}.md").write_text(f"# Note {each}\n\nThe {each}th note of {owner}.")
        with CaptureQueriesContext(connection) as sent:
            call_command("ingest", str(folder), "--namespace", owner.slug, "--bulk")
        counts.append(len(sent))
        with namespace(owner.pk):
            assert Document.objects.filter(status="ready").count() == number
    assert counts[1] <= counts[0] + 3


def test_known_files_and_other_cases_go_the_ordinary_way(tenant: Namespace, library: Path):
    ingest(tenant, library, "--bulk")
    (library / "port-1.md").write_text("# Port 1\n\nAnother text.")
    (library / "twin.md").write_bytes((library / "port-2.md").read_bytes())
    (library / "fresh.md").write_text("# Fresh\n\nA new one.")
    (library / "empty.md").write_text("")
    results = {r["source_uri"]: r for r in ingest(tenant, library, "--bulk")}
    assert (results["port-1.md"]["status"], results["port-1.md"]["version"]) == ("ready", 2)
    assert results["twin.md"]["duplicate_of"] == "port-2.md"
    assert (results["fresh.md"]["status"], results["fresh.md"]["chunks"]) == ("ready", 1)
    assert results["empty.md"]["code"] == "empty_file"
    assert results["port-3.md"]["status"] == "duplicate"
    with namespace(tenant.pk):
        assert Document.objects.filter(status="ready").count() == 14
    assert verify().is_clean


def test_twins_of_one_load_are_one_document(tenant: Namespace, tmp_path: Path):
    for name in ("one.md", "two.md"):
        (tmp_path / name).write_text("# Twin\n\nThe same.")
    call_command("ingest", str(tmp_path), "--namespace", tenant.slug, "--bulk")
    with namespace(tenant.pk):
        assert [d.source_uri for d in Document.objects.all()] == ["one.md"]


@pytest.mark.parametrize("limit", ["max_documents", "max_chunks"])
def test_a_quota_is_kept_to(tenant: Namespace, library: Path, limit: str):
    with operator():
        Namespace.objects.filter(pk=tenant.pk).update(**{limit: 5})
    results = ingest(tenant, library, "--bulk")
    assert {r["code"] for r in results if "code" in r} >= {"quota_exceeded"}
    with namespace(tenant.pk):
        assert 0 < Document.objects.filter(status="ready").count() <= 5
        assert Chunk.objects.count() <= 5 if limit == "max_chunks" else True


def test_a_switch_of_profile_meanwhile_is_followed(
    tenant: Namespace, library: Path, monkeypatch: pytest.MonkeyPatch
):
    other = profiles.create("other", embedder="hashing", chunk_size=30, ann_method="exact")
    embed = window.embed_together

    def switch(*args: Any) -> Any:
        with operator():
            Namespace.objects.filter(pk=tenant.pk).update(active_profile=other)
        return embed(*args)

    monkeypatch.setattr(window, "embed_together", switch)
    ingest(tenant, library, "--bulk")
    with namespace(tenant.pk):
        assert set(Chunk.objects.values_list("profile", flat=True)) == {other.pk}
        assert Document.objects.filter(status="ready").count() == 13


def test_documents_that_change_meanwhile_are_indexed_as_they_are(
    tenant: Namespace, library: Path, monkeypatch: pytest.MonkeyPatch
):
    """One is deleted and one gets other tags while the window is being embedded."""
    embed = window.embed_together

    def change(*args: Any) -> Any:
        with namespace(tenant.pk):
            Document.objects.get(source_uri="port-1.md").delete()
            retagged = Document.objects.get(source_uri="port-2.md")
            retagged.given["tags"] = ["changed"]
            retagged.save(update_fields=["given"])
        return embed(*args)

    monkeypatch.setattr(window, "embed_together", change)
    ingest(tenant, library, "--bulk")
    with namespace(tenant.pk):
        assert not Document.objects.filter(source_uri="port-1.md").exists()
        assert Document.objects.get(source_uri="port-2.md").tags == ["changed"]
        assert Document.objects.filter(status="ready").count() == 12
        assert not Chunk.objects.exclude(document__in=Document.objects.all()).exists()


def test_a_killed_load_goes_on_and_embeds_nothing_again(
    tenant: Namespace,
    other_tenant: Namespace,
    library: Path,
    settings: LazySettings,
    monkeypatch: pytest.MonkeyPatch,
):
    """kill -9 at three moments: documents taken, embedded, and in the publishing transaction."""
    ingest(other_tenant, library)
    settings.JOB_LEASE_SECONDS = 1
    monkeypatch.setattr(files, "WINDOW_FILES", 4)
    embedded = library.parent / "embedded.log"
    original = HashingEmbedder.embed_batch

    def noted(self: HashingEmbedder, texts: list[str]) -> Any:
        with embedded.open("a") as log:
            log.writelines(f"{text!r}\n" for text in texts)
        return original(self, texts)

    monkeypatch.setattr(HashingEmbedder, "embed_batch", noted)
    moments = ((window, "take", 2), (window, "embed_together", 1), (publishing, "insert_chunks", 1))
    for module, name, call in moments:
        killed_in(lambda: ingest(tenant, library, "--bulk", "--processes", "1"), module, name, call)
    time.sleep(1.2)  # the leases of the dead
    ingest(tenant, library, "--bulk")
    texts = embedded.read_text().splitlines()
    assert len(texts) == len(set(texts)) > 12
    mine, complete = contents(tenant), contents(other_tenant)
    for name in ("Document", "Chunk", "ChunkTerms", "EmbeddingCache", "counts"):
        assert mine[name] == complete[name], name
    assert verify().is_clean


def killed_in(work: Callable[[], Any], module: Any, name: str, call: int) -> None:
    """Run this in another process, which kills itself after that call of a function."""

    def run() -> None:
        for each in connections.all(initialized_only=True):
            each.connection = None  # the parent's
        called, function = [], getattr(module, name)

        def last(*args: Any, **options: Any) -> Any:
            result = function(*args, **options)
            called.append(name)
            if len(called) == call:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        setattr(module, name, last)
        work()

    process = multiprocessing.get_context("fork").Process(target=run)
    process.start()
    process.join(120)
    assert process.exitcode == -signal.SIGKILL


def test_a_namespace_cannot_copy_into_another(tenant: Namespace, other_tenant: Namespace):
    with namespace(tenant.pk):
        document = Document.objects.create(
            namespace=tenant, source_uri="a", source_type="md", byte_size=1, status="ready"
        )
        version = DocumentVersion.objects.create(
            namespace=tenant, document=document, number=1, byte_size=1
        )
    passage = Passage(text="a", start=0, end=1, tokens=1)
    row = IndexedDocument(document, version, Extracted("a"), [passage], ["[" + "0.1," * 255 + "1]"])
    with pytest.raises(IntegrityError), namespace(other_tenant.pk):
        copying.insert_chunks(tenant.active_profile, [row])
    # Why there is a second table.
    with (
        pytest.raises(FeatureNotSupported, match="row-level security"),
        namespace(tenant.pk),
        connection.cursor() as cursor,
        cursor.copy("COPY documents_chunk FROM STDIN"),
    ):
        pass
    with namespace(tenant.pk):
        assert not Chunk.objects.exists()


def test_it_indexes_itself(tenant: Namespace, library: Path):
    with pytest.raises(CommandError, match="--no-wait"):
        call_command("ingest", str(library), "--namespace", tenant.slug, "--bulk", "--no-wait")


@pytest.fixture
def indexed_tenant(new_namespace: Callable[..., Namespace]) -> tuple[Namespace, IndexProfile]:
    profile = profiles.create("mine", embedder="hashing", ann_method="hnsw")
    vector_indexes.ensure(profile)
    return new_namespace("indexed", profile=profile), profile


def test_the_vector_index_is_set_aside_for_a_large_load(
    indexed_tenant: tuple[Namespace, IndexProfile],
    library: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    tenant, profile = indexed_tenant
    monkeypatch.setattr(vector_indexes, "MIN_SET_ASIDE", 1)
    seen = []
    publish = window.publish

    def looking(*args: Any, **options: Any) -> Any:
        result = publish(*args, **options)
        sweep_elsewhere()  # must not build it now
        seen.append(index_of(profile))
        return result

    monkeypatch.setattr(window, "publish", looking)
    ingest(tenant, library, "--bulk", "--processes", "1")
    assert seen == [[]]
    assert index_of(profile) == [True]
    with namespace(tenant.pk):
        assert Chunk.objects.count() > 12
    (library / "late.md").write_text("# Late\n\nOne more.")
    monkeypatch.setattr(vector_indexes, "MAX_SCANNED", 3)  # now there is too much
    ingest(tenant, library, "--bulk", "--processes", "1")
    assert seen == [[], [True]]


def test_an_index_that_was_set_aside_by_a_load_that_died_is_built_again(
    indexed_tenant: tuple[Namespace, IndexProfile], monkeypatch: pytest.MonkeyPatch
):
    _, profile = indexed_tenant
    monkeypatch.setattr(vector_indexes, "_ensure", lambda *args, **options: False)
    with vector_indexes.set_aside(profile, expected=10**6) as is_aside:
        assert is_aside
    assert index_of(profile) == []
    monkeypatch.undo()
    vector_indexes.sweep()
    assert index_of(profile) == [True]


def test_a_load_may_keep_the_index(
    indexed_tenant: tuple[Namespace, IndexProfile], library: Path, monkeypatch: pytest.MonkeyPatch
):
    tenant, _ = indexed_tenant
    monkeypatch.setattr(vector_indexes, "MIN_SET_ASIDE", 1)
    monkeypatch.setattr(vector_indexes, "set_aside", refuse)
    ingest(tenant, library, "--bulk", "--keep-index")


def sweep_elsewhere() -> None:
    def run() -> None:
        vector_indexes.sweep()
        connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(run).result()


def index_of(profile: IndexProfile) -> list[bool]:
    with connections["owner"].cursor() as cursor:
        return [
            found.is_valid
            for found in vector_indexes._indexes(cursor, vector_indexes.name_of(profile.pk))
        ]
