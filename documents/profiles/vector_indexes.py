"""Each profile's vector index: built, rebuilt and dropped without blocking searches.

Runs as the owner of the tables and outside of transactions, as CREATE and DROP INDEX CONCURRENTLY
require. An interrupted build leaves an invalid index behind, which the next call drops.
"""

import logging
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import connection, connections
from django.db.backends.utils import CursorWrapper
from psycopg import sql

from documents.errors import IngestError
from documents.models import Chunk, IndexProfile, Namespace, Reindex
from documents.models.indexing import DEFAULT_PROFILE_ID

from . import ann_methods

logger = logging.getLogger(__name__)

PREFIX = "chunk_vectors_"
DRAFT = "_new"
REBUILD_FACTOR = 4  # rebuild when this many times more lists are needed than were built
POLL_SECONDS = 0.5
MIN_SET_ASIDE = 10_000  # chunks; fewer are inserted into the index in a minute
MAX_SCANNED = 20_000  # chunks that a search compares in some 20 ms without an index

_INDEXES = """
    SELECT class.relname, index.indisvalid
    FROM pg_index index JOIN pg_class class ON class.oid = index.indexrelid
    WHERE index.indrelid = 'documents_chunk'::regclass AND starts_with(class.relname, %s)
    ORDER BY class.relname
"""


class MethodUnavailable(IngestError):
    """The server has no such index access method."""

    code = "ann_method_unavailable"


class _Busy(Exception):
    """Another process is building or dropping an index."""


@dataclass(frozen=True, slots=True)
class VectorIndex:
    name: str
    is_valid: bool

    @property
    def is_leftover(self) -> bool:
        """Whether it was left by an interrupted build."""
        return not self.is_valid or self.name.endswith(DRAFT)

    @property
    def profile_id(self) -> uuid.UUID:
        return uuid.UUID(self.name.removeprefix(PREFIX).removesuffix(DRAFT))


def name_of(profile_id: uuid.UUID) -> str:
    return f"{PREFIX}{profile_id.hex}"


def require_method(name: str) -> None:
    """Raise MethodUnavailable if the server or this release does not have this index method."""
    if name in ann_methods.WITHDRAWN:
        raise MethodUnavailable(ann_methods.WITHDRAWN[name])
    if name not in ann_methods.METHODS:
        return  # exact: no index
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_am WHERE amname = %s", [ann_methods.access_method(name)])
        if cursor.fetchone() is None:
            extension = ann_methods.METHODS[name].extension
            raise MethodUnavailable(
                f"This PostgreSQL server has no index method {name!r}: it comes with the extension "
                f"{extension!r}, which has to be installed and created in this database first."
            )


def ensure(profile: IndexProfile) -> bool:
    """Build the profile's index if it is missing, invalid or outgrown; True if one was built.

    May take long: call it outside of transactions, in a worker or a command.
    """
    with _exclusive(wait=True) as cursor:
        return _ensure(cursor, profile)


@contextmanager
def set_aside(profile: IndexProfile, *, expected: int) -> Iterator[bool]:
    """Load `expected` chunks without the profile's index, and build it afterwards on several cores.

    Only if they are many, and so few are there that searches can compare them all: until the index
    is there again, that is what they do. If this process dies, the lock goes with it, and the next
    sweep builds the index. Yields whether the index was set aside.
    """
    few = min(MAX_SCANNED, expected)
    if (
        profile.ann_method not in ann_methods.METHODS
        or expected < MIN_SET_ASIDE
        or _rows(profile, up_to=few + 1) > few
    ):
        yield False
        return
    with _exclusive(wait=True) as cursor:
        for found in _indexes(cursor, name_of(profile.pk)):
            _drop(cursor, found.name)
        try:
            yield True
        finally:
            _ensure(cursor, profile, in_parallel=True)
            cursor.execute("ANALYZE documents_chunk, documents_chunkterms, documents_document")


def _rows(profile: IndexProfile, *, up_to: int) -> int:
    """Of all namespaces, because they share the index."""
    rows = Chunk.objects.using("owner").filter(profile=profile)
    return len(rows.values_list("profile")[:up_to])


def sweep() -> None:
    """Drop leftovers and unused indexes; build missing and outgrown ones."""
    try:
        with _exclusive(wait=False) as cursor:
            _sweep(cursor)
    except _Busy:
        return  # an apparent leftover may be a build in progress


def _sweep(cursor: CursorWrapper) -> None:
    profiles = {profile.pk: profile for profile in IndexProfile.objects.using("owner")}
    for found in _indexes(cursor, PREFIX):
        profile = profiles.get(found.profile_id)
        if profile is None or not _is_used(profile):
            _drop(cursor, found.name)
        elif found.is_leftover:
            _drop_leftovers(cursor, profile)
    active = Namespace.objects.using("owner").values_list("active_profile_id", flat=True)
    for profile_id in set(active):
        _ensure(cursor, profiles[profile_id])


def drop_if_unused(profile: IndexProfile) -> bool:
    with _exclusive(wait=True) as cursor:
        if _is_used(profile):
            return False
        for found in _indexes(cursor, name_of(profile.pk)):
            _drop(cursor, found.name)
        IndexProfile.objects.using("owner").filter(pk=profile.pk).update(index_facts={})
        return True


def _is_used(profile: IndexProfile) -> bool:
    if profile.ann_method not in ann_methods.METHODS:
        return False
    if profile.pk == DEFAULT_PROFILE_ID:
        return True  # its index came with a migration
    return is_in_use(profile)


