"""Move a document to another namespace: it is indexed there, then deleted here.

The two namespaces share nothing, so nothing is moved in place: the original is stored again under
the other namespace, and read, split and embedded under that namespace's profile.
"""

import logging
import uuid
from dataclasses import dataclass

from django.core.files.base import File

from documents.accounts import audit
from documents.chunking.methods import ChunkingOptions
from documents.errors import BadFile
from documents.intake import intake, originals
from documents.intake.submissions import Receipt, SourceTaken, Submission
from documents.jobs.queue import OPEN_STATES
from documents.models import Document, DocumentVersion, IngestJob, Namespace
from documents.passages import CONVERSATION
from ragsite.database.tenancy import namespace

from . import editing, removal
from .removal import RemovalReceipt

logger = logging.getLogger(__name__)


class DocumentBusy(BadFile):
    """The document is being indexed, or has changed since the move began."""

    code = "document_busy"


class CannotMove(BadFile):
    """The other namespace cannot accept the document."""

    code = "cannot_move"


@dataclass(frozen=True, slots=True)
class MoveReceipt:
    """The new document, and what was removed with the old one."""

    document_id: uuid.UUID
    job_id: uuid.UUID | None
    removed: RemovalReceipt


def move(namespace_id: uuid.UUID, document_id: uuid.UUID, *, to: uuid.UUID) -> MoveReceipt:
    """Move the newest content of a document with its title, tags, metadata and chunking options.

    Nothing is deleted until the other namespace has accepted it. Raises Document.DoesNotExist,
    DocumentBusy, CannotMove, and the errors of `accept`, such as QuotaExceeded and OriginalLost.
    """
    document, version = _read(namespace_id, document_id)
    _require_possible(document, to)
    taken = _copy(document, version, to)
    try:
        removed = removal.remove(
            namespace_id, document_id, check=lambda now: _require_unchanged(now, document)
        )
    except BaseException:
        removal.remove(to, taken.document_id)
        raise
    # By id: a tenant's own audit log must not name another tenant.
    moved_out = audit.Target("document", str(document_id))
    moved_in = audit.Target("document", str(taken.document_id))
    audit.record(
        "document.move_out", namespace=namespace_id, target=moved_out, details={"to": str(to)}
    )
    audit.record(
        "document.move_in", namespace=to, target=moved_in, details={"from": str(namespace_id)}
    )
    logger.info("document.moved", extra={"document_id": str(document_id), "to": str(to)})
    return MoveReceipt(taken.document_id, taken.job_id, removed)


def _read(namespace_id: uuid.UUID, document_id: uuid.UUID) -> tuple[Document, DocumentVersion]:
    with namespace(namespace_id):
        document = Document.objects.get(pk=document_id)
        _require_idle(document)
        versions = DocumentVersion.objects.defer("text", "outline")
        return document, versions.get(document=document, number=document.document_version)


def _require_idle(document: Document) -> None:
    if IngestJob.objects.filter(document=document, state__in=OPEN_STATES).exists():
        raise DocumentBusy("It is being indexed: wait until that has ended, or cancel the job.")


def _require_unchanged(now: Document, before: Document) -> None:
    _require_idle(now)
    if (now.document_version, now.updated_at) != (before.document_version, before.updated_at):
        raise DocumentBusy("It was changed while it was being moved, so it stays where it is.")


def _require_possible(document: Document, to: uuid.UUID) -> None:
    if to == document.namespace_id:
        raise CannotMove("It is in this namespace already.")
    if document.source_type == CONVERSATION:
        raise CannotMove(
            "A conversation belongs to its turns: remember them in the other namespace."
        )
    with namespace(to):
        target = Namespace.objects.filter(pk=to).first()
        if target is None or target.deleting_since is not None:
            raise CannotMove("There is no such namespace, or it is being deleted.")
        if Document.objects.filter(source_uri=document.source_uri).exists():
            raise _source_taken(document)


def _source_taken(document: Document) -> CannotMove:
    return CannotMove(
        f"The other namespace has a document {document.source_uri!r} already: it would be "
        "replaced. Delete one of the two, or change its source."
    )


def _copy(document: Document, version: DocumentVersion, to: uuid.UUID) -> Receipt:
    given = document.given
    with originals.opened(version.storage_key, sha256=version.content_sha256) as original:
        submission = Submission(
            content=File(original),
            file_name=version.file_name,
            media_type=version.media_type,
            source_uri=document.source_uri,
            title=given.get("title"),
            tags=given.get("tags"),
            metadata=given.get("metadata"),
            rows_as_facts=given.get("rows_as_facts"),
            chunking=ChunkingOptions(**given["chunking"]) if given.get("chunking") else None,
            on_duplicate="keep",
            encoding=version.encoding,
            # Only as an addition: if a document with this source has just been uploaded, the move
            # is refused instead of replacing it.
            origin=f"move:{uuid.uuid4()}",
        )
        try:
            taken = intake.accept(to, submission)
        except SourceTaken:
            raise _source_taken(document) from None
    _keep_edits(to, taken.document_id, document)
    return taken


def _keep_edits(to: uuid.UUID, document_id: uuid.UUID, before: Document) -> None:
    """Keep the changes made by hand, whatever the file itself contains."""
    edits = {name: before.given[name] for name in ("fixed", "dated_at") if before.given.get(name)}
    with namespace(to):
        document = Document.objects.select_for_update().get(pk=document_id)
        document.origin = before.origin
        document.given |= edits
        document.dated_at = editing.effective_date(document)
        document.save(update_fields=["origin", "given", "dated_at"])
        is_read = document.live_version is not None
    if is_read and edits:  # a worker was faster, and has applied the file's own tags and metadata
        intake.resubmit(to, document_id)
