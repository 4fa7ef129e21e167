"""The outbox: changes that stores do not have yet. They are claimed, completed, counted and
requested here.

Rows are written by triggers (documents/sql/0030_note_chunks_for_stores.sql), in the transaction
that changes the chunks. One worker at a time holds a document, so that an older state never
replaces a newer one.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import Count, Max, Min
from django.db.models.functions import Now

from documents.models import IndexProfile, StoreChange
from ragsite.database.tenancy import current_connection, namespace, operator

BATCH = 50  # documents synced at a time
MAX_PAUSE_SECONDS = 300

_CLAIM = """
    UPDATE documents_storechange SET lease_token = %(token)s, lease_until = now() + %(lease)s
    WHERE id IN (
        SELECT id FROM documents_storechange
        WHERE namespace_id = %(namespace)s AND profile_id = %(profile)s AND run_after <= now()
          AND (lease_until IS NULL OR lease_until < now())
        ORDER BY id LIMIT %(batch)s FOR UPDATE SKIP LOCKED
    )
    RETURNING id, document_id, changes
"""
# A document that changed while it was written to the store stays, to be synced again.
_DONE = """
    DELETE FROM documents_storechange change
    USING unnest(%(ids)s::bigint[], %(changes)s::int[]) synced (id, changes)
    WHERE change.id = synced.id AND change.changes = synced.changes
      AND change.lease_token = %(token)s
"""
_RELEASE = """
    UPDATE documents_storechange SET lease_token = NULL, lease_until = NULL
    WHERE lease_token = %(token)s
"""
# Postpones everything that waits for this store in this namespace, because it would fail as well.
_POSTPONE = """
    UPDATE documents_storechange
    SET lease_token = NULL, lease_until = NULL, attempts = attempts + 1,
        run_after = now() + make_interval(secs => least(2 ^ least(attempts, 10), %(most)s)),
        error_code = %(code)s, error_message = %(message)s
    WHERE namespace_id = %(namespace)s AND profile_id = %(profile)s
      AND (lease_token = %(token)s OR lease_until IS NULL OR lease_until < now())
"""
_NOTE = """
    INSERT INTO documents_storechange AS known (namespace_id, profile_id, document_id)
    SELECT %(namespace)s, %(profile)s, document_id
    FROM unnest(%(documents)s::uuid[]) AS document_id ORDER BY document_id
    ON CONFLICT (namespace_id, profile_id, document_id)
    DO UPDATE SET changes = known.changes + 1, run_after = now()
"""
_NOTE_ALL = """
    INSERT INTO documents_storechange AS known (namespace_id, profile_id, document_id)
    SELECT DISTINCT namespace_id, profile_id, document_id FROM documents_chunk
    WHERE namespace_id = %(namespace)s AND profile_id = %(profile)s ORDER BY document_id
    ON CONFLICT (namespace_id, profile_id, document_id)
    DO UPDATE SET changes = known.changes + 1, run_after = now()
"""
_PENDING = """
    SELECT document_id FROM documents_storechange
    WHERE namespace_id = %(namespace)s AND profile_id = %(profile)s LIMIT %(limit)s
"""


class ClaimLost(Exception):
    """Another worker may have taken these documents over."""


@dataclass(frozen=True, slots=True)
class FeedClaim:
    """The right to sync some documents of a namespace to a store."""

    namespace_id: uuid.UUID
    profile_id: uuid.UUID
    token: uuid.UUID
    ids: tuple[int, ...]
    documents: tuple[uuid.UUID, ...]
    changes: tuple[int, ...]

    def renew(self) -> None:
        """Raises ClaimLost."""
        with namespace(self.namespace_id):
            mine = StoreChange.objects.filter(lease_token=self.token)
            if mine.update(lease_until=Now() + _lease()) < len(self.ids):
                raise ClaimLost

    def done(self) -> None:
        """Complete the claim. Raises ClaimLost if the written state may have been replaced by an
        older one."""
        parameters: dict[str, Any] = {
            "ids": list(self.ids),
            "changes": list(self.changes),
            "token": self.token,
        }
        with namespace(self.namespace_id), connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM documents_storechange WHERE lease_token = %(token)s",
                parameters,
            )
            is_held = cursor.fetchone()[0] == len(self.ids)
            cursor.execute(_DONE, parameters)
            cursor.execute(_RELEASE, parameters)
        if not is_held:
            raise ClaimLost

    def postpone(self, code: str, message: str) -> None:
        with namespace(self.namespace_id), connection.cursor() as cursor:
            cursor.execute(
                _POSTPONE,
                {
                    "namespace": self.namespace_id,
                    "profile": self.profile_id,
                    "token": self.token,
                    "most": MAX_PAUSE_SECONDS,
                    "code": code,
                    "message": message,
                },
            )


@dataclass(frozen=True, slots=True)
class Backlog:
    """The changes that a profile's store does not have yet."""

    profile_id: uuid.UUID
    namespaces: int
    documents: int
    since: datetime  # time of the oldest change
    attempts: int
    error: str  # of the last attempt; "" if none failed


