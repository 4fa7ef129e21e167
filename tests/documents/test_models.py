"""The tables: vectors and their order, constraints that hold, and what a document's row says."""

import hashlib
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.db import DataError, IntegrityError
from django.db.models.functions import Now
from pgvector.django import CosineDistance

from documents import housekeeping
from documents.embedders.hashing import HashingEmbedder
from documents.ingestion import removal
from documents.intake import intake
from documents.intake.intake import Receipt, Submission
from documents.models import (
    Chunk,
    Document,
    DocumentVersion,
    EmbeddingCache,
    IndexProfile,
    IngestJob,
    Namespace,
    WorkerHeartbeat,
)
from ragsite.database.tenancy import namespace, operator

from ..client import Api

SECTIONS = "\n\n".join(f"# Section {n}\n\nParagraph number{n} of the text." for n in range(7))


def submit(tenant: Namespace, text: str = SECTIONS, **said: Any) -> Receipt:
    said.setdefault("file_name", "a.md")
    return intake.accept(tenant.pk, Submission(content=ContentFile(text.encode()), **said))


def only(model: type) -> Any:
    with operator():
        return model.objects.get()


def add_document(tenant: Namespace, source_uri: str = "upload:a.md") -> Document:
    return Document.objects.create(
        namespace_id=tenant.pk,
        source_type="md",
        source_uri=source_uri,
        content_sha256="0" * 64,
        media_type="text/markdown",
        byte_size=1,
    )


def add_version(document: Document, number: int = 1, state: str = "live") -> DocumentVersion:
    return DocumentVersion.objects.create(
        namespace_id=document.namespace_id,
        document=document,
        number=number,
        state=state,
        content_sha256="0" * 64,
        media_type="text/markdown",
        byte_size=1,
        storage_key=f"uploads/{uuid.uuid4()}",
    )


def add_chunk(
    version: DocumentVersion, profile: IndexProfile, ordinal: int = 0, **fields: Any
) -> Chunk:
    return Chunk.objects.create(
        namespace_id=version.namespace_id,
        profile=profile,
        document_id=version.document_id,
        version=version,
        ordinal=ordinal,
        **{
            "content": "words",
            "tokens": 1,
            "start": 0,
            "end": 5,
            "chunk_hash": hashlib.sha256(b"words").hexdigest(),
            "embedding": [1.0, 0.0, 0.0],
            **fields,
        },
    )


# -- vectors ----------------------------------------------------------------------------


def test_vectors_are_read_back_in_the_order_of_their_cosine_similarity(
    tenant: Namespace, other_tenant: Namespace, hashing_profile: IndexProfile
):
    vectors = {"same": [2.0, 0.0, 0.0], "near": [3.0, 1.0, 0.0], "far": [0.0, 5.0, 0.1]}
    for owner in (tenant, other_tenant):
        with namespace(owner.pk):
            version = add_version(add_document(owner))
            for ordinal, (name, vector) in enumerate(reversed(vectors.items())):
                add_chunk(version, hashing_profile, ordinal, section=name, embedding=vector)
    nearest = Chunk.objects.annotate(distance=CosineDistance("embedding", [1.0, 0.0, 0.0]))
    with namespace(tenant.pk):
        found = list(nearest.order_by("distance").values_list("section", "distance", "embedding"))
    assert [section for section, _, _ in found] == ["same", "near", "far"]
    assert [distance for _, distance, _ in found] == pytest.approx(
        [0.0, 1 - 3 / 10**0.5, 1.0], abs=1e-4
    )
    assert list(found[1][2]) == pytest.approx([3.0, 1.0, 0.0])
    assert list(nearest) == []  # without a tenant there is nothing to be near to


def test_vectors_of_several_dimensions_live_side_by_side(
    tenant: Namespace, hashing_profile: IndexProfile
):
    with namespace(tenant.pk):
        version = add_version(add_document(tenant))
        add_chunk(version, hashing_profile, 0, embedding=[1.0, 0.0])
        add_chunk(version, hashing_profile, 1, embedding=[1.0, 0.0, 0.0])
        assert sorted(len(v) for v in Chunk.objects.values_list("embedding", flat=True)) == [2, 3]


def test_a_vector_that_is_not_finite_is_refused(tenant: Namespace, hashing_profile: IndexProfile):
    with namespace(tenant.pk):
        version = add_version(add_document(tenant))
    with pytest.raises(DataError), namespace(tenant.pk):
        add_chunk(version, hashing_profile, embedding=[float("nan"), 1.0])


# -- constraints --------------------------------------------------------------------------


