"""The pipeline of an import: check the whole archive, store its originals, then insert all rows in
one transaction. If anything fails, nothing is kept."""

import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.files.base import File
from django.db import Error as DatabaseError
from django.db import connection

from documents.accounts import audit
from documents.conversations.remembering import NewTurn, turn_id
from documents.errors import IngestError
from documents.intake import intake, originals
from documents.models import (
    Document,
    IndexProfile,
    Namespace,
    NamespaceRemoval,
    Turn,
)
from documents.profiles import vector_indexes
from documents.verification.checks import Progress
from ragsite.database.tenancy import namespace, operator

from . import profile_matching, rows
from .container import ArchiveReader, reading
from .contents import ArchivedTable, tables
from .errors import ArchiveRefused
from .exporting import FORMAT, KIND, SETTINGS
from .rows import ImportPlace

PAGE = 500
UNFINISHED = (Document.Status.QUEUED, Document.Status.PROCESSING)


_CHECKS = {
    "vectors of another size than their profile": (
        "SELECT 1 FROM documents_chunk WHERE vector_dims(embedding) <> %(dimensions)s "
        "UNION ALL SELECT 1 FROM documents_factvector "
        "WHERE vector_dims(embedding) <> %(dimensions)s "
        "UNION ALL SELECT 1 FROM evaluation_feedbackvector "
        "WHERE vector_dims(embedding) <> %(dimensions)s LIMIT 1"
    ),
    "passages without their words": (
        "SELECT 1 FROM documents_chunk chunk LEFT JOIN documents_chunkterms terms "
        "ON terms.chunk_id = chunk.id WHERE terms.chunk_id IS NULL LIMIT 1"
    ),
}
_RENUMBER_TURNS = (
    "UPDATE documents_factstatement s SET turn_id = turn.after "
    "FROM unnest(%s::uuid[], %s::uuid[]) AS turn(before, after) WHERE s.turn_id = turn.before",
    "UPDATE documents_turn t SET id = turn.after "
    "FROM unnest(%s::uuid[], %s::uuid[]) AS turn(before, after) WHERE t.id = turn.before",
)
_COUNT = """
    UPDATE documents_namespace tenant SET chunk_count = (
        SELECT count(*) FROM documents_chunk WHERE namespace_id = tenant.id)
    WHERE id = %s
"""


@dataclass(slots=True)
class Imported:
    """The outcome of an import. `renumbered`: its ids differ from those in the archive."""

    namespace: Namespace
    counts: dict[str, int] = field(default_factory=dict)
    originals: int = 0
    queued: int = 0
    renumbered: bool = False
    warnings: list[str] = field(default_factory=list)


def import_namespace(
    path: Path,
    *,
    slug: str = "",
    new_ids: bool = False,
    progress: Progress = lambda line: None,
) -> Imported:
    """Import an archive as a new namespace. Raises ArchiveRefused if nothing could be imported.

    Ids are kept, so that links and citations of clients stay valid. They are replaced with
    `new_ids`, and if this server has, or had, the archive's namespace.
    """
    progress("Checking the archive ...")
    with reading(path) as archive:
        chosen = _known_tables(archive)
        done = _prepare(archive, slug, new_ids=new_ids)
        tenant = done.namespace
        folder = originals.folder_of(tenant.pk, datetime.now(UTC).date())
        place = ImportPlace(tenant.pk, tenant.active_profile.pk, folder, done.renumbered)
        try:
            done.originals = _store_originals(archive, place, progress)
            _insert(archive, chosen, place, done, progress)
        except BaseException as error:
            originals.remove_all(tenant.pk)
            if isinstance(error, DatabaseError | IngestError | ValidationError | OSError):
                raise ArchiveRefused(f"Nothing was imported: {_reason(error)}") from error
            raise
    progress("Vector index ...")
    vector_indexes.ensure(tenant.active_profile)
    done.queued = _queue_unfinished(tenant.pk)
    return done


def _known_tables(archive: ArchiveReader) -> list[tuple[ArchivedTable, list[str]]]:
    """Return this server's tables with the columns that the archive has for them."""
    found = archive.description
    if found.get("kind") != KIND or type(found.get("format")) is not int:
        raise ArchiveRefused("This is no archive of a namespace.")
    version = found.get("ragsite", "?")
    if found["format"] > FORMAT:
        raise ArchiveRefused(
            f"It was made by a newer version of Ragsite ({version}). Upgrade first."
        )
    given = found.get("tables")
    if not isinstance(given, dict) or not isinstance(found.get("namespace"), dict):
        raise ArchiveRefused("The archive's description cannot be read.")
    chosen = tables()
    known = {table.name: {column.name for column in table.columns} for table in chosen}
    for name, columns in given.items():
        if name not in known or set(map(str, columns)) - known[name]:
            raise ArchiveRefused(
                f"It was made by a newer version of Ragsite ({version}), which keeps more in "
                f"{str(name)[:60]} than this one. Upgrade first."
            )
    return [(table, list(map(str, given[table.name]))) for table in chosen if table.name in given]


def _prepare(archive: ArchiveReader, slug: str, *, new_ids: bool) -> Imported:
    """Return the namespace to create, with a profile that exists."""
    found = archive.description
    fields = {name: found["namespace"].get(name) for name in SETTINGS}
    fields = {name: value for name, value in fields.items() if value is not None}
    fields["slug"] = slug or fields.get("slug", "")
    warnings = []
    model = fields.get("answer_model", "")
    if model and model not in settings.LANGUAGE_MODELS:
        del fields["answer_model"]
        warnings.append(f"There is no language model {model!r} here: answers use the default one.")
    namespace_id, renumbered = _id(found.get("namespace_id"), new_ids=new_ids)
    tenant = Namespace(id=namespace_id, **fields)
    with operator():
        try:
            tenant.full_clean(exclude=["active_profile"])
        except ValidationError as error:
            raise ArchiveRefused(" ".join(error.messages)) from None
    tenant.active_profile = _profile(found.get("profile"), namespace_id)
    others = found.get("other_profiles") or []
    problems = [profile_matching.create_own(one, namespace_id=namespace_id) for one in others]
    warnings += [problem for problem in problems if problem]
    missing = archive.end.get("missing_originals") or []
    if missing:
        warnings.append(f"{len(missing)} originals were lost before the export already.")
    return Imported(tenant, renumbered=renumbered, warnings=warnings)


