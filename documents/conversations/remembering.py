"""Store turns, each once, and queue the conversations that they belong to for indexing."""

import hashlib
import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Literal
from urllib.parse import quote

from django.db import connection
from django.db.models import F
from django.utils import timezone

from documents.accounts import quotas
from documents.ingestion.removal import remove
from documents.jobs import queue
from documents.models import (
    CONVERSATION_MEDIA_TYPE,
    Conversation,
    Document,
    DocumentVersion,
    IngestJob,
    Turn,
)
from documents.passages import CONVERSATION
from ragsite.database.tenancy import namespace

from .transcripts import ConversationKey, cleaned, title_of, transcript, turns_of

Status = Literal["added", "updated", "duplicate"]

# A turn without id and date that is sent again within this time is a retry of the request.
RETRY_WINDOW = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class NewTurn:
    """A turn as sent by a client. `id` is the client's own; without it, a turn is identified by its
    content, time and speaker."""

    session: str
    role: str
    content: str
    at: datetime | None = None  # None: now
    user: str = ""
    speaker: str = ""
    id: str = ""


@dataclass(frozen=True, slots=True)
class TurnReceipt:
    turn_id: uuid.UUID
    status: Status
    session: str
    at: datetime
    document_id: uuid.UUID
    job_id: uuid.UUID | None = None  # None: there was nothing to do


@dataclass(frozen=True, slots=True)
class _Dated:
    """A turn with its time, its identity and its conversation."""

    turn: NewTurn
    at: datetime
    id: uuid.UUID
    place: ConversationKey


def remember(namespace_id: uuid.UUID, turns: Sequence[NewTurn]) -> list[TurnReceipt]:
    """Store turns and queue their conversations; return one receipt for each turn, in order. Either
    all turns are stored or none. A turn that exists already is a duplicate; one with a known id and
    another content replaces it."""
    with namespace(namespace_id):
        _lock_sessions(namespace_id, turns)
        dated = _dated(namespace_id, turns)
        known = {turn.pk: turn for turn in _known(dated)}
        conversations = {
            place: _conversation(namespace_id, place) for place in _places(dated, known)
        }
        statuses: list[Status] = []
        changed: set[uuid.UUID] = set()
        for one in dated:
            status, touched = _store(one, conversations[one.place], known)
            statuses.append(status)
            changed |= touched
        jobs = {
            conversation.pk: job.pk
            for conversation in conversations.values()
            if conversation.pk in changed and (job := _index_or_remove(conversation))
        }
        return [
            _receipt(one, status, conversations[one.place], jobs)
            for one, status in zip(dated, statuses, strict=True)
        ]


def _index_or_remove(conversation: Conversation) -> IngestJob | None:
    """Remove a conversation whose last turn has moved to another day."""
    if Turn.objects.filter(conversation=conversation).exists():
        return index_again(conversation)
    remove(conversation.namespace_id, conversation.document_id)
    return None


def index_again(conversation: Conversation) -> IngestJob:
    """Queue a conversation whose turns have changed, as a new version of its document. Inside
    namespace()."""
    document = Document.objects.select_for_update().get(pk=conversation.document_id)
    content = transcript(ConversationKey.of(conversation), turns_of(conversation)).text.encode()
    document.document_version += 1
    document.content_sha256 = hashlib.sha256(content).hexdigest()
    document.byte_size = len(content)
    document.status = Document.Status.QUEUED
    document.error_code = document.error_message = ""
    document.save()
    queue.supersede(document)
    version = DocumentVersion.objects.create(
        namespace_id=document.namespace_id,
        document=document,
        number=document.document_version,
        content_sha256=document.content_sha256,
        media_type=CONVERSATION_MEDIA_TYPE,
        byte_size=document.byte_size,
        storage_key="",  # the turns are the original of this document
    )
    quotas.require_not_exceeded(document.namespace_id, bytes=document.byte_size)
    return queue.add_job(document, version)


def source_uri_of(place: ConversationKey) -> str:
    parts = [quote(part, safe="") for part in (place.user, place.session) if part]
    return f"{CONVERSATION}:{'/'.join(parts)}/{place.day.isoformat()}"


def turn_id(namespace_id: uuid.UUID, turn: NewTurn, at: datetime) -> uuid.UUID:
    """Return the turn's id: the same for the same turn, and different in every namespace."""
    what = [turn.id] if turn.id else [turn.role, turn.speaker, at.isoformat(), turn.content]
    return uuid.uuid5(namespace_id, json.dumps(["turn", turn.user, turn.session, *what]))