def test_a_source_is_there_once_in_a_namespace_and_once_in_every_other(
    tenant: Namespace, other_tenant: Namespace
):
    long = "https://example.com/" + "x" * 10_000  # more than a btree entry can hold
    for owner in (tenant, other_tenant):
        with namespace(owner.pk):
            add_document(owner, long)
            add_document(owner, long + "y")
    with pytest.raises(IntegrityError, match="document_source_once"), namespace(tenant.pk):
        add_document(tenant, long)


def test_a_document_has_one_live_version(tenant: Namespace):
    with namespace(tenant.pk):
        document = add_document(tenant)
        for number, state in enumerate(("live", "superseded", "superseded", "failed"), start=1):
            add_version(document, number, state)
    with pytest.raises(IntegrityError, match="version_one_live"), namespace(tenant.pk):
        add_version(document, 5, "live")
    with pytest.raises(IntegrityError, match="version_number_once"), namespace(tenant.pk):
        add_version(document, 4, "queued")


@pytest.mark.parametrize(
    ("fields", "constraint"),
    [
        ({"start": 5, "end": 5}, "chunk_span_forward"),
        ({"start": 6, "end": 5}, "chunk_span_forward"),
        ({"start": -1, "end": 5}, "start"),
        ({"ordinal": 0}, "chunk_ordinal_once"),
    ],
)
def test_a_chunk_that_makes_no_sense_is_refused(
    fields: dict[str, int], constraint: str, tenant: Namespace, hashing_profile: IndexProfile
):
    with namespace(tenant.pk):
        version = add_version(add_document(tenant))
        add_chunk(version, hashing_profile, 0)
    with pytest.raises(IntegrityError, match=constraint), namespace(tenant.pk):
        add_chunk(version, hashing_profile, **{"ordinal": 1, **fields})


def test_a_version_has_one_open_job(tenant: Namespace):
    with namespace(tenant.pk):
        document = add_document(tenant)
        version = add_version(document)
        for state in ("succeeded", "failed", "cancelled", "queued"):
            IngestJob.objects.create(
                namespace_id=tenant.pk, document=document, version=version, state=state
            )
    for state in ("queued", "running"):
        with pytest.raises(IntegrityError, match="job_one_open"), namespace(tenant.pk):
            IngestJob.objects.create(
                namespace_id=tenant.pk, document=document, version=version, state=state
            )


def test_deleting_a_document_takes_everything_of_it_along(
    tenant: Namespace, hashing_profile: IndexProfile
):
    with namespace(tenant.pk):
        document = add_document(tenant)
        version = add_version(document)
        add_chunk(version, hashing_profile)
        IngestJob.objects.create(namespace_id=tenant.pk, document=document, version=version)
        EmbeddingCache.objects.create(
            namespace_id=tenant.pk,
            document=document,
            model_identity="m",
            text_sha256=b"0" * 32,
            embedding=[1.0],
        )
        Document.objects.filter(pk=document.pk).delete()
        for model in (DocumentVersion, Chunk, IngestJob, EmbeddingCache):
            assert not model.objects.exists(), model


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"model_identity": "other/model/256"}, "profile_mismatch"),
        ({"dimensions": 255}, "profile_mismatch"),
        ({"embedder": "nowhere"}, "embedding_failed"),
    ],
)
def test_only_its_own_model_may_embed_for_a_profile(
    fields: dict[str, Any],
    code: str,
    tenant: Namespace,
    hashing_profile: IndexProfile,
    work: Callable[[], int],
):
    with operator():
        IndexProfile.objects.filter(pk=hashing_profile.pk).update(**fields)
    submit(tenant)
    work()
    assert only(IngestJob).error_code == code
    with operator():
        assert not Chunk.objects.exists()


def test_a_profile_is_bound_to_the_first_model_that_embeds_for_it(
    tenant: Namespace, hashing_profile: IndexProfile, work: Callable[[], int]
):
    submit(tenant)
    work()
    with operator():
        identity = IndexProfile.objects.get(pk=hashing_profile.pk).model_identity
    assert identity == HashingEmbedder(dimensions=256).identity
    document = only(Document)
    assert (document.embedding_model, document.embedding_dim) == (identity, 256)


def test_rows_name_themselves_for_the_admin_and_the_log(
    tenant: Namespace, hashing_profile: IndexProfile, work: Callable[[], int]
):
    receipt = submit(tenant, "Words.", file_name="", source_uri="note:1")
    work()
    assert str(only(Document)) == "note:1"
    assert str(only(DocumentVersion)) == f"{receipt.document_id} v1"
    assert str(only(Chunk)) == f"{receipt.document_id} #0"
    assert str(only(IngestJob)) == f"{receipt.job_id} succeeded"
    assert str(only(EmbeddingCache)).startswith("hashing/")
    assert str(hashing_profile) == "hashing"
    assert str(tenant) == "tenant"


# -- what a document says of itself, and what was said of it ----------------------------------

