"""Conversations: dated turns, and the document that makes them searchable."""

import uuid

from django.db import models
from django.db.models.functions import Now

from .documents import Document
from .namespaces import Namespace

# Of the documents that conversations are indexed as. No file has it, so no upload can be one.
CONVERSATION_MEDIA_TYPE = "application/vnd.ragsite.conversation"


class Conversation(models.Model):
    """The turns of one session of one user on one day (UTC).

    A day is indexed as one document, so a new turn costs the passages around it and not those of a
    session that goes on for years, and a date filter finds the day. Removing the document removes
    the conversation, and with it its turns.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    namespace = models.ForeignKey(
        Namespace, on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    # The database holds it with the namespace and ON DELETE CASCADE, like every other link.
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
    turns_added = models.PositiveIntegerField(default=0)  # ever, so that numbers do not repeat
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
    """What somebody said, at a moment. Its id is derived from what it is, so it is stored once."""

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
    number = models.PositiveIntegerField()  # in the order of arrival, among turns of one moment
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