def _lock_sessions(namespace_id: uuid.UUID, turns: Iterable[NewTurn]) -> None:
    """Serialize writers of the same session, until the transaction ends."""
    names = {f"{namespace_id}/{json.dumps([turn.user, turn.session])}" for turn in turns}
    with connection.cursor() as cursor:
        cursor.execute(  # always in the same order: no deadlock
            "SELECT pg_advisory_xact_lock(number) FROM (SELECT hashtextextended(name, 19) AS number"
            " FROM unnest(%s::text[]) name ORDER BY number) numbers",
            [list(names)],
        )


def _dated(namespace_id: uuid.UUID, turns: Iterable[NewTurn]) -> list[_Dated]:
    now = timezone.now()
    dated = []
    for sent in turns:
        turn = replace(sent, content=cleaned(sent.content))
        at = (turn.at or _earlier_moment(turn, now) or now).astimezone(UTC)
        place = ConversationKey(turn.session, turn.user, at.date())
        dated.append(_Dated(turn, at, turn_id(namespace_id, turn, at), place))
    return dated


def _earlier_moment(turn: NewTurn, now: datetime) -> datetime | None:
    """Return the time at which the same words were sent without a date shortly before, if any."""
    same = Turn.objects.filter(
        conversation__session=turn.session,
        conversation__user=turn.user,
        external_id=turn.id,
        role=turn.role,
        speaker=turn.speaker,
        content=turn.content,
        created_at__gt=now - RETRY_WINDOW,
    )
    return same.order_by("-at").values_list("at", flat=True).first()


def _known(dated: Iterable[_Dated]) -> Iterable[Turn]:
    ids = [one.id for one in dated]
    return Turn.objects.filter(pk__in=ids).select_related("conversation")


def _places(dated: Iterable[_Dated], known: Mapping[uuid.UUID, Turn]) -> list[ConversationKey]:
    """Return the conversations to write, in the order in which they are locked."""
    places = {one.place for one in dated}
    places |= {ConversationKey.of(turn.conversation) for turn in known.values()}
    return sorted(places, key=lambda place: (place.session, place.user, place.day))


def _conversation(namespace_id: uuid.UUID, place: ConversationKey) -> Conversation:
    """Return the conversation; create it, with its document, if it is new."""
    found = Conversation.objects.filter(
        session=place.session, user=place.user, day=place.day
    ).first()
    if found is not None:
        return found
    document = Document.objects.create(
        namespace_id=namespace_id,
        source_type=CONVERSATION,
        source_uri=source_uri_of(place),
        title=title_of(place.day),
        content_sha256="",
        media_type=CONVERSATION_MEDIA_TYPE,
        byte_size=0,
        document_version=0,
    )
    quotas.require_not_exceeded(namespace_id, documents=1)
    return Conversation.objects.create(
        namespace_id=namespace_id,
        document=document,
        session=place.session,
        user=place.user,
        day=place.day,
    )


def _store(
    one: _Dated, conversation: Conversation, known: dict[uuid.UUID, Turn]
) -> tuple[Status, set[uuid.UUID]]:
    """Store a turn; return the outcome, and the conversations that it changed."""
    before = known.get(one.id)
    values = {
        "conversation_id": conversation.pk,
        "role": one.turn.role,
        "speaker": one.turn.speaker,
        "content": one.turn.content,
        "at": one.at if one.turn.at or before is None else before.at,
    }
    if before is None:
        added = Turn.objects.create(
            id=one.id,
            namespace_id=conversation.namespace_id,
            external_id=one.turn.id,
            number=_next_number(conversation),
            **values,
        )
        known[one.id] = added
        return "added", {conversation.pk}
    if all(getattr(before, name) == value for name, value in values.items()):
        return "duplicate", set()
    left = before.conversation_id
    for name, value in values.items():
        setattr(before, name, value)
    before.save(update_fields=list(values))
    return "updated", {left, conversation.pk}


def _next_number(conversation: Conversation) -> int:
    Conversation.objects.filter(pk=conversation.pk).update(turns_added=F("turns_added") + 1)
    conversation.turns_added += 1
    return conversation.turns_added


def _receipt(
    one: _Dated,
    status: Status,
    conversation: Conversation,
    jobs: Mapping[uuid.UUID, uuid.UUID],
) -> TurnReceipt:
    return TurnReceipt(
        turn_id=one.id,
        status=status,
        session=one.turn.session,
        at=one.at,
        document_id=conversation.document_id,
        job_id=jobs.get(conversation.pk),
    )
