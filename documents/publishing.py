"""The one transaction that makes a version searchable: new chunks in, old ones out."""

import hashlib
import re
import uuid
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from django.db.models import F
from django.db.models.functions import Now

from ragsite.tenancy import namespace

from . import jobs, languages, terms
from .embedding import Vector
from .leases import BuildLease, Lease, LeaseLost
from .metadata import date_in
from .models import (
    Chunk,
    Document,
    DocumentVersion,
    IndexProfile,
    IngestJob,
    Namespace,
    Reindex,
)
from .passages import Extracted, Page, Passage
from .recording import record_rows

INSERT_BATCH = 500
_LANGUAGE_CODE = re.compile(r"([a-z]{2})(?:[-_]|$)")


class ProfileSwitched(Exception):
    """The namespace has moved to another profile while a document was indexed under the old."""

    def __init__(self, profile: IndexProfile) -> None:
        super().__init__(profile.name)
        self.profile = profile


def publish(
    lease: Lease,
    version: DocumentVersion,
    profile: IndexProfile,
    extracted: Extracted,
    passages: Sequence[Passage],
    vectors: Sequence[Vector],
) -> None:
    """Readers see the old version or the new one, never a mix and never nothing.

    Under the namespace's own profile; one that is kept beside it follows (building.py). Raises
    ProfileSwitched, with nothing written, if that is another one by now.
    """
    with namespace(version.namespace_id):
        document = Document.objects.select_for_update().filter(pk=version.document_id).first()
        if document is None:
            raise LeaseLost(lease.claim.job_id)
        active = hold_pointer(version.namespace_id)
        # Before anything else: whoever lost the lease stops here, with nothing written.
        lease.claim.write(
            state=IngestJob.State.SUCCEEDED,
            stage=IngestJob.Stage.DONE,
            lease_token=None,
            lease_until=None,
            finished_at=Now(),
            times_ms=lease.times_ms,
            error_code="",
            error_message="",
        )
        if active != profile:
            raise ProfileSwitched(active)
        if document.live_version is not None and document.live_version > version.number:
            # A newer version was faster.
            _write_version(version, extracted, DocumentVersion.State.SUPERSEDED)
            return
        removed, _ = Chunk.objects.filter(document=document, profile=profile).delete()
        _drop_displaced(version, extracted)
        _describe(document, version, profile, extracted, passages)
        _insert_chunks(document, version, profile, extracted, passages, vectors)
        warnings = record_rows(document, version, extracted)
        extracted = replace(extracted, warnings=(*extracted.warnings, *warnings))
        live = DocumentVersion.objects.filter(document=document, state=DocumentVersion.State.LIVE)
        live.exclude(pk=version.pk).update(state=DocumentVersion.State.SUPERSEDED)
        _write_version(version, extracted, DocumentVersion.State.LIVE)
        if Reindex.objects.filter(state__in=Reindex.OPEN).update(has_work=True):
            jobs.ring()
        # Last, because it makes the namespace's publishers wait for one another.
        Namespace.objects.filter(pk=version.namespace_id).update(
            revision=F("revision") + 1, chunk_count=F("chunk_count") + len(passages) - removed
        )


def publish_beside(
    lease: BuildLease,
    version: DocumentVersion,
    profile: IndexProfile,
    extracted: Extracted,
    passages: Sequence[Passage],
    vectors: Sequence[Vector],
) -> bool:
    """The live version's chunks under one more profile; False if it is not live any more."""
    with namespace(version.namespace_id):
        document = Document.objects.select_for_update().filter(pk=version.document_id).first()
        if document is None or document.live_version != version.number:
            return False
        active = hold_pointer(version.namespace_id)
        built = {"documents_built": F("documents_built") + 1}
        lease.claim.write(**built, chunks_built=F("chunks_built") + len(passages))
        removed, _ = Chunk.objects.filter(document=document, profile=profile).delete()
        _insert_chunks(document, version, profile, extracted, passages, vectors)
        if profile == active:  # a namespace that went back before all of it was there
            Namespace.objects.filter(pk=version.namespace_id).update(
                revision=F("revision") + 1, chunk_count=F("chunk_count") + len(passages) - removed
            )
        return True


def hold_pointer(namespace_id: uuid.UUID) -> IndexProfile:
    """The namespace's profile, the same until this transaction ends. Inside namespace().

    Everybody who publishes may hold it at once; whoever moves it takes the row FOR UPDATE.
    """
    return IndexProfile.objects.raw(
        "SELECT profile.* FROM documents_namespace namespace "
        "JOIN documents_indexprofile profile ON profile.id = namespace.active_profile_id "
        "WHERE namespace.id = %s FOR KEY SHARE OF namespace",
        [namespace_id],
    )[0]


