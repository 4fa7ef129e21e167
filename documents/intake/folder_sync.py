"""Keep a namespace in sync with a folder: find what is new, changed, renamed or gone."""

import uuid
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field

from django.core.files.base import File

from documents.ingestion.editing import rename
from documents.intake.media_types import type_of_name
from documents.models import Document
from ragsite.database.tenancy import namespace

from . import originals
from .archives import expanded
from .folders import FoundFile
from .submissions import Submission


@dataclass(frozen=True, slots=True)
class Entry:
    """A document in the folder: a file, or a file inside an archive."""

    file: FoundFile
    source_uri: str
    sha256: str


@dataclass(frozen=True, slots=True)
class KnownDocument:
    document_id: uuid.UUID
    source_uri: str
    sha256: str
    has_failed: bool


@dataclass(frozen=True, slots=True)
class Rename:
    document_id: uuid.UUID
    before: str
    entry: Entry


@dataclass(slots=True)
class SyncPlan:
    """The changes that bring the namespace in sync. Only documents of that origin are touched."""

    new: list[Entry] = field(default_factory=list)
    changed: list[Entry] = field(default_factory=list)
    renamed: list[Rename] = field(default_factory=list)
    unchanged: list[Entry] = field(default_factory=list)
    gone: list[KnownDocument] = field(default_factory=list)

    @property
    def deletes_everything(self) -> bool:
        return bool(self.gone) and not (self.changed or self.renamed or self.unchanged)

    @property
    def files_to_take(self) -> list[FoundFile]:
        """Each file once, in order. An archive is submitted whole; its known files are skipped."""
        return list(dict.fromkeys(entry.file for entry in (*self.new, *self.changed)))

    @property
    def all_files(self) -> list[FoundFile]:
        """All files, for options that also apply to unchanged ones."""
        renamed = (moved.entry for moved in self.renamed)
        entries = (*self.new, *self.changed, *renamed, *self.unchanged)
        return list(dict.fromkeys(entry.file for entry in entries))

    def counts(self) -> dict[str, int]:
        names = ("new", "changed", "renamed", "unchanged", "gone")
        return {name: len(getattr(self, name)) for name in names}


def compare(namespace_id: uuid.UUID, files: Iterable[FoundFile], *, origin: str) -> SyncPlan:
    """Compare the folder with the namespace; nothing is changed."""
    with namespace(namespace_id):
        known = {document.source_uri: document for document in _documents_of(origin)}
    plan = SyncPlan()
    missing = dict(known)
    for entry in _entries(files):
        before = missing.pop(entry.source_uri, None)
        if before is None:
            plan.new.append(entry)
        elif before.sha256 != entry.sha256 or before.has_failed:
            plan.changed.append(entry)
        else:
            plan.unchanged.append(entry)
    _find_renames(plan, missing)
    plan.gone = list(missing.values())
    return plan


def apply_renames(namespace_id: uuid.UUID, plan: SyncPlan) -> None:
    for moved in plan.renamed:
        name = moved.entry.source_uri.rpartition("/")[2]
        rename(namespace_id, moved.document_id, source_uri=moved.entry.source_uri, file_name=name)


def adopt(namespace_id: uuid.UUID, file: FoundFile, *, by_name: bool) -> None:
    """Assign an existing document to the folder: one that an earlier release stored under the
    file's file:// address or, with `by_name`, one that has this source_uri from elsewhere."""
    address = file.path.resolve().as_uri()
    with namespace(namespace_id):
        own = Document.objects.filter(source_uri=file.source_uri)
        if by_name:
            own.exclude(origin=file.origin).update(origin=file.origin)
        if not own.exists():
            Document.objects.filter(source_uri=address, origin="").update(
                source_uri=file.source_uri, origin=file.origin
            )


def submission_of(file: FoundFile, content: File) -> Submission:
    return Submission(
        content=content,
        file_name=file.name,
        source_uri=file.source_uri,
        origin=file.origin,
    )


def _documents_of(origin: str) -> Iterator[KnownDocument]:
    for document in Document.objects.filter(origin=origin).order_by("source_uri"):
        failed = document.status in (Document.Status.FAILED, Document.Status.CANCELLED)
        yield KnownDocument(document.pk, document.source_uri, document.content_sha256, failed)


def _entries(files: Iterable[FoundFile]) -> Iterator[Entry]:
    for file in files:
        with file.path.open("rb") as opened, closing(File(opened, name=file.name)) as content:
            for submission, _ in expanded(submission_of(file, content)):
                submission.content.seek(0)
                digest = originals.digest_of(submission.content)
                yield Entry(file, submission.source_uri, digest)


def _find_renames(plan: SyncPlan, missing: dict[str, KnownDocument]) -> None:
    """Move pairs of new and missing files with the same bytes and file type to `plan.renamed`."""
    by_digest: dict[str, list[KnownDocument]] = {}
    for document in missing.values():
        if not document.has_failed:
            by_digest.setdefault(document.sha256, []).append(document)
    still_new = []
    for entry in plan.new:
        candidates = by_digest.get(entry.sha256, [])
        kind = type_of_name(entry.source_uri)
        match = next((k for k in candidates if type_of_name(k.source_uri) == kind), None)
        if match is None:
            still_new.append(entry)
            continue
        candidates.remove(match)
        del missing[match.source_uri]
        plan.renamed.append(Rename(match.document_id, match.source_uri, entry))
    plan.new = still_new