def _lease() -> timedelta:
    return timedelta(seconds=settings.JOB_LEASE_SECONDS)


def due(at_most: int = 16) -> list[tuple[uuid.UUID, uuid.UUID]]:
    """Return namespaces and profiles that have something to sync now, longest waiting first."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT namespace_id, profile_id FROM ragsite.store_changes_due(%s)", [at_most]
        )
        return list(cursor.fetchall())


def claim(namespace_id: uuid.UUID, profile_id: uuid.UUID) -> FeedClaim | None:
    token = uuid.uuid4()
    wanted: dict[str, Any] = {
        "namespace": namespace_id,
        "profile": profile_id,
        "token": token,
        "lease": _lease(),
        "batch": BATCH,
    }
    with namespace(namespace_id), connection.cursor() as cursor:
        cursor.execute(_CLAIM, wanted)
        rows = cursor.fetchall()
    if not rows:
        return None
    ids, documents, changes = zip(*rows, strict=True)
    return FeedClaim(namespace_id, profile_id, token, ids, documents, changes)


def note(
    namespace_id: uuid.UUID, profile_id: uuid.UUID, documents: Sequence[uuid.UUID] | None = None
) -> None:
    """Queue these documents to be synced to the store; None queues all that have chunks. Inside
    namespace()."""
    key: dict[str, Any] = {"namespace": namespace_id, "profile": profile_id}
    with current_connection().cursor() as cursor:
        if documents is None:
            cursor.execute(_NOTE_ALL, key)
        else:
            cursor.execute(_NOTE, {**key, "documents": list(documents)})


def pending(namespace_id: uuid.UUID, profile_id: uuid.UUID, *, at_most: int) -> set[uuid.UUID]:
    """Return up to `at_most` documents for which the store is not up to date. Inside
    namespace()."""
    key: dict[str, Any] = {"namespace": namespace_id, "profile": profile_id, "limit": at_most}
    with current_connection().cursor() as cursor:
        cursor.execute(_PENDING, key)
        return {row[0] for row in cursor.fetchall()}


def retry_now(profile: IndexProfile | None = None) -> None:
    """Make the next attempt now instead of later."""
    with operator():
        rows = StoreChange.objects.all()
        if profile is not None:
            rows = rows.filter(profile=profile)
        rows.update(run_after=Now())


def waiting_namespaces(profile: IndexProfile) -> list[uuid.UUID]:
    """Return the namespaces with something to sync, including deleted ones."""
    with operator():
        rows = StoreChange.objects.filter(profile=profile).order_by()
        return list(rows.values_list("namespace_id", flat=True).distinct())


def backlogs() -> list[Backlog]:
    """Return the backlog of each profile. Runs as the operator."""
    with operator():
        rows = (
            StoreChange.objects.order_by()
            .values("profile_id")
            .annotate(
                tenants=Count("namespace_id", distinct=True),
                waiting=Count("pk"),
                since=Min("created_at"),
                tries=Max("attempts"),
                error=Max("error_message"),
            )
        )
        return [
            Backlog(
                row["profile_id"],
                row["tenants"],
                row["waiting"],
                row["since"],
                row["tries"],
                row["error"],
            )
            for row in rows
        ]
