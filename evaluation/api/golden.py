"""A namespace's golden sets, their queries and judgements."""

import uuid
from typing import Any

from django.db import IntegrityError
from django.db.models import Count, QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from documents.accounts import audit
from documents.api.views import NamespacedListView, caller_of, in_namespace
from documents.models import Document
from evaluation.golden import curating
from evaluation.models import GoldenQuery, GoldenSet, Judgement
from ragsite.access.rate_limits import BY_METHOD
from ragsite.database.tenancy import namespace
from ragsite.platform.errors import ApiError

from .errors import enveloped
from .serializers import (
    GoldenQueryChangeSerializer,
    GoldenQueryFormSerializer,
    GoldenQuerySerializer,
    GoldenSetFormSerializer,
    GoldenSetSerializer,
    JudgementFormSerializer,
    JudgementSerializer,
)


def find(model: Any, pk: uuid.UUID) -> Any:
    """Find a row. Raises NotFound for another tenant's id exactly as for an unknown one."""
    found = model.objects.filter(pk=pk).first()
    if found is None:
        raise NotFound
    return found


def counted() -> QuerySet[GoldenSet]:
    return GoldenSet.objects.annotate(queries_count=Count("queries"))


def judge(query: GoldenQuery, fields: dict[str, Any]) -> Judgement:
    """Store a judgement from validated form fields."""
    documents = Document.objects.filter(namespace=query.namespace_id)
    if "document_id" in fields:
        document = documents.filter(pk=fields["document_id"]).first()
    else:
        found = dict(curating.by_source(query.namespace_id, [fields["source_uri"]]))
        document = found.get(fields["source_uri"])
    if document is None:
        raise ApiError("unknown_document", "There is no such document here.", http_status=422)
    span = fields.get("span")
    return curating.judge(
        query,
        document,
        grade=fields["grade"],
        span=(span["start"], span["end"]) if span else None,
        quote=fields["quote"],
        part=fields["part"],
        is_hard_negative=fields["hard_negative"],
    )


class GoldenSetListView(NamespacedListView):
    serializer_class = GoldenSetSerializer

    def get_queryset(self) -> QuerySet[GoldenSet]:
        return counted()

    @extend_schema(operation_id="golden_sets_list")
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return super().get(request, *args, **kwargs)

    @extend_schema(
        operation_id="golden_sets_create",
        request=GoldenSetFormSerializer,
        responses={201: GoldenSetSerializer},
    )
    def post(self, request: Request) -> Response:
        form = GoldenSetFormSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        tenant = caller_of(request).namespace_id
        try:
            with namespace(tenant):
                made = GoldenSet.objects.create(namespace_id=tenant, **form.validated_data)
                body = GoldenSetSerializer(counted().get(pk=made.pk)).data
        except IntegrityError:
            raise ApiError(
                "name_taken", "A golden set of this name already exists.", http_status=409
            ) from None
        return Response(body, status=201)


class GoldenSetView(APIView):
    rate_class = BY_METHOD

    @extend_schema(operation_id="golden_sets_get", responses=GoldenSetSerializer)
    @in_namespace
    def get(self, request: Request, pk: uuid.UUID) -> Response:
        find(GoldenSet, pk)
        return Response(GoldenSetSerializer(counted().get(pk=pk)).data)

    @extend_schema(operation_id="golden_sets_delete", request=None, responses={204: None})
    @in_namespace
    def delete(self, request: Request, pk: uuid.UUID) -> Response:
        """Delete the set with its queries, judgements and runs."""
        golden_set = find(GoldenSet, pk)
        queries = golden_set.queries.count()
        audit.record("goldenset.delete", target=golden_set, details={"queries": queries})
        golden_set.delete()
        return Response(status=204)


class GoldenQueryListView(NamespacedListView):
    serializer_class = GoldenQuerySerializer

    def get_queryset(self) -> QuerySet[GoldenQuery]:
        golden_set = find(GoldenSet, self.kwargs["pk"])
        queries: QuerySet[GoldenQuery] = golden_set.queries.prefetch_related("judgements")
        return queries

    @extend_schema(operation_id="golden_queries_list")
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return super().get(request, *args, **kwargs)

    @extend_schema(
        operation_id="golden_queries_create",
        request=GoldenQueryFormSerializer,
        responses={201: GoldenQuerySerializer},
    )
    @in_namespace
    def post(self, request: Request, pk: uuid.UUID) -> Response:
        """Add a query with its judgements. If a query with the same text exists, the judgements are
        added to it."""
        golden_set = find(GoldenSet, pk)
        form = GoldenQueryFormSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        fields = dict(form.validated_data)
        judgements = fields.pop("judgements", [])
        with enveloped():
            query = curating.add_query(golden_set, fields.pop("query"), **fields)
            for judgement in judgements:
                judge(query, judgement)
        return Response(GoldenQuerySerializer(query).data, status=201)


class GoldenQueryView(APIView):
    rate_class = BY_METHOD

    @extend_schema(operation_id="golden_queries_get", responses=GoldenQuerySerializer)
    @in_namespace
    def get(self, request: Request, pk: uuid.UUID) -> Response:
        return Response(GoldenQuerySerializer(find(GoldenQuery, pk)).data)

    @extend_schema(
        operation_id="golden_queries_change",
        request=GoldenQueryChangeSerializer,
        responses=GoldenQuerySerializer,
    )
    def patch(self, request: Request, pk: uuid.UUID) -> Response:
        form = GoldenQueryChangeSerializer(data=request.data)
        with namespace(caller_of(request).namespace_id):
            find(GoldenQuery, pk)
        form.is_valid(raise_exception=True)
        changes = dict(form.validated_data)
        if "query" in changes:
            changes["text"] = changes.pop("query")
        try:
            with namespace(caller_of(request).namespace_id):
                query = find(GoldenQuery, pk)
                with enveloped():
                    curating.change_query(query, **changes)
                return Response(GoldenQuerySerializer(query).data)
        except IntegrityError:
            raise ApiError(
                "query_taken", "The set already has a query with this text.", http_status=409
            ) from None

    @extend_schema(operation_id="golden_queries_delete", request=None, responses={204: None})
    @in_namespace
    def delete(self, request: Request, pk: uuid.UUID) -> Response:
        query = find(GoldenQuery, pk)
        curating.touch(query.golden_set_id)
        audit.record("goldenquery.delete", target=audit.Target("goldenquery", str(pk)))
        query.delete()
        return Response(status=204)


class JudgementListView(APIView):
    rate_class = BY_METHOD

    @extend_schema(
        operation_id="judgements_create",
        request=JudgementFormSerializer,
        responses={201: JudgementSerializer},
    )
    @in_namespace
    def post(self, request: Request, pk: uuid.UUID) -> Response:
        """Judge a document or a span. A judgement on the same span is replaced."""
        query = find(GoldenQuery, pk)
        form = JudgementFormSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        with enveloped():
            judgement = judge(query, form.validated_data)
        return Response(JudgementSerializer(judgement).data, status=201)


class JudgementView(APIView):
    rate_class = BY_METHOD

    @extend_schema(operation_id="judgements_delete", request=None, responses={204: None})
    @in_namespace
    def delete(self, request: Request, pk: uuid.UUID) -> Response:
        judgement = find(Judgement, pk)
        audit.record("judgement.delete", target=audit.Target("judgement", str(pk)))
        judgement.delete()
        return Response(status=204)
