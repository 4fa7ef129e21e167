"""A namespace's rules of predicates, and its aliases."""

import uuid
from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from documents.api.fields import NamedChoiceField
from documents.api.serializers import StrictSerializer
from documents.api.views import NamespacedListView, caller_of
from documents.memory import rewriting
from documents.memory.rules.names import predicate_key
from documents.memory.rules.predicates import ALIASES, default_rule
from documents.models import FactAlias, FactErasure, PredicateRule
from documents.passages import MAX_FACT_NAME
from ragsite.access.rate_limits import BY_METHOD

from .views import ErasureReceiptSerializer


class RuleSerializer(serializers.ModelSerializer):
    class Meta:
        model = PredicateRule
        fields = ["id", "predicate", "is_single", "half_life_days", "created_at"]
        read_only_fields = fields


class NewRuleSerializer(StrictSerializer):
    predicate = serializers.CharField(max_length=MAX_FACT_NAME)
    is_single = serializers.BooleanField(
        required=False,
        help_text="One value at a time: a new one closes the previous one. Default: the "
        "built-in rule.",
    )
    half_life_days = serializers.FloatField(
        required=False,
        allow_null=True,
        min_value=0.01,
        max_value=1_000_000,
        help_text="Days until an unconfirmed fact counts half; null: never. Default: the "
        "built-in rule.",
    )


class AliasSerializer(serializers.ModelSerializer):
    class Meta:
        model = FactAlias
        fields = ["id", "kind", "alias", "name", "created_at"]
        read_only_fields = fields


class NewAliasSerializer(StrictSerializer):
    kind = NamedChoiceField(choices=FactAlias.Kind.values, default=FactAlias.Kind.SUBJECT)
    alias = serializers.CharField(max_length=MAX_FACT_NAME)
    name = serializers.CharField(max_length=MAX_FACT_NAME, help_text="The name that it stands for.")


class RuleListView(NamespacedListView):
    serializer_class = RuleSerializer

    def get_queryset(self) -> QuerySet[PredicateRule]:
        return PredicateRule.objects.all()

    @extend_schema(operation_id="fact_rules_list")
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List the namespace's own rules of predicates; all others have built-in rules."""
        return super().get(request, *args, **kwargs)

    @extend_schema(
        operation_id="fact_rules_set", request=NewRuleSerializer, responses=RuleSerializer
    )
    def post(self, request: Request) -> Response:
        """Set the rule of a predicate, replacing the previous one. Facts are derived again."""
        form = NewRuleSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        given = form.validated_data
        key = predicate_key(given["predicate"])
        built_in = default_rule(ALIASES.get(key, key))
        row = rewriting.set_rule(
            caller_of(request).namespace_id,
            predicate=given["predicate"],
            is_single=given.get("is_single", built_in.is_single),
            half_life_days=given.get("half_life_days", built_in.half_life_days),
        )
        return Response(RuleSerializer(row).data)


class RuleView(APIView):
    rate_class = BY_METHOD

    @extend_schema(operation_id="fact_rules_remove", responses={204: None})
    def delete(self, request: Request, pk: uuid.UUID) -> Response:
        """Return to the built-in rule."""
        try:
            rewriting.remove_rule(caller_of(request).namespace_id, pk)
        except PredicateRule.DoesNotExist:
            raise NotFound from None
        return Response(status=204)


class AliasListView(NamespacedListView):
    serializer_class = AliasSerializer
    filter_names = frozenset({"kind"})
    choices = {"kind": FactAlias.Kind.values}

    def get_queryset(self) -> QuerySet[FactAlias]:
        kind = self.request.query_params.get("kind")
        aliases = FactAlias.objects.all()
        return aliases if kind is None else aliases.filter(kind=kind)

    @extend_schema(operation_id="fact_aliases_list")
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List the names that stand for others."""
        return super().get(request, *args, **kwargs)

    @extend_schema(
        operation_id="fact_aliases_set", request=NewAliasSerializer, responses=AliasSerializer
    )
    def post(self, request: Request) -> Response:
        """Declare one name to stand for another. Facts under both names are combined."""
        form = NewAliasSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        row = rewriting.set_alias(caller_of(request).namespace_id, **form.validated_data)
        return Response(AliasSerializer(row).data)


class AliasView(APIView):
    rate_class = BY_METHOD

    @extend_schema(operation_id="fact_aliases_remove", responses={204: None})
    def delete(self, request: Request, pk: uuid.UUID) -> Response:
        """Separate the names again, with the statements that used each of them."""
        try:
            rewriting.remove_alias(caller_of(request).namespace_id, pk)
        except FactAlias.DoesNotExist:
            raise NotFound from None
        return Response(status=204)


class ErasureListView(NamespacedListView):
    serializer_class = ErasureReceiptSerializer

    def get_queryset(self) -> QuerySet[FactErasure]:
        return FactErasure.objects.all()

    @extend_schema(operation_id="fact_erasures_list")
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List the receipts of erasures, newest first."""
        return super().get(request, *args, **kwargs)