FRONT_MATTER = """---
title: From the file
tags: [file, both]
date: 2021-03-04
author: Ada
---
# Heading

Words.
"""


def test_what_the_uploader_said_counts_more_than_what_the_file_says(
    tenant: Namespace, work: Callable[[], int]
):
    said = {"title": "Given", "tags": ["given", "both"], "metadata": {"author": "Bob", "n": 1}}
    submit(tenant, FRONT_MATTER, **said)
    assert only(Document).tags == ["given", "both"]  # at once
    work()
    document = only(Document)
    assert document.title == "Given"
    assert document.tags == ["given", "both", "file"]
    assert document.metadata == {"author": "Bob", "n": 1, "date": "2021-03-04"}
    assert document.dated_at == datetime(2021, 3, 4, tzinfo=UTC)


def test_a_new_version_inherits_what_was_said_and_drops_what_the_old_file_said(
    tenant: Namespace, work: Callable[[], int]
):
    submit(tenant, FRONT_MATTER, tags=["given"])
    work()
    submit(tenant, "---\ntags: new\n---\n# Other\n\nWords.")
    work()
    document = only(Document)
    assert (document.title, document.tags, document.metadata) == ("Other", ["given", "new"], {})
    assert document.dated_at == document.created_at
    submit(tenant, "# Third\n\nWords.", tags=["later"])
    work()
    assert only(Document).tags == ["later"]


@pytest.mark.parametrize(
    ("text", "name", "title"),
    [
        (FRONT_MATTER, "a.md", "From the file"),
        ("# The heading\n\nWords.", "a.md", "The heading"),
        ("Words without a heading.", "notes.txt", "notes.txt"),
    ],
)
def test_a_title_is_found_in_the_best_place(
    text: str, name: str, title: str, tenant: Namespace, work: Callable[[], int]
):
    submit(tenant, text, file_name=name)
    work()
    assert only(Document).title == title


@pytest.mark.parametrize(
    "date",
    [
        "2021-02-30",
        "next Tuesday",
        "[1, 2]",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-12:00",
        "'0001-01-01 00:00:00+10:00'",
    ],
)
def test_a_date_that_cannot_be_kept_spoils_nothing(
    date: str, tenant: Namespace, api: Api, work: Callable[[], int]
):
    submit(tenant, f"---\ndate: {date}\n---\n# A\n\nThe walrus.")
    work()
    (document,) = api.get("documents").body["results"]
    assert document["status"] == "ready"
    assert api.query("walrus").status == 200


def test_warnings_of_the_reader_are_kept_with_the_version(
    tenant: Namespace, api: Api, work: Callable[[], int]
):
    receipt = submit(tenant, "---\ntitle: [unclosed\n---\n# A\n\nWords.")
    work()
    (version,) = api.get(f"documents/{receipt.document_id}/versions").body["results"]
    assert "front matter" in version["warnings"][0]


# -- the namespace's account --------------------------------------------------------------------


def test_a_namespace_knows_how_many_chunks_it_has_and_that_something_changed(
    tenant: Namespace, work: Callable[[], int]
):
    def account() -> tuple[int, int]:
        with operator():
            row = Namespace.objects.get(pk=tenant.pk)
            assert row.chunk_count == Chunk.objects.count()
        return row.chunk_count, row.revision

    revisions = [account()[1]]
    for text, name in ((SECTIONS, "a.md"), ("# B\n\nB.", "b.md"), ("# A\n\nShort.", "a.md")):
        receipt = submit(tenant, text, file_name=name)
        work()
        revisions.append(account()[1])
    assert account()[0] == 2
    removal.remove(tenant.pk, receipt.document_id)
    revisions.append(account()[1])
    assert account()[0] == 1
    assert revisions == sorted(set(revisions))


def test_old_vectors_and_dead_workers_are_forgotten(
    tenant: Namespace, other_tenant: Namespace, work: Callable[[], int], settings: Any
):
    for owner in (tenant, other_tenant):
        submit(owner)
    work()
    with operator():
        ids = EmbeddingCache.objects.filter(namespace=tenant.pk).values_list("id", flat=True)[:3]
        old = Now() - timedelta(days=settings.EMBEDDING_CACHE_DAYS + 1)
        EmbeddingCache.objects.filter(id__in=list(ids)).update(created_at=old)
        for name, days in (("dead", 2), ("alive", 0)):
            WorkerHeartbeat.objects.create(worker=name, beaten_at=Now() - timedelta(days=days))
    housekeeping.tidy()
    with operator():
        assert EmbeddingCache.objects.count() == 14 - 3
        assert EmbeddingCache.objects.filter(namespace=tenant.pk).count() == 4
        workers = set(WorkerHeartbeat.objects.values_list("worker", flat=True))
    assert "alive" in workers
    assert "dead" not in workers
