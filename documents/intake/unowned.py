"""Decide which stored files without a document may be deleted.

A crash between storing a file and recording it leaves a file without an owner. But after an older
database has been restored, the originals of younger documents look the same. So the database stores
its own identity; when it is found on another server or timeline, all files stored until then are
kept until an operator decides.
"""

import logging
from datetime import datetime

from django.db import connections, transaction
from django.db.models.functions import Now

from documents.models import DatabaseIdentity
from ragsite.database.tenancy import operator

from . import originals

logger = logging.getLogger(__name__)

KEPT_FILES = "kept files"  # the name of these files in an audit
_IDENTITY = """
    SELECT concat_ws('/', system_identifier, oid, timeline_id)
    FROM pg_control_system(), pg_control_checkpoint(), pg_database
    WHERE datname = current_database()
"""


def kept_until() -> datetime | None:
    """Return the time of the last restore: unowned files that were stored before it are kept."""
    with operator(), transaction.atomic(using="operator"):
        found = _identity()
        known, is_new = DatabaseIdentity.objects.select_for_update().get_or_create(
            pk=1, defaults={"identity": found}
        )
        if not is_new and known.identity != found:
            logger.warning("database.restored", extra={"was": known.identity, "now": found})
            _note(found)
            known.refresh_from_db()
        return known.restored_at


def note_restore() -> None:
    """Keep all stored files without a row. Called after a restore."""
    with operator(), transaction.atomic(using="operator"):
        DatabaseIdentity.objects.update_or_create(pk=1, defaults={"identity": _identity()})
        _note(_identity())


def forget_restore() -> None:
    """Treat the kept files like all others again."""
    with operator():
        DatabaseIdentity.objects.update(restored_at=None)


def is_kept(key: str, until: datetime | None) -> bool:
    """Whether a file was stored before the last restore, or at an unknown time."""
    if until is None:
        return False
    stored_at = originals.stored_at(key)
    return stored_at is None or stored_at <= until


def _note(identity: str) -> None:
    DatabaseIdentity.objects.update(identity=identity, restored_at=Now())


def _identity() -> str:
    with connections["operator"].cursor() as cursor:
        cursor.execute(_IDENTITY)
        return str(cursor.fetchone()[0])
