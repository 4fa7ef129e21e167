"""Accept many new documents in one transaction: the rows of intake.accept, already claimed."""

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db import connection
from django.db.models.functions import Now

from documents.accounts import quotas
from documents.collections import membership
from documents.collections.editing import named
from documents.intake import originals
from documents.intake.checking import Checked
from documents.intake.records import (
    lock_contents_and_sources,
    new_document,
    new_version,
    source_hash,
)
from documents.jobs import heartbeat
from documents.jobs.queue import JobClaim
from documents.models import Document, DocumentVersion, IngestJob
from ragsite.database.tenancy import namespace
from ragsite.platform.logs import current_request_id

# Bytes and sources that are known, and addresses under which an earlier release took files in.
_KNOWN = """
    SELECT md5(source_uri), content_sha256 FROM documents_document
    WHERE md5(source_uri) = ANY (%s) OR content_sha256 = ANY (%s)
"""


@dataclass(frozen=True, slots=True)
class NewFile:
    """A checked file and its address on this machine."""

    checked: Checked
    address: str

    @property
    def hashes(self) -> set[str]:
        return {
            source_hash(self.checked.source_uri),
            source_hash(self.address),
            self.checked.sha256,
        }


@dataclass(frozen=True, slots=True, eq=False)
class TakenDocument:
    """The rows of a document that this process is going to index."""

    document: Document
    version: DocumentVersion
    job: IngestJob
    claim: JobClaim


def take(
    namespace_id: uuid.UUID, files: Sequence[NewFile], *, collection: str
) -> list[TakenDocument]:
    """Store what is new and record it; the rest, which has to be compared with what is there, is
    left to intake.accept. When this returns, a crash cannot lose a document."""
    with namespace(namespace_id):
        new = _new(files)
        size = sum(file.checked.size for file in new)
        quotas.require_room(namespace_id, documents=len(new), bytes=size)
    if not new:
        return []
    contents = [file.checked.submission.content for file in new]
    keys = originals.store_many(contents, namespace_id=namespace_id)
    try:
        with namespace(namespace_id):
            taken = _record(namespace_id, new, keys, collection)
    except BaseException:
        _remove(keys)
        raise
    _remove(set(keys) - {each.version.storage_key for each in taken})
    return taken


def _new(files: Sequence[NewFile]) -> list[NewFile]:
    """Return the files of which neither source nor bytes are known, here or among them."""
    hashes = sorted({each for file in files for each in file.hashes})
    with connection.cursor() as cursor:
        cursor.execute(_KNOWN, [hashes, hashes])
        known = {value for row in cursor.fetchall() for value in row}
    new = []
    for file in files:
        if not file.hashes & known:
            new.append(file)
            known |= {source_hash(file.checked.source_uri), file.checked.sha256}
    return new


def _record(
    namespace_id: uuid.UUID, files: Sequence[NewFile], keys: Sequence[str], collection: str
) -> list[TakenDocument]:
    """Inside namespace()."""
    lock_contents_and_sources(namespace_id, [file.checked for file in files])
    still_new = {id(file) for file in _new(files)}
    taken = []
    token, worker = uuid.uuid4(), heartbeat.group()
    for file, key in zip(files, keys, strict=True):
        if id(file) not in still_new:  # it was uploaded in the meantime
            continue
        document = new_document(namespace_id, file.checked)
        document.status = Document.Status.PROCESSING
        version = new_version(document, file.checked, key)
        version.state = DocumentVersion.State.PROCESSING
        job = IngestJob(
            namespace_id=namespace_id,
            document=document,
            version=version,
            request_id=current_request_id(),
            state=IngestJob.State.RUNNING,
            attempts=1,  # counted before the work starts, as by queue.claim
            lease_token=token,
            worker=worker,
        )
        job.lease_until, job.started_at = JobClaim.lease_end(), Now()
        claim = JobClaim(job.pk, namespace_id, token)
        taken.append(TakenDocument(document, version, job, claim))
    Document.objects.bulk_create(each.document for each in taken)
    DocumentVersion.objects.bulk_create(each.version for each in taken)
    IngestJob.objects.bulk_create(each.job for each in taken)
    size = sum(each.version.byte_size for each in taken)
    quotas.require_not_exceeded(namespace_id, documents=len(taken), bytes=size)
    if collection and taken:
        membership.add(named(namespace_id, collection), {each.document.pk: None for each in taken})
    return taken


def _remove(keys: Iterable[str]) -> None:
    for key in keys:
        originals.remove(key)
