"""Delete a namespace and everything in it: its keys stop working at once, the rest is deleted in
small steps that can be interrupted and resumed, and a receipt remains."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from functools import cache
from typing import Any
from uuid import UUID

from django.apps import apps
from django.db import connections, models, transaction
from django.db.models.functions import Now
from django_q.tasks import async_task

from documents.intake import originals
from documents.jobs.claims import Claim, LeaseLost, is_free
from documents.models import (
    ApiKey,
    DocumentVersion,
    Namespace,
    NamespaceLink,
    NamespaceRemoval,
)
from ragsite.access.actor import current_actor
from ragsite.database.tenancy import operator
from ragsite.platform.cache_clearing import clear_namespace

from . import audit, keys, links

logger = logging.getLogger(__name__)

BATCH_ROWS = 2000
BATCH_FILES = 200
SMALL_ROWS = 5000  # chunks and documents that are deleted while the caller waits
LEASE = timedelta(minutes=5)
TASK_SECONDS = 240.0  # per task; the next task continues

RemovalCallback = Callable[[NamespaceRemoval], None]
Removed = tuple[Counter[str], int, list[str]]  # rows by kind, files, storage keys that remain


State = NamespaceRemoval.State


class NamespaceRemovalClaim(Claim):
    """The right to delete what is left of one namespace. Used inside operator()."""

    __slots__ = ()
    model = NamespaceRemoval
    open_states = (State.RUNNING,)

    @classmethod
    def namespace_of(cls, row: NamespaceRemoval) -> UUID:
        return row.removed_namespace

    @classmethod
    def lease_length(cls) -> timedelta:
        return LEASE


def request_removal(namespace: Namespace) -> NamespaceRemoval:
    """Close the namespace: its keys stop working. A second request returns the same removal. Raises
    Namespace.DoesNotExist if the namespace was deleted. Inside operator()."""
    with transaction.atomic(using="operator"):
        locked = Namespace.objects.select_for_update().get(pk=namespace.pk)
        removal, is_new = NamespaceRemoval.objects.get_or_create(
            removed_namespace=locked.pk,
            defaults={"slug": locked.slug, "requested_by": current_actor().label[:200]},
        )
        if is_new:
            keys.revoke(ApiKey.objects.filter(namespace=locked))
            links.revoke(NamespaceLink.objects.filter(namespace=locked))
            locked.deleting_since = Now()
            locked.save(update_fields=["deleting_since"])
            details = {"removal_id": str(removal.pk), "chunks": locked.chunk_count}
            audit.record("namespace.delete", namespace=locked, target=locked, details=details)
    return removal


def remove_namespace(namespace: Namespace) -> NamespaceRemoval:
    """Delete a small namespace at once, a large one in the background. Inside operator()."""
    removal = request_removal(namespace)
    if _size(namespace) <= SMALL_ROWS:
        return run_removal(removal.pk)
    queue_removal(removal.pk)
    return removal


def _size(namespace: Namespace) -> int:
    documents = namespace.documents.all()[: SMALL_ROWS + 1].count()
    return namespace.chunk_count + documents


def queue_removal(removal_id: UUID) -> None:
    async_task("documents.tasks.remove_namespace", str(removal_id), save=False)


def requeue_stalled() -> None:
    """Queue removals that no worker is running: their task was lost, or its worker died."""
    with operator():
        unfinished = NamespaceRemoval.objects.exclude(state=State.FINISHED)
        for removal_id in unfinished.filter(is_free()).values_list("pk", flat=True):
            queue_removal(removal_id)


def run_removal(
    removal_id: UUID,
    *,
    seconds: float | None = None,
    progress: RemovalCallback = lambda removal: None,
) -> NamespaceRemoval:
    """Delete what is left of the namespace; after `seconds` queue another task for the rest.
    Does nothing if another worker is running this removal."""
    with operator():
        claim = _claim(removal_id)
        removal = NamespaceRemoval.objects.get(pk=removal_id)
        if claim is None:
            return removal
        deadline = None if seconds is None else time.monotonic() + seconds
        try:
            if _remove_all(claim, removal, deadline, progress):
                _finish(claim, removal)
            else:
                claim.release()
                queue_removal(removal.pk)
        except LeaseLost:
            logger.info("namespace.removal_stopped", extra={"slug": removal.slug})
        finally:
            with suppress(LeaseLost):  # finished, or taken over
                claim.release()
        removal.refresh_from_db()
    return removal


def _claim(removal_id: UUID) -> NamespaceRemovalClaim | None:
    with transaction.atomic(using="operator"):
        unfinished = NamespaceRemoval.objects.filter(pk=removal_id).exclude(state=State.FINISHED)
        return NamespaceRemovalClaim.take(unfinished, state=State.RUNNING)


def _remove_all(
    claim: NamespaceRemovalClaim,
    removal: NamespaceRemoval,
    deadline: float | None,
    progress: RemovalCallback,
) -> bool:
    """Delete everything; False if the deadline came first."""
    for rows, files, files_left in _batches(removal.removed_namespace):
        _record_step(claim, removal, rows, files, files_left)
        progress(removal)
        if deadline is not None and time.monotonic() > deadline:
            return False
    _record_step(claim, removal, *_remove_namespace_row(removal.removed_namespace))
    return True


def _record_step(
    claim: NamespaceRemovalClaim,
    removal: NamespaceRemoval,
    rows: Counter[str],
    files: int,
    files_left: list[str],
) -> None:
    """Store what a step has removed, and extend the lease."""
    removal.rows = dict(Counter(removal.rows) + rows)
    removal.files += files
    removal.files_left = [*removal.files_left, *files_left]
    claim.renew(rows=removal.rows, files=removal.files, files_left=removal.files_left)


def _batches(namespace_id: UUID) -> Iterator[Removed]:
    """Delete in batches, children before their parents; yield what each batch removed."""
    for model in owned_models():
        yield from _empty_table(model, namespace_id)


def _remove_namespace_row(namespace_id: UUID) -> Removed:
    rows = _delete_last_rows(namespace_id)
    # An upload may have stored its file just before its row was refused.
    files, left = originals.remove_all(namespace_id)
    clear_namespace(namespace_id)
    return rows, files, left


def _empty_table(model: type[models.Model], namespace_id: UUID) -> Iterator[Removed]:
    for column in _self_references(model):
        while _execute(
            f"UPDATE {_table(model)} SET {column} = NULL WHERE id IN (SELECT id FROM "  # noqa: S608
            f"{_table(model)} WHERE namespace_id = %s AND {column} IS NOT NULL LIMIT {BATCH_ROWS})",
            namespace_id,
        ):
            yield Counter(), 0, []
    if model is DocumentVersion:
        yield from _remove_versions(namespace_id)
    delete = (
        f"DELETE FROM {_table(model)} WHERE ctid = ANY (ARRAY(SELECT ctid FROM {_table(model)} "  # noqa: S608
        f"WHERE namespace_id = %s LIMIT {BATCH_ROWS}))"
    )
    while deleted := _execute(delete, namespace_id):
        yield Counter({_kind(model): deleted}), 0, []


def _remove_versions(namespace_id: UUID) -> Iterator[Removed]:
    """Delete files before their rows, so that the remaining rows show what is left after an
    interruption."""
    versions = DocumentVersion.objects.filter(namespace=namespace_id)
    while batch := list(versions.values_list("pk", "storage_key")[:BATCH_FILES]):
        keys = [key for _, key in batch if key]  # conversations have no file
        left = [key for key in keys if not originals.remove(key)]
        kind = _kind(DocumentVersion)
        deleted = _execute(
            f"DELETE FROM {_table(DocumentVersion)} WHERE namespace_id = %s AND id = ANY (%s)",  # noqa: S608
            namespace_id,
            [pk for pk, _ in batch],
        )
        yield Counter({kind: deleted}), len(keys) - len(left), left


def _delete_last_rows(namespace_id: UUID) -> Counter[str]:
    """Delete the namespace itself, and rows that were added since its tables were emptied. The lock
    prevents further additions."""
    rows: Counter[str] = Counter()
    with transaction.atomic(using="operator"):
        if not Namespace.objects.select_for_update().filter(pk=namespace_id).exists():
            return rows
        for model in owned_models():
            for column in _self_references(model):
                clear = f"UPDATE {_table(model)} SET {column} = NULL WHERE namespace_id = %s"  # noqa: S608
                _execute(clear, namespace_id)
            delete = f"DELETE FROM {_table(model)} WHERE namespace_id = %s"  # noqa: S608
            rows[_kind(model)] += _execute(delete, namespace_id)
        rows["namespace"] += _execute("DELETE FROM documents_namespace WHERE id = %s", namespace_id)
    return +rows


def _finish(claim: NamespaceRemovalClaim, removal: NamespaceRemoval) -> None:
    with transaction.atomic(using="operator"):
        claim.release(state=State.FINISHED, finished_at=Now())
        audit.record(
            "namespace.deleted",
            count=sum(removal.rows.values()),
            target=audit.Target("namespace", str(removal.removed_namespace), removal.slug),
            details={"rows": removal.rows, "files": removal.files},
        )
    logger.info("namespace.removed", extra={"slug": removal.slug, "files": removal.files})


def in_words(kind: str, count: int) -> str:
    """Return `term frequencies` for two of `termfrequency`, a key of a receipt's rows; names of
    models that no longer exist are returned unchanged."""
    meta = _names().get(kind)
    if meta is None:
        return kind
    return str(meta.verbose_name if count == 1 else meta.verbose_name_plural)


@cache
def _names() -> dict[str, Any]:
    models: list[type[Any]] = [*owned_models(), Namespace]
    return {_kind(model): model._meta for model in models}


def owned_models() -> list[type[models.Model]]:
    """Return every model whose rows belong to a namespace, in all apps; referring models come
    first.

    Models with a nullable namespace are not included: their rows outlive it.
    """
    waiting = [model for model in apps.get_models(include_auto_created=True) if _is_owned(model)]
    ordered: list[type[models.Model]] = []
    while waiting:
        named = {target for model in waiting for target in _targets(model)}
        free = [model for model in waiting if model not in named]
        if not free:
            raise RuntimeError(f"Tables that refer to each other in a circle: {waiting}")
        ordered += free
        waiting = [model for model in waiting if model in named]
    return ordered


def _is_owned(model: type[models.Model]) -> bool:
    return any(
        field.attname == "namespace_id" and field.related_model is Namespace and not field.null
        for field in _foreign_keys(model)
    )


def _foreign_keys(model: type[models.Model]) -> list[Any]:
    return [field for field in model._meta.concrete_fields if field.remote_field]


def _targets(model: type[models.Model]) -> set[Any]:
    return {field.related_model for field in _foreign_keys(model)} - {model}


def _self_references(model: type[models.Model]) -> list[str]:
    return [field.column for field in _foreign_keys(model) if field.related_model is model]


def _table(model: type[models.Model]) -> str:
    return model._meta.db_table


def _kind(model: type[models.Model]) -> str:
    return str(model._meta.model_name)


def _execute(statement: str, *parameters: Any) -> int:
    with connections["operator"].cursor() as cursor:
        cursor.execute(statement, parameters)
        return int(cursor.rowcount)