def is_in_use(profile: IndexProfile) -> bool:
    """Whether a namespace or an open reindex uses the profile, or chunks of it are left."""
    either = Reindex.objects.using("owner").filter(state__in=Reindex.OPEN)
    return (
        Namespace.objects.using("owner").filter(active_profile=profile).exists()
        or (either.filter(profile=profile) | either.filter(replaces=profile)).exists()
        or Chunk.objects.using("owner").filter(profile=profile).exists()
    )


def _ensure(cursor: CursorWrapper, profile: IndexProfile, *, in_parallel: bool = False) -> bool:
    """One core builds, unless `in_parallel`; the others serve searches meanwhile."""
    name = name_of(profile.pk)
    valid = _drop_leftovers(cursor, profile)
    method = ann_methods.METHODS.get(profile.ann_method)
    if method is None or (valid and not method.needs_rows):
        return False
    rows = Chunk.objects.using("owner").filter(profile=profile).count()
    options = ann_methods.build_options(profile.ann_method, profile.ann_options, rows=rows)
    if method.needs_rows and (rows < ann_methods.MIN_ROWS or _still_fits(profile, options, valid)):
        return False
    started = time.monotonic()
    _build(cursor, profile, method, options, in_parallel=in_parallel)
    if valid:
        _drop(cursor, name)
    _rename_draft(cursor, name)
    profile.index_facts = {**options, "rows": rows}
    IndexProfile.objects.using("owner").filter(pk=profile.pk).update(
        index_facts=profile.index_facts
    )
    seconds = round(time.monotonic() - started, 1)
    logger.info("vector_index.built", extra={"index": name, "rows": rows, "seconds": seconds})
    return True


def _drop_leftovers(cursor: CursorWrapper, profile: IndexProfile) -> bool:
    """Drop or adopt what interrupted builds have left; True if there is a valid index."""
    name = name_of(profile.pk)
    found = {index.name: index for index in _indexes(cursor, name)}
    draft = found.get(name + DRAFT)
    learns = (
        profile.ann_method in ann_methods.METHODS
        and ann_methods.METHODS[profile.ann_method].needs_rows
    )
    if draft is not None and draft.is_valid and name not in found and not learns:
        _rename_draft(cursor, name)  # its builder died just before renaming it
        return True
    for index in found.values():
        if index.is_leftover:
            logger.warning("vector_index.leftover", extra={"index": index.name})
            _drop(cursor, index.name)
    return name in found and found[name].is_valid


def _rename_draft(cursor: CursorWrapper, name: str) -> None:
    rename = sql.SQL("ALTER INDEX {} RENAME TO {}")
    cursor.execute(rename.format(sql.Identifier(name + DRAFT), sql.Identifier(name)))


def _still_fits(profile: IndexProfile, options: dict[str, int], valid: bool) -> bool:
    built = profile.index_facts
    return valid and all(
        REBUILD_FACTOR * built.get(key, 0) >= value for key, value in options.items()
    )


def _build(
    cursor: CursorWrapper,
    profile: IndexProfile,
    method: ann_methods.Method,
    options: dict[str, int],
    *,
    in_parallel: bool,
) -> None:
    """Build under a temporary name, so that the index in use stays until the new one is ready."""
    require_method(profile.ann_method)
    settings = sql.SQL(", ").join(
        sql.SQL("{} = {}").format(sql.Identifier(key), sql.Literal(value))
        for key, value in options.items()
    )
    statement = sql.SQL(
        "CREATE INDEX CONCURRENTLY {name} ON documents_chunk "
        "USING {method} (({indexed}) {operators}) {settings} "
        "WHERE profile_id = {profile}"
    ).format(
        name=sql.Identifier(name_of(profile.pk) + DRAFT),
        method=sql.Identifier(ann_methods.access_method(profile.ann_method)),
        indexed=sql.SQL(ann_methods.indexed(profile.ann_method, profile.dimensions)),
        operators=sql.Identifier(method.operators),
        settings=sql.SQL("WITH ({})").format(settings) if options else sql.SQL(""),
        profile=sql.Literal(str(profile.pk)),
    )
    if in_parallel:  # as far as the server is set up for it
        cursor.execute("RESET max_parallel_maintenance_workers")
    else:
        cursor.execute("SET max_parallel_maintenance_workers = 0")
    cursor.execute(statement)


def _drop(cursor: CursorWrapper, name: str) -> None:
    cursor.execute(sql.SQL("DROP INDEX CONCURRENTLY IF EXISTS {}").format(sql.Identifier(name)))
    logger.info("vector_index.dropped", extra={"index": name})


def _indexes(cursor: CursorWrapper, prefix: str) -> list[VectorIndex]:
    cursor.execute(_INDEXES, [prefix])
    return [VectorIndex(*row) for row in cursor.fetchall()]


@contextmanager
def _exclusive(*, wait: bool) -> Iterator[CursorWrapper]:
    """Hold the one lock for index changes in the database; raises _Busy unless `wait`.

    The lock is polled, because CREATE INDEX CONCURRENTLY would wait for a waiting transaction.
    """
    owner = connections["owner"]
    try:
        with owner.cursor() as cursor:
            while not _locked(cursor):
                if not wait:
                    raise _Busy
                time.sleep(POLL_SECONDS)
            try:
                yield cursor
            finally:
                if owner.connection is not None and not owner.connection.closed:
                    cursor.execute("SELECT pg_advisory_unlock(hashtextextended('vectors', 0))")
    finally:
        owner.close()


def _locked(cursor: CursorWrapper) -> bool:
    cursor.execute("SELECT pg_try_advisory_lock(hashtextextended('vectors', 0))")
    return bool(cursor.fetchone()[0])
