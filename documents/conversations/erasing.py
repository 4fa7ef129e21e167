"""Delete turns and conversations, with everything derived from them."""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass

from django.db import connection
from django.db.models import F

from documents.accounts import audit
from documents.ingestion.publishing import lock_active_profile
from documents.ingestion.removal import remove_many
from documents.jobs import queue
from documents.models import (
    Chunk,
    Conversation,
    Document,
    DocumentVersion,
    EmbeddingCache,
    IngestJob,
    Namespace,
    Turn,
)
from documents.text.languages import configuration
from documents.text.lexemes import prepare
from ragsite.database.tenancy import namespace

from .remembering import index_again
from .transcripts import turns_of

# Words that neither another chunk nor the rest of the conversation contains.
_FORGET_WORDS = """
    DELETE FROM documents_termfrequency frequency
    WHERE frequency.namespace_id = %(namespace)s
      AND frequency.lexeme = ANY (
          SELECT lexeme FROM unnest(to_tsvector(%(configuration)s::regconfig, %(forgotten)s))
          EXCEPT
          SELECT lexeme FROM unnest(to_tsvector(%(configuration)s::regconfig, %(kept)s)))
      AND NOT EXISTS (
          SELECT FROM documents_chunkterms terms
          WHERE terms.namespace_id = %(namespace)s AND terms.profile_id = frequency.profile_id
            AND terms.search_vector @@ quote_literal(frequency.lexeme)::tsquery)
"""


@dataclass(frozen=True, slots=True)
class ErasureReceipt:
    """What was deleted, without its content."""

    turns: int
    conversations: int
    chunks: int
    job_id: uuid.UUID | None = None  # that indexes the rest of the conversation


def erase_turn(namespace_id: uuid.UUID, turn_id: uuid.UUID) -> ErasureReceipt:
    """Delete one turn. Raises Turn.DoesNotExist.

    Its conversation is not found until the rest of it is indexed again: passages hold several
    turns, and a worker that is reading the old ones must not publish them.
    """
    with namespace(namespace_id):
        turn = Turn.objects.select_related("conversation").get(pk=turn_id)
        conversation = turn.conversation
        document = Document.objects.select_for_update().get(pk=conversation.document_id)
        turn.delete()
        rest = turns_of(conversation)
        if rest:
            chunks = _withdraw(document)
            _forget_words(document, [turn.content], [one.content for one in rest])
            job_id = index_again(conversation).pk
            audit.record("turn.delete", target=audit.Target("turn", str(turn_id)))
            return ErasureReceipt(turns=1, conversations=0, chunks=chunks, job_id=job_id)
    # The deletion of the document is recorded in the audit log.
    chunks = _remove(namespace_id, [document], [turn.content])
    return ErasureReceipt(turns=1, conversations=1, chunks=chunks)


def erase_conversations(
    namespace_id: uuid.UUID, *, session: str, user: str | None = None
) -> ErasureReceipt:
    """Delete a session: of this user or, without a user, of all users."""
    with namespace(namespace_id):
        found = Conversation.objects.filter(session=session)
        if user is not None:
            found = found.filter(user=user)
        conversations = list(found)
        turns = Turn.objects.filter(conversation__in=conversations)
        contents = list(turns.values_list("content", flat=True))
        ids = [conversation.document_id for conversation in conversations]
        documents = list(Document.objects.filter(pk__in=ids))
    chunks = _remove(namespace_id, documents, contents)
    return ErasureReceipt(turns=len(contents), conversations=len(conversations), chunks=chunks)


def _remove(namespace_id: uuid.UUID, documents: list[Document], contents: list[str]) -> int:
    """Delete the documents; the database cascades to conversations and turns."""
    ids = [document.pk for document in documents]
    receipt = remove_many(namespace_id, ids, details={"conversations": len(ids)})
    with namespace(namespace_id):
        for document in documents[:1]:
            _forget_words(document, contents, [])
    return receipt.chunks


def _withdraw(document: Document) -> int:
    """Delete everything derived from the document so far; return the number of chunks."""
    open_jobs = IngestJob.objects.filter(document=document, state__in=queue.OPEN_STATES)
    for job_id in open_jobs.values_list("pk", flat=True):
        queue.cancel(job_id)
    active = lock_active_profile(document.namespace_id).profile_id
    searchable = Chunk.objects.filter(document=document, profile=active).count()
    chunks, _ = Chunk.objects.filter(document=document).delete()
    DocumentVersion.objects.filter(document=document).delete()
    EmbeddingCache.objects.filter(document=document).delete()
    Document.objects.filter(pk=document.pk).update(live_version=None, chunks_count=0)
    Namespace.objects.filter(pk=document.namespace_id).update(
        revision=F("revision") + 1, chunk_count=F("chunk_count") - searchable
    )
    return chunks


def _forget_words(document: Document, forgotten: Iterable[str], kept: Iterable[str]) -> None:
    """Delete the counts of words that no longer occur. Inside namespace()."""
    with connection.cursor() as cursor:
        cursor.execute(
            _FORGET_WORDS,
            {
                "namespace": document.namespace_id,
                "configuration": configuration(document.language),
                "forgotten": _words(forgotten),
                "kept": _words(kept),
            },
        )


def _words(contents: Iterable[str]) -> str:
    prepared = prepare("\n".join(contents))
    return f"{prepared.running} {prepared.extras}"