def _profile(described: Any, namespace_id: uuid.UUID) -> IndexProfile:
    if not isinstance(described, dict):
        raise ArchiveRefused("The archive's index profile cannot be read.")
    return profile_matching.find_or_create(described, namespace_id=namespace_id)


def _id(was: Any, *, new_ids: bool) -> tuple[uuid.UUID, bool]:
    """Return the namespace's id on this server, and whether all ids are renumbered."""
    try:
        known = uuid.UUID(str(was))
    except ValueError:
        raise ArchiveRefused("The archive does not name its namespace.") from None
    with operator():
        is_here = Namespace.objects.filter(pk=known).exists()
        was_here = NamespaceRemoval.objects.filter(removed_namespace=known).exists()
    if new_ids or is_here or was_here:
        return uuid.uuid4(), True
    return known, False


def _store_originals(archive: ArchiveReader, place: ImportPlace, progress: Progress) -> int:
    names = [name for name in archive.members if name.startswith("originals/")]
    for number, name in enumerate(names, start=1):
        key = f"{place.folder}/{_id_here(name.removeprefix('originals/'), place)}"
        with archive.opened(name) as content:
            originals.store_as(key, File(content, name=key))
        if number % PAGE == 0:
            progress(f"{number:,} of {len(names):,} originals")
    return len(names)


def _id_here(version_id: str, place: ImportPlace) -> str:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {place.id_of('given.id')} FROM (SELECT %s::uuid AS id) given",  # noqa: S608
            [version_id],
        )
        return str(cursor.fetchone()[0])


def _insert(
    archive: ArchiveReader,
    chosen: list[tuple[ArchivedTable, list[str]]],
    place: ImportPlace,
    done: Imported,
    progress: Progress,
) -> None:
    """Insert everything in one transaction, as the application role in the new namespace."""
    with namespace(place.namespace_id):
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL statement_timeout = 0")
            cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        done.namespace.save(force_insert=True)
        for table, given in chosen:
            progress(f"{table.name} ...")
            lines = archive.lines(f"rows/{table.name}.jsonl")
            done.counts[table.name] = rows.insert(table, given, lines, place)
            rows.link(table, archive.lines(f"links/{table.name}.jsonl"), place)
        _require_originals(archive, place)
        _require_whole(done)
        if place.renumbered:
            _renumber_turns(place)
        with connection.cursor() as cursor:
            cursor.execute(_COUNT, [place.namespace_id])
        details = {"from": str(archive.description["namespace_id"])}
        count = sum(done.counts.values())
        audit.record("namespace.import", target=done.namespace, count=count, details=details)


def _require_originals(archive: ArchiveReader, place: ImportPlace) -> None:
    """Raise ArchiveRefused unless each version has the original that it names."""
    missing = set(map(str, archive.end.get("missing_originals") or []))
    for line in archive.lines("rows/documents_documentversion.jsonl"):
        version = rows.decoded(line)
        if not version.get("storage_key") or version.get("id") in missing:
            continue
        member = archive.members.get(f"originals/{version.get('id')}")
        if member is None or member["sha256"] != version.get("content_sha256"):
            raise ArchiveRefused(
                "Nothing was imported: a version's original is not in the archive."
            )


def _require_whole(done: Imported) -> None:
    parameters = {"dimensions": done.namespace.active_profile.dimensions}
    with connection.cursor() as cursor:
        for what, query in _CHECKS.items():
            cursor.execute(query, parameters)
            if cursor.fetchone():
                raise ArchiveRefused(f"Nothing was imported: the archive has {what}.")


def _renumber_turns(place: ImportPlace) -> None:
    """Give turns the ids that are derived from their content in this namespace, so that a turn that
    is sent again is recognised."""
    turns = Turn.objects.select_related("conversation")
    ids = list(turns.values_list("pk", flat=True))
    for start in range(0, len(ids), PAGE):
        pairs = [
            (turn.pk, _turn_id(turn, place)) for turn in turns.filter(pk__in=ids[start:][:PAGE])
        ]
        before, after = [list(column) for column in zip(*pairs, strict=True)]
        with connection.cursor() as cursor:
            for statement in _RENUMBER_TURNS:
                cursor.execute(statement, [before, after])


def _turn_id(turn: Turn, place: ImportPlace) -> uuid.UUID:
    submitted = NewTurn(
        session=turn.conversation.session,
        role=turn.role,
        content=turn.content,
        user=turn.conversation.user,
        speaker=turn.speaker,
        id=turn.external_id,
    )
    return turn_id(place.namespace_id, submitted, turn.at.astimezone(UTC))


def _queue_unfinished(namespace_id: uuid.UUID) -> int:
    """Queue documents that had not been indexed when they were exported."""
    with namespace(namespace_id):
        waiting = Document.objects.filter(status__in=UNFINISHED)
        ids = list(waiting.values_list("pk", flat=True))
    for document_id in ids:
        intake.resubmit(namespace_id, document_id)
    return len(ids)


def _reason(error: BaseException) -> str:
    """Return the first line of the message; the others may quote rows of the archive."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
