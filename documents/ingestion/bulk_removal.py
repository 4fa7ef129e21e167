"""Delete many documents in the background: requested here, carried out by workers in slices."""

import logging
import time
import uuid
from collections.abc import Iterable
from datetime import timedelta

from django.db import connection
from django.db.models import F
from django.db.models.functions import Now
from django_q.tasks import async_task

from documents.accounts import audit
from documents.jobs.claims import Claim, LeaseLost
from documents.models import Document, DocumentRemoval
from ragsite.access.actor import Actor, acting_as, current_actor
from ragsite.database.tenancy import namespace
from ragsite.platform.logs import current_request_id, request_id

from . import removal

logger = logging.getLogger(__name__)

State = DocumentRemoval.State
SLICE_SECONDS = 10.0  # per task; then other work gets its turn
LEASE = timedelta(seconds=120)  # longer than one document takes


class RemovalClaim(Claim):
    """The right to delete the documents of one request."""

    __slots__ = ()
    model = DocumentRemoval
    open_states = (State.RUNNING,)

    @classmethod
    def lease_length(cls) -> timedelta:
        return LEASE


def request(namespace_id: uuid.UUID, document_ids: Iterable[uuid.UUID]) -> DocumentRemoval:
    """Queue the deletion of these documents; ids that are not in the namespace are ignored."""
    requested_ids = list(document_ids)
    actor = current_actor()
    with namespace(namespace_id):
        found = Document.objects.filter(pk__in=requested_ids).order_by("created_at", "pk")
        ids = list(found.values_list("pk", flat=True))
        requested = DocumentRemoval.objects.create(
            namespace_id=namespace_id,
            document_ids=ids,
            total=len(ids),
            actor_kind=actor.kind,
            actor=actor.label[:200],
            address=actor.address[:64],
            request_id=current_request_id(),
        )
        audit.record("document.delete_many", count=len(ids), target=requested)
        _wake_worker()
    return requested


def work() -> bool:
    """Work on the oldest unfinished deletion for SLICE_SECONDS; False if there is none."""
    for removal_id, namespace_id in _open():
        if claim := _claim(removal_id, namespace_id):
            try:
                _remove_some(claim)
            except LeaseLost:
                logger.info("removal.stopped", extra={"removal_id": str(removal_id)})
            return True
    return False


def wake_workers() -> None:
    """Wake a worker if a deletion is waiting: a wake-up was lost, or a worker has died."""
    if _open():
        _wake_worker()


def _wake_worker() -> None:
    async_task("documents.tasks.remove_documents", save=False)


def _open() -> list[tuple[uuid.UUID, uuid.UUID]]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT removal_id, namespace_id FROM ragsite.open_removals(16)")
        return list(cursor.fetchall())


def _claim(removal_id: uuid.UUID, namespace_id: uuid.UUID) -> RemovalClaim | None:
    with namespace(namespace_id):
        unfinished = DocumentRemoval.objects.filter(pk=removal_id).exclude(state=State.DONE)
        return RemovalClaim.take(unfinished, state=State.RUNNING)


def _remove_some(claim: RemovalClaim) -> None:
    """Delete documents for SLICE_SECONDS. Raises LeaseLost if another worker has taken over."""
    until = time.monotonic() + SLICE_SECONDS
    with namespace(claim.namespace_id):
        requested = DocumentRemoval.objects.get(pk=claim.job_id)
    left = list(requested.document_ids)
    requester = Actor(requested.actor_kind, requested.actor, requested.address)
    with acting_as(requester), request_id(requested.request_id):
        while left and time.monotonic() < until:
            _remove_one(claim, left.pop(0), left)
    with namespace(claim.namespace_id):
        if left:
            claim.release()
            _wake_worker()
        else:
            claim.release(state=State.DONE, finished_at=Now())


def _remove_one(claim: RemovalClaim, document_id: uuid.UUID, left: list[uuid.UUID]) -> None:
    change: dict[str, object] = {}
    try:
        receipt = removal.remove(claim.namespace_id, document_id)
    except Document.DoesNotExist:
        pass  # already deleted, perhaps by this task before a crash
    except Exception:
        logger.exception("removal.failed", extra={"document_id": str(document_id)})
        change = {"failed": F("failed") + 1}
    else:
        change = {
            "removed": F("removed") + 1,
            "chunks": F("chunks") + receipt.chunks,
            "files": F("files") + receipt.files,
            "files_left": F("files_left") + len(receipt.files_left),
        }
    with namespace(claim.namespace_id):
        claim.renew(document_ids=left, **change)
