"""POST /query: search for ranked passages with citations."""

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from documents.api.views import caller_of
from retrieval import query_log
from retrieval.search import search

from .serializers import QueryAnswerSerializer, QuerySerializer, answer_of, request_of

# It finds something in the sample documents.
EXAMPLE = OpenApiExample(
    "A question",
    {"query": "How long is the warranty on a lamp?", "k": 3},
    request_only=True,
)


class QueryView(APIView):
    scopes = {"POST": "read"}
    rate_class = "search"

    @extend_schema(
        operation_id="query",
        request=QuerySerializer,
        responses=QueryAnswerSerializer,
        examples=[EXAMPLE],
    )
    def post(self, request: Request) -> Response:
        """Search for passages. The `content` of each result equals `text[span.start:span.end]` of
        the document's version. Send `query_id` with `POST /feedback`."""
        namespace_id, asked = caller_of(request).namespace_id, request_of(request.data)
        result = search(namespace_id, asked)
        filters = dict(request.data).get("filters")
        query_id = query_log.note(namespace_id, asked, result, filters=filters)
        return Response(answer_of(result, query_id))
