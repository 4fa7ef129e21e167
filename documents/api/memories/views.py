"""Turns of conversations: remember, list and delete them."""

import uuid
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import Count, Max, Min, QuerySet
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from documents.api import idempotency
from documents.api.fields import MomentField
from documents.api.ingest.taking import HTTP_STATUS
from documents.api.pages import ByDate
from documents.api.views import NamespacedListView, caller_of, check_parameters
from documents.conversations import erasing
from documents.conversations.remembering import NewTurn, TurnReceipt, remember
from documents.errors import IngestError
from documents.jobs import queue
from documents.models import Conversation, Document, Turn
from ragsite.access.rate_limits import BY_METHOD
from ragsite.database.tenancy import namespace
from ragsite.platform.errors import ApiError
from ragsite.web.guards.stream_limit import waiting

from .serializers import (
    ConversationSerializer,
    RememberedSerializer,
    RememberSerializer,
    TurnErasureSerializer,
    TurnReceiptSerializer,
    TurnSerializer,
)


def _filter(name: str, description: str, **options: Any) -> OpenApiParameter:
    return OpenApiParameter(name, str, description=description, **options)


_SESSION = _filter("session", "The client's name of the session.")
_USER = _filter("user", "The user of the conversation.")


class MemoryListView(NamespacedListView):
    serializer_class = TurnSerializer
    pagination_class = ByDate
    filter_names = frozenset({"session", "user", "role", "speaker", "from", "to"})
    rate_class = {"GET": "read", "POST": "ingest", "DELETE": "write"}

    def get_queryset(self) -> QuerySet[Turn]:
        asked = self.request.query_params
        names = {"session": "conversation__session", "user": "conversation__user"}
        names |= {"role": "role", "speaker": "speaker"}
        turns = Turn.objects.filter(**{names[n]: asked[n] for n in names if n in asked})
        if "from" in asked:
            turns = turns.filter(at__gte=_moment(asked["from"], "from"))
        if "to" in asked:
            turns = turns.filter(at__lte=_moment(asked["to"], "to"))
        return turns.select_related("conversation")

    @extend_schema(
        operation_id="memories_list",
        parameters=[
            _SESSION,
            _USER,
            _filter("role", "Such as user or assistant."),
            _filter("speaker", "Name of the speaker."),
            _filter("from", "Turns at this time or later."),
            _filter("to", "Turns at this time or earlier; a bare date means its end."),
        ],
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List turns in chronological order."""
        return super().get(request, *args, **kwargs)

    @extend_schema(
        operation_id="memories_remember",
        parameters=[idempotency.PARAMETER],
        request=RememberSerializer,
        responses={200: RememberedSerializer, 202: RememberedSerializer},
    )
    @idempotency.idempotent
    def post(self, request: Request) -> Response:
        """Store turns of conversations, each once. 202 while they are being indexed, 200 when all
        are searchable."""
        form = RememberSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        turns, wait = _turns_in(form.validated_data), form.validated_data["wait"]
        namespace_id = caller_of(request).namespace_id
        seconds = min(wait, settings.INGEST_MAX_WAIT)
        if seconds:
            with waiting(request.headers["Authorization"]):
                receipts = _remembered(namespace_id, turns)
                queue.wait(namespace_id, _jobs_of(receipts), seconds=seconds)
        else:
            receipts = _remembered(namespace_id, turns)
        body = _answer(namespace_id, receipts)
        return Response(body, status=200 if body["indexed"] else 202)

    @extend_schema(
        operation_id="memories_delete_session",
        parameters=[_filter("session", "The session to delete.", required=True), _USER],
        responses={200: TurnErasureSerializer},
    )
    def delete(self, request: Request) -> Response:
        """Delete a session: of one user, or of all of them. 404 if there is none."""
        check_parameters(request, frozenset({"session", "user"}))
        asked = request.query_params
        if not asked.get("session"):
            raise ValidationError({"session": "Name the session to delete."})
        receipt = erasing.erase_conversations(
            caller_of(request).namespace_id, session=asked["session"], user=asked.get("user")
        )
        if not receipt.conversations:
            raise NotFound
        return Response(TurnErasureSerializer(receipt).data)


class TurnView(APIView):
    rate_class = BY_METHOD

    @extend_schema(operation_id="memories_get", responses=TurnSerializer)
    def get(self, request: Request, pk: uuid.UUID) -> Response:
        with namespace(caller_of(request).namespace_id):
            turn = Turn.objects.select_related("conversation").filter(pk=pk).first()
            if turn is None:
                raise NotFound
            return Response(TurnSerializer(turn).data)

    @extend_schema(operation_id="memories_delete", responses={200: TurnErasureSerializer})
    def delete(self, request: Request, pk: uuid.UUID) -> Response:
        """Delete a turn and everything derived from it. The rest of its conversation is indexed
        again."""
        try:
            receipt = erasing.erase_turn(caller_of(request).namespace_id, pk)
        except Turn.DoesNotExist:
            raise NotFound from None
        return Response(TurnErasureSerializer(receipt).data)


class ConversationListView(NamespacedListView):
    serializer_class = ConversationSerializer
    filter_names = frozenset({"session", "user"})

    def get_queryset(self) -> QuerySet[Conversation]:
        asked = self.request.query_params
        wanted = {name: asked[name] for name in ("session", "user") if name in asked}
        return (
            Conversation.objects.filter(**wanted)
            .select_related("document")
            .annotate(
                turns_count=Count("turns"), first_at=Min("turns__at"), last_at=Max("turns__at")
            )
        )

    @extend_schema(operation_id="memories_conversations", parameters=[_SESSION, _USER])
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List sessions, with one entry for each day (UTC), the latest first."""
        return super().get(request, *args, **kwargs)


def _turns_in(fields: dict[str, Any]) -> list[NewTurn]:
    """Raises ValidationError for a turn without a session."""
    turns = []
    for index, turn in enumerate(fields["turns"]):
        session = turn.pop("session", None) or fields.get("session")
        if not session:
            raise ValidationError({"turns": {str(index): {"session": "This field is required."}}})
        user = turn.pop("user") or fields.get("user", "")
        turns.append(NewTurn(session=session, user=user, **turn))
    return turns


def _remembered(namespace_id: uuid.UUID, turns: list[NewTurn]) -> list[TurnReceipt]:
    try:
        return remember(namespace_id, turns)
    except IngestError as error:
        status = HTTP_STATUS.get(error.code, 422)
        raise ApiError(
            error.code, str(error), http_status=status, details=error.details or {}
        ) from None


def _jobs_of(receipts: list[TurnReceipt]) -> list[uuid.UUID]:
    return list({receipt.job_id for receipt in receipts if receipt.job_id})


def _answer(namespace_id: uuid.UUID, receipts: list[TurnReceipt]) -> dict[str, Any]:
    statuses = [receipt.status for receipt in receipts]
    with namespace(namespace_id):
        ids = {receipt.document_id for receipt in receipts}
        unfinished = Document.objects.filter(pk__in=ids).exclude(status=Document.Status.READY)
        is_indexed = not unfinished.exists()
    return {
        "added": statuses.count("added"),
        "updated": statuses.count("updated"),
        "duplicates": statuses.count("duplicate"),
        "indexed": is_indexed,
        "turns": TurnReceiptSerializer(receipts, many=True).data,
    }


def _moment(value: str, name: str) -> datetime:
    try:
        moment: datetime = MomentField(end_of_day=name == "to").run_validation(value)
    except ValidationError as error:
        raise ValidationError({name: error.detail}) from None
    return moment
