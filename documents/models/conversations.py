"""Conversations: dated turns, and the document that makes them searchable."""

import uuid

from django.db import models
from django.db.models.functions import Now

from .documents import Document
from .namespaces import Namespace

# The media type of documents of conversations. No file has it, so none can be uploaded.
CONVERSATION_MEDIA_TYPE = "application/vnd.ragsite.conversation"


class Conversation(models.Model):
    """The turns of one session of one user on one day (UTC).

    A day is indexed as one document, so that a new turn only affects the passages around it even if
    a session lasts for years, and a date filter finds the day. Deleting the document deletes the
    conversation with its turns.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    namespace = models.ForeignKey(
        Namespace, on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    # In the database the foreign key includes the namespace and has ON DELETE CASCADE, as
    # everywhere.
    document = models.ForeignKey(
        Document,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="conversations",
    )
    session = models.CharField(max_length=200)
    user = models.CharField(max_length=200, blank=True, default="", db_default="")
    day = models.DateField()
    # the highest number ever used, so that numbers are not reused
    turns_added = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["namespace", "session", "user", "day"], name="conversation_once"
            ),
            models.UniqueConstraint(fields=["namespace", "id"], name="conversation_in_namespace"),
            models.UniqueConstraint(
                fields=["namespace", "document"], name="conversation_of_document"
            ),
        ]
        indexes = [
            models.Index(fields=["namespace", "-created_at", "-id"], name="conversation_newest"),
        ]

    def __str__(self) -> str:
        return f"{self.session} {self.day}"


class Turn(models.Model):
    """One utterance in a conversation, with its time. Its id is derived from its content, so that
    it is stored only once."""

    id = models.UUIDField(primary_key=True, editable=False)
    namespace = models.ForeignKey(
        Namespace, on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    conversation = models.ForeignKey(
        Conversation,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="turns",
    )
    external_id = models.CharField(max_length=200, blank=True, default="", db_default="")
    number = models.PositiveIntegerField()  # order of arrival among turns with the same time
    role = models.CharField(max_length=40)
    speaker = models.CharField(max_length=200, blank=True, default="", db_default="")
    content = models.TextField()
    at = models.DateTimeField()
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["at", "number"]
        constraints = [
            models.UniqueConstraint(fields=["namespace", "id"], name="turn_in_namespace"),
        ]
        indexes = [
            models.Index(
                fields=["namespace", "conversation", "at", "number"], name="turn_of_conversation"
            ),
            models.Index(fields=["namespace", "at", "id"], name="turn_dated"),
        ]

    def __str__(self) -> str:
        return f"{self.speaker or self.role}, {self.at:%Y-%m-%d %H:%M}"
