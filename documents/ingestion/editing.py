"""Change a document's title, tags, metadata, date and source; searches see it at once."""

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from django.db import IntegrityError
from django.db.models.functions import Now

from documents.accounts import audit
from documents.errors import BadFile
from documents.jobs import queue
from documents.metadata import MAX_METADATA_CHARACTERS
from documents.models import Document, DocumentVersion, IngestJob
from documents.passages import CONVERSATION
from ragsite.database.tenancy import namespace

from .document_dates import date_in
from .revision import content_changed

CHANGEABLE = ("title", "tags", "metadata", "source_uri", "dated_at")


RESERVED = f"A source_uri that begins with {CONVERSATION}: is a conversation: POST /memories."


def is_reserved(source_uri: str) -> bool:
    """Whether this source is reserved for conversations."""
    return source_uri.startswith(f"{CONVERSATION}:")


class SourceUriTaken(BadFile):
    code = "source_uri_taken"


class MetadataTooLarge(BadFile):
    code = "metadata_too_large"


class Description(Protocol):
    """Title, tags and metadata submitted with an upload; None where nothing was submitted."""

    @property
    def title(self) -> str | None: ...
    @property
    def tags(self) -> Sequence[str] | None: ...
    @property
    def metadata(self) -> Mapping[str, Any] | None: ...


@dataclass(frozen=True, slots=True)
class Change:
    """Which fields have changed."""

    title: bool = False
    tags: bool = False
    metadata: bool = False

    def __bool__(self) -> bool:
        return self.title or self.tags or self.metadata


def amend(namespace_id: uuid.UUID, document_id: uuid.UUID, changes: dict[str, Any]) -> Document:
    """Change the fields named in `changes`; metadata is merged (RFC 7396).

    Afterwards tags and metadata are exactly the result, whatever the file contains, until an upload
    submits others. A new title is among the words that chunks are found by, so the document is
    indexed again. Raises Document.DoesNotExist, SourceUriTaken.
    """
    try:
        with namespace(namespace_id):
            document = Document.objects.select_for_update().get(pk=document_id)
            _check_source_uri(document, changes)
            _apply(document, changes)
            _save(document)
            audit.record("document.change", target=document, details={"fields": sorted(changes)})
            return Document.objects.get(pk=document_id)
    except IntegrityError as error:
        if "document_source_once" not in str(error):
            raise
        uri = changes["source_uri"]
        raise SourceUriTaken(f"Another document of this namespace is {uri!r}.") from None


def _check_source_uri(document: Document, changes: Mapping[str, Any]) -> None:
    new = changes.get("source_uri", document.source_uri)
    is_conversation = document.source_type == CONVERSATION
    if new != document.source_uri and (is_conversation or is_reserved(new)):
        raise SourceUriTaken(RESERVED)


def _apply(document: Document, changes: dict[str, Any]) -> None:
    own = _file_description(document)
    date_before = date_in(document.metadata)
    title_before = document.title
    given = dict(document.given)
    fixed = set(given.get("fixed", ()))
    if "title" in changes:
        given["title"] = changes["title"]
        document.title = changes["title"] or own.title or _file_name(document)
    if "tags" in changes:
        given["tags"] = document.tags = changes["tags"]
        fixed.add("tags")
    if "metadata" in changes:
        document.metadata = merge_patch(document.metadata, changes["metadata"])
        if len(json.dumps(document.metadata)) > MAX_METADATA_CHARACTERS:
            raise MetadataTooLarge(
                f"Metadata may have {MAX_METADATA_CHARACTERS:,} characters of JSON at most."
            )
        given["metadata"] = document.metadata
        fixed.add("metadata")
    if "source_uri" in changes:
        document.source_uri = changes["source_uri"]
    if "dated_at" in changes:
        moment: datetime | None = changes["dated_at"]
        given["dated_at"] = moment.isoformat() if moment else None
    document.given = {**given, "fixed": sorted(fixed)}
    if "dated_at" in changes or date_in(document.metadata) != date_before:
        document.dated_at = effective_date(document)
    if document.title != title_before:
        _index_again(document)


