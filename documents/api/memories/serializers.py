"""How the API represents turns and conversations."""

from typing import Any

from rest_framework import serializers

from documents.api.fields import CleanedTextField, MomentField
from documents.api.serializers import StrictSerializer
from documents.conversations.transcripts import name_of
from documents.models import Conversation, Turn

MAX_TURNS = 1000  # of one request
MAX_CONTENT = 100_000  # characters of a turn
MAX_NAME = 200  # characters of a session, a user, a speaker and an id


def _name(help_text: str, **options: Any) -> serializers.CharField:
    return serializers.CharField(max_length=MAX_NAME, help_text=help_text, **options)


def _optional_name(help_text: str) -> serializers.CharField:
    return _name(help_text, required=False, allow_blank=True, default="")


class NewTurnSerializer(StrictSerializer):
    session = _name("The client's name of the conversation.", required=False)
    role = serializers.CharField(max_length=40, help_text="Such as user or assistant.")
    content = CleanedTextField(
        max_length=MAX_CONTENT, help_text="The text of the turn, stored verbatim."
    )
    at = MomentField(
        required=False, help_text="Time of the turn; default: now. A bare date means its midnight."
    )
    user = _optional_name("The user of the conversation.")
    speaker = _optional_name("Name of the speaker; default: the role.")
    id = _optional_name(
        "The client's own id. The same id again is the same turn, and replaces it if it differs."
    )


class RememberSerializer(StrictSerializer):
    turns = serializers.ListField(child=NewTurnSerializer(), min_length=1, max_length=MAX_TURNS)
    session = _name("For turns without their own value.", required=False)
    user = _name("For turns without their own value.", required=False)
    wait = serializers.FloatField(
        default=0,
        min_value=0,
        help_text="Seconds to wait until the turns are searchable.",
    )


class TurnReceiptSerializer(serializers.Serializer):
    turn_id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=["added", "updated", "duplicate"])
    session = serializers.CharField()
    at = serializers.DateTimeField()
    document_id = serializers.UUIDField(help_text="The document in which the turn is indexed.")
    job_id = serializers.UUIDField(allow_null=True)


class RememberedSerializer(serializers.Serializer):
    added = serializers.IntegerField()
    updated = serializers.IntegerField()
    duplicates = serializers.IntegerField()
    indexed = serializers.BooleanField(help_text="Whether all turns are searchable now.")
    turns = TurnReceiptSerializer(many=True, help_text="In the order of the request.")


class TurnSerializer(serializers.ModelSerializer):
    session = serializers.CharField(source="conversation.session")
    user = serializers.CharField(source="conversation.user")
    document_id = serializers.UUIDField(source="conversation.document_id")
    speaker = serializers.SerializerMethodField(help_text="The speaker's name, or else the role.")
    external_id = serializers.CharField(help_text="The client's own id; blank if it gave none.")

    class Meta:
        model = Turn
        fields = [
            "id",
            "session",
            "user",
            "role",
            "speaker",
            "content",
            "at",
            "external_id",
            "document_id",
            "created_at",
        ]
        read_only_fields = fields

    def get_speaker(self, turn: Turn) -> str:
        return name_of(turn)


class ConversationSerializer(serializers.ModelSerializer):
    turns_count = serializers.IntegerField()
    first_at = serializers.DateTimeField()
    last_at = serializers.DateTimeField()
    status = serializers.CharField(source="document.status")

    class Meta:
        model = Conversation
        fields = [
            "id",
            "session",
            "user",
            "day",
            "document_id",
            "status",
            "turns_count",
            "first_at",
            "last_at",
            "created_at",
        ]
        read_only_fields = fields


class TurnErasureSerializer(serializers.Serializer):
    """A receipt: what was deleted, without its content."""

    turns = serializers.IntegerField()
    conversations = serializers.IntegerField(help_text="Days that have no turns left.")
    chunks = serializers.IntegerField()
    job_id = serializers.UUIDField(
        allow_null=True, help_text="The jobs that index the rest of the conversation."
    )
