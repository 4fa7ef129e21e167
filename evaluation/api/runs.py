"""A namespace's evaluation runs: start, list, read, compare, cancel."""

import uuid
from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from documents.accounts import audit
from documents.api.pages import ByOrdinal
from documents.api.views import NamespacedListView, check_parameters, in_namespace, uuid_in
from evaluation.models import EvaluationRun, GoldenSet, QueryScore
from evaluation.runs import lifecycle
from evaluation.runs.comparison import MEASURE, as_data, compare
from evaluation.runs.options import RunOptions
from ragsite.access.rate_limits import BY_METHOD
from ragsite.platform.errors import ApiError

from .errors import enveloped
from .golden import find
from .serializers import ComparisonSerializer, RunFormSerializer, RunSerializer, ScoreSerializer


class RunListView(NamespacedListView):
    serializer_class = RunSerializer
    filter_names = frozenset({"golden_set_id", "state"})
    choices = {"state": EvaluationRun.State.values}

    def get_queryset(self) -> QuerySet[EvaluationRun]:
        runs = EvaluationRun.objects.all()
        if state := self.request.query_params.get("state"):
            runs = runs.filter(state=state)
        if "golden_set_id" in self.request.query_params:
            runs = runs.filter(golden_set=uuid_in(self.request, "golden_set_id"))
        return runs

    @extend_schema(
        operation_id="evaluations_list",
        parameters=[
            OpenApiParameter("golden_set_id", uuid.UUID),
            OpenApiParameter("state", str, enum=EvaluationRun.State.values),
        ],
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return super().get(request, *args, **kwargs)

    @extend_schema(
        operation_id="evaluations_create",
        request=RunFormSerializer,
        responses={202: RunSerializer},
    )
    @in_namespace
    def post(self, request: Request) -> Response:
        """Start a run in the background. Poll it until it is neither queued nor running."""
        form = RunFormSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        fields = dict(form.validated_data)
        golden_set_id, label = fields.pop("golden_set_id"), fields.pop("name")
        golden_set = GoldenSet.objects.filter(pk=golden_set_id).first()
        if golden_set is None:
            raise ApiError("unknown_golden_set", "There is no such golden set.", http_status=422)
        with enveloped():
            run = lifecycle.create(golden_set, RunOptions(**fields), label=label)
        return Response(RunSerializer(run).data, status=202)


class RunView(APIView):
    rate_class = BY_METHOD

    @extend_schema(operation_id="evaluations_get", responses=RunSerializer)
    @in_namespace
    def get(self, request: Request, pk: uuid.UUID) -> Response:
        return Response(RunSerializer(find(EvaluationRun, pk)).data)


class CancelRunView(APIView):
    rate_class = BY_METHOD

    @extend_schema(operation_id="evaluations_cancel", request=None, responses=RunSerializer)
    @in_namespace
    def post(self, request: Request, pk: uuid.UUID) -> Response:
        find(EvaluationRun, pk)
        if not lifecycle.cancel(pk):
            raise ApiError("run_ended", "This run has already ended.", http_status=409)
        audit.record("evaluationrun.cancel", target=audit.Target("evaluationrun", str(pk)))
        return Response(RunSerializer(find(EvaluationRun, pk)).data)


class ScoreListView(NamespacedListView):
    serializer_class = ScoreSerializer
    pagination_class = ByOrdinal

    def get_queryset(self) -> QuerySet[QueryScore]:
        return QueryScore.objects.filter(run=find(EvaluationRun, self.kwargs["pk"]))

    @extend_schema(operation_id="evaluations_queries")
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List what each query of the run found."""
        return super().get(request, *args, **kwargs)


class CompareView(APIView):
    rate_class = BY_METHOD

    @extend_schema(
        operation_id="evaluations_compare",
        parameters=[
            OpenApiParameter("a", uuid.UUID, required=True),
            OpenApiParameter("b", uuid.UUID, required=True),
            OpenApiParameter("measure", str, description=f"Default: {MEASURE}."),
        ],
        responses=ComparisonSerializer,
    )
    @in_namespace
    def get(self, request: Request) -> Response:
        """Compare b with a: gains with intervals and p-values, and the queries that changed."""
        check_parameters(request, frozenset({"a", "b", "measure"}))
        a, b = (find(EvaluationRun, uuid_in(request, name)) for name in ("a", "b"))
        with enveloped():
            comparison = compare(a, b, measure=request.query_params.get("measure", MEASURE))
        return Response(as_data(comparison))