def rename(
    namespace_id: uuid.UUID, document_id: uuid.UUID, *, source_uri: str, file_name: str
) -> None:
    """Record that the document's file was moved or renamed; its bytes are the same."""
    with namespace(namespace_id):
        document = Document.objects.select_for_update().get(pk=document_id)
        was_titled_by_file = document.title == _file_name(document)
        newest = DocumentVersion.objects.filter(document=document, number=document.document_version)
        newest.update(file_name=file_name)
        document.source_uri = source_uri
        if was_titled_by_file and not document.given.get("title"):
            document.title = file_name
            _index_again(document)
        _save(document)
        audit.record("document.change", target=document, details={"fields": ["source_uri"]})


def update_description(document: Document, sent: Description) -> Change:
    """Apply the description from a repeated upload of the same bytes, replacing the previous one.

    Inside namespace(), on a locked document.
    """
    own = _file_description(document)
    date_before = date_in(document.metadata)
    before = (document.title, document.tags, document.metadata)
    given = dict(document.given)
    sent_fields: dict[str, Any] = {
        "title": sent.title,
        "tags": list(sent.tags) if sent.tags is not None else None,
        "metadata": dict(sent.metadata) if sent.metadata is not None else None,
    }
    named = {name: value for name, value in sent_fields.items() if value is not None}
    given |= {**named, "fixed": [n for n in given.get("fixed", ()) if n not in named]}
    document.given = given
    if "title" in named:
        document.title = named["title"] or own.title or _file_name(document)
    if "tags" in named:
        document.tags = list(dict.fromkeys([*named["tags"], *own.tags]))
    if "metadata" in named:
        document.metadata = {**own.metadata, **named["metadata"]}
    if date_in(document.metadata) != date_before:
        document.dated_at = effective_date(document)
    change = Change(
        title=document.title != before[0],
        tags=document.tags != before[1],
        metadata=document.metadata != before[2],
    )
    if change:
        _save(document)
    return change


def effective_date(document: Document) -> datetime:
    """Return the date for date filters: set by hand, else from the metadata, else of the first
    upload."""
    by_hand = document.given.get("dated_at")
    if by_hand:
        return datetime.fromisoformat(by_hand)
    return date_in(document.metadata) or document.created_at


def merge_patch(target: Any, patch: Any) -> Any:
    """RFC 7396: null removes a key, objects are merged, anything else replaces."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge_patch(result.get(key), value)
    return result


def _save(document: Document) -> None:
    document.updated_at = Now()
    document.save(update_fields=[*CHANGEABLE, "given", "updated_at"])
    content_changed(document.namespace_id)


@dataclass(frozen=True, slots=True)
class _FileDescription:
    """Title, tags and metadata from the live version's file itself."""

    title: str
    tags: list[str]
    metadata: dict[str, Any]


def _file_description(document: Document) -> _FileDescription:
    versions = DocumentVersion.objects.filter(document=document, number=document.live_version or 0)
    found = versions.values_list("outline__own", flat=True).first()
    if found:
        return _FileDescription(found["title"], found["tags"], found["metadata"])
    # Indexed before this was recorded: what no uploader submitted came from the file.
    given = document.given
    given_tags, given_metadata = given.get("tags") or (), given.get("metadata") or {}
    return _FileDescription(
        title="" if given.get("title") else document.title,
        tags=[tag for tag in document.tags if tag not in given_tags],
        metadata={k: v for k, v in document.metadata.items() if k not in given_metadata},
    )


def _file_name(document: Document) -> str:
    names = DocumentVersion.objects.filter(document=document).values_list("file_name", flat=True)
    return names.order_by("-number").first() or ""


def _index_again(document: Document) -> None:
    if document.live_version is None:
        return  # its first indexing will find the new title
    version = DocumentVersion.objects.defer("text").get(
        document=document, number=document.document_version
    )
    is_waiting = IngestJob.objects.filter(version=version, state__in=queue.OPEN_STATES).exists()
    if not is_waiting:
        queue.enqueue(document, version)