def _drop_displaced(version: DocumentVersion, extracted: Extracted) -> None:
    """Of the same version's chunks under other profiles, if its text has changed: a newer release
    may read the same file differently, and then their spans are wrong. They are built anew."""
    if version.published_at is not None and version.text != extracted.text:
        Chunk.objects.filter(version=version).delete()


def _describe(
    document: Document,
    version: DocumentVersion,
    profile: IndexProfile,
    extracted: Extracted,
    passages: Sequence[Passage],
) -> None:
    """What the uploader said of the document counts more than what the file says of itself."""
    given = document.given
    document.title = given.get("title") or extracted.title or version.file_name
    fixed = given.get("fixed", ())  # by somebody who knew what the file says (amending.py)
    own_tags = () if "tags" in fixed else extracted.tags
    own_metadata = {} if "metadata" in fixed else extracted.metadata
    document.tags = list(dict.fromkeys([*given.get("tags", ()), *own_tags]))
    document.metadata = {**own_metadata, **given.get("metadata", {})}
    document.dated_at = date_in(document.metadata) or document.created_at
    document.language = _language_of(document, extracted)
    document.live_version = version.number
    document.chunks_count = len(passages)
    document.tokens_count = sum(passage.tokens for passage in passages)
    document.embedding_model = profile.model_identity
    document.embedding_dim = profile.dimensions
    document.ingestion_version = profile.ingestion_version
    if document.document_version == version.number:
        document.status = Document.Status.READY
        document.error_code = document.error_message = ""
    document.updated_at = Now()
    document.save()


def _insert_chunks(
    document: Document,
    version: DocumentVersion,
    profile: IndexProfile,
    extracted: Extracted,
    passages: Sequence[Passage],
    vectors: Sequence[Vector],
) -> None:
    # Made from what they are, so that a second run of the same work gives the same ids.
    ids = [uuid.uuid5(version.pk, f"{profile.pk}/{ordinal}") for ordinal in range(len(passages))]
    chunks = (
        Chunk(
            id=ids[ordinal],
            namespace_id=version.namespace_id,
            profile=profile,
            document=document,
            version=version,
            ordinal=ordinal,
            kind=passage.kind,
            content=passage.text,
            tokens=passage.tokens,
            section=passage.section,
            start=passage.start,
            end=passage.end,
            page_start=page_at(extracted.pages, passage.start),
            page_end=page_at(extracted.pages, passage.end - 1),
            metadata=_metadata(passage),
            chunk_hash=hashlib.sha256(passage.text.encode()).hexdigest(),
            embedding=vector,
        )
        for ordinal, (passage, vector) in enumerate(zip(passages, vectors, strict=True))
    )
    Chunk.objects.bulk_create(chunks, batch_size=INSERT_BATCH)
    said = [
        terms.words_of(chunk_id, document.title, passage)
        for chunk_id, passage in zip(ids, passages, strict=True)
    ]
    for start in range(0, len(said), INSERT_BATCH):
        terms.store(
            said[start : start + INSERT_BATCH],
            namespace_id=version.namespace_id,
            profile=profile,
            document_id=document.pk,
            language=document.language,
        )


def _language_of(document: Document, extracted: Extracted) -> str:
    """What the document says of itself, else what its namespace is written in, else what it looks
    like. Of a code only the language counts: en-GB is en."""
    for said in (document.metadata.get("language"), document.metadata.get("lang")):
        if isinstance(said, str) and (code := _LANGUAGE_CODE.match(said.strip().lower())):
            return code[1]
    given = Namespace.objects.values_list("language", flat=True).get(pk=document.namespace_id)
    return given or languages.detect(extracted.text)


def page_at(pages: Sequence[Page], position: int) -> int | None:
    """The number of the page that a character stands on; None where there are no pages."""
    index = bisect_right(pages, position, key=lambda page: page.start) - 1
    return pages[index].number if index >= 0 else None


def _metadata(passage: Passage) -> dict[str, Any]:
    optional = {"language": passage.language, "part": passage.part}
    return {
        **passage.attributes,
        "heading_path": list(passage.heading_path),
        **{name: value for name, value in optional.items() if value},
    }


def _write_version(version: DocumentVersion, extracted: Extracted, state: str) -> None:
    headings = [
        {"level": block.level, "title": block.title, "start": block.start, "end": block.end}
        for block in extracted.blocks
        if block.kind == "heading"
    ]
    DocumentVersion.objects.filter(pk=version.pk).update(
        state=state,
        text=extracted.text,
        outline={"headings": headings, "pages": [asdict(page) for page in extracted.pages]},
        warnings=list(extracted.warnings),
        published_at=Now(),
    )
