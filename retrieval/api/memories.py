"""POST /memories/search: search passages of conversations."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from documents.api.views import caller_of
from documents.passages import CONVERSATION
from retrieval import query_log
from retrieval.conversations import ConversationQuery, search_conversations
from retrieval.turns import TurnConditions

from .filters import DateRangeField
from .serializers import QueryAnswerSerializer, QuerySerializer, answer_of, search_request

MAX_NAME = 200
CONDITIONS = ("session", "user", "roles", "speakers", "date_range")


def _names(help_text: str) -> serializers.ListField:
    child = serializers.CharField(max_length=MAX_NAME)
    return serializers.ListField(
        child=child, required=False, min_length=1, max_length=100, help_text=help_text
    )


class MemoryQuerySerializer(QuerySerializer):
    filters = None  # type: ignore[assignment]  # these of its own instead
    session = serializers.CharField(
        max_length=MAX_NAME, required=False, help_text="Only this session."
    )
    user = serializers.CharField(
        max_length=MAX_NAME, required=False, help_text="Only conversations of this user."
    )
    roles = _names("Only passages in which one of these roles speaks.")
    speakers = _names("Only passages in which one of these speaks, by name.")
    around = serializers.IntegerField(
        default=None,
        allow_null=True,
        min_value=0,
        max_value=50,
        help_text="Turns to show before and after the turns that were found, of the same day. Left "
        "out: as many as the token budget has room for.",
    )
    token_budget = serializers.IntegerField(
        required=False,
        allow_null=True,
        min_value=1,
        max_value=1_000_000,
        help_text="Tokens of all passages together; without it SEARCH_CONVERSATION_TOKEN_BUDGET.",
    )
    date_range = DateRangeField(
        required=False, help_text="Only passages with a turn from this time: [from, to]."
    )


class MemorySearchView(APIView):
    scopes = {"POST": "read"}
    rate_class = "search"

    @extend_schema(
        operation_id="memories_search",
        request=MemoryQuerySerializer,
        responses=QueryAnswerSerializer,
    )
    def post(self, request: Request) -> Response:
        """Search conversations. The results are passages of several turns each, like those of `POST
        /query`. `chunk_metadata.turns` lists the turns with their speakers, times, ids and spans.
        """
        form = MemoryQuerySerializer(data=request.data)
        form.is_valid(raise_exception=True)
        sent = dict(request.data)
        conditions = {name: sent[name] for name in CONDITIONS if name in sent}
        asked = _query_of(dict(form.validated_data))
        namespace_id = caller_of(request).namespace_id
        result = search_conversations(namespace_id, asked)
        query_id = query_log.note(
            namespace_id,
            asked.request,
            result,
            filters={"source_types": [CONVERSATION], **conditions},
        )
        return Response(answer_of(result, query_id))


def _query_of(fields: dict[str, Any]) -> ConversationQuery:
    since, until = fields.pop("date_range", (None, None))
    turns = TurnConditions(
        roles=tuple(fields.pop("roles", ())),
        speakers=tuple(fields.pop("speakers", ())),
        since=since,
        until=until,
    )
    session, user = fields.pop("session", ""), fields.pop("user", "")
    return ConversationQuery(search_request(fields), session=session, user=user, turns=turns)
