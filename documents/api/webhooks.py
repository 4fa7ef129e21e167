"""A namespace's webhooks and their deliveries, for keys with the scope admin."""

import json
import uuid
from datetime import timedelta
from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from documents.intake.web_addresses import FetchRefused
from documents.metadata import storable
from documents.models import WebhookDelivery, WebhookEndpoint
from documents.models.webhooks import EventType
from documents.webhooks import endpoints
from ragsite.access.rate_limits import BY_METHOD
from ragsite.platform.errors import ApiError

from .serializers import FailureSerializer, StrictSerializer
from .views import NamespacedListView, caller_of, in_namespace

SCOPES = dict.fromkeys(("GET", "POST", "PATCH", "DELETE"), "admin")
CHOSEN = [kind.value for kind in EventType if kind != EventType.TEST]
MAX_OVERLAP_HOURS = 24 * 7


class WebhookSerializer(serializers.ModelSerializer):
    events = serializers.ListField(
        child=serializers.ChoiceField(choices=CHOSEN), help_text="Empty: all events."
    )
    status = serializers.ChoiceField(
        choices=WebhookEndpoint.Status.choices,
        help_text="failing: disabled, because it kept failing.",
    )

    class Meta:
        model = WebhookEndpoint
        fields = [
            "id",
            "url",
            "description",
            "events",
            "status",
            "failures",
            "failing_since",
            "last_delivered_at",
            "created_at",
        ]
        read_only_fields = fields


class NewWebhookSerializer(WebhookSerializer):
    secret = serializers.CharField(help_text="Verifies signatures. It is not shown again.")

    class Meta(WebhookSerializer.Meta):
        fields = [*WebhookSerializer.Meta.fields, "secret"]
        read_only_fields = fields


class WebhookSecretSerializer(serializers.Serializer):
    secret = serializers.CharField(help_text="It is not shown again.")


class _WebhookFields(StrictSerializer):
    description = serializers.CharField(max_length=200, required=False, allow_blank=True)
    events = serializers.ListField(
        child=serializers.ChoiceField(choices=CHOSEN),
        required=False,
        max_length=len(CHOSEN),
        help_text="The events to send; omitted or empty: all events.",
    )

    def validate_description(self, description: str) -> str:
        return str(storable(description))


class WebhookCreationSerializer(_WebhookFields):
    url = serializers.CharField(
        max_length=2000, help_text="The public address to which events are sent by POST."
    )


class WebhookChangeSerializer(_WebhookFields):
    url = serializers.CharField(max_length=2000, required=False)
    is_enabled = serializers.BooleanField(
        required=False,
        help_text="true enables a webhook that was disabled; events that were not sent in the "
        "meantime are not sent later.",
    )


class RotationSerializer(StrictSerializer):
    overlap_hours = serializers.IntegerField(
        min_value=0,
        max_value=MAX_OVERLAP_HOURS,
        default=24,
        help_text="How long events are also signed with the old secret.",
    )


class RecoverySerializer(StrictSerializer):
    since = serializers.DateTimeField(
        help_text="Send again the failed deliveries of events since this time."
    )


class RecoveredSerializer(serializers.Serializer):
    deliveries = serializers.IntegerField(help_text="Number of deliveries that are sent again.")


class WebhookDeliverySerializer(serializers.ModelSerializer):
    event_id = serializers.SerializerMethodField(help_text="The header webhook-id.")
    type = serializers.CharField(source="event.type")
    state = serializers.ChoiceField(choices=WebhookDelivery.State.choices)
    next_attempt_at = serializers.SerializerMethodField()
    error = serializers.SerializerMethodField()

    class Meta:
        model = WebhookDelivery
        fields = [
            "id",
            "event_id",
            "type",
            "state",
            "attempts",
            "attempted_at",
            "next_attempt_at",
            "delivered_at",
            "duration_ms",
            "response_status",
            "error",
            "created_at",
        ]
        read_only_fields = fields

    def get_event_id(self, delivery: WebhookDelivery) -> str:
        return f"evt_{delivery.event_id.hex}"

    @extend_schema_field(serializers.DateTimeField(allow_null=True))
    def get_next_attempt_at(self, delivery: WebhookDelivery) -> Any:
        return delivery.run_after if delivery.state == WebhookDelivery.State.PENDING else None

    @extend_schema_field(FailureSerializer(allow_null=True))
    def get_error(self, delivery: WebhookDelivery) -> dict[str, str] | None:
        if not delivery.error_code:
            return None
        return {"code": delivery.error_code, "message": delivery.error_message}


class FullWebhookDeliverySerializer(WebhookDeliverySerializer):
    payload = serializers.SerializerMethodField(help_text="The body of the request.")

    class Meta(WebhookDeliverySerializer.Meta):
        fields = [*WebhookDeliverySerializer.Meta.fields, "response_body", "payload"]
        read_only_fields = fields

    @extend_schema_field({"type": "object", "additionalProperties": True})
    def get_payload(self, delivery: WebhookDelivery) -> Any:
        return json.loads(delivery.event.body)


def find_webhook(pk: uuid.UUID) -> WebhookEndpoint:
    """Find a webhook. Raises NotFound for another tenant's id exactly as for an unknown one."""
    found = WebhookEndpoint.objects.filter(pk=pk).first()
    if found is None:
        raise NotFound
    return found


def find_delivery(endpoint: WebhookEndpoint, pk: uuid.UUID) -> WebhookDelivery:
    """Raises NotFound."""
    found = WebhookDelivery.objects.filter(endpoint=endpoint.pk, pk=pk)
    delivery = found.select_related("event", "endpoint").first()
    if delivery is None:
        raise NotFound
    return delivery


def _disabled(error: endpoints.WebhookDisabled) -> ApiError:
    return ApiError("webhook_disabled", str(error), http_status=409)


def _valid(form: StrictSerializer) -> dict[str, Any]:
    form.is_valid(raise_exception=True)
    return dict(form.validated_data)


class WebhookListView(NamespacedListView):
    serializer_class = WebhookSerializer
    scopes = SCOPES

    def get_queryset(self) -> QuerySet[WebhookEndpoint]:
        return WebhookEndpoint.objects.all()

    @extend_schema(operation_id="webhooks_list")
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List the webhooks, newest first. Requires the scope admin."""
        return super().get(request, *args, **kwargs)

    @extend_schema(
        operation_id="webhooks_create",
        request=WebhookCreationSerializer,
        responses={201: NewWebhookSerializer},
    )
    @in_namespace
    def post(self, request: Request) -> Response:
        """Register an address that gets events of documents, reindexes and evaluations.

        The secret is shown this once. Requires the scope admin.
        """
        fields = _valid(WebhookCreationSerializer(data=request.data))
        try:
            created, secret = endpoints.create(
                caller_of(request).namespace_id,
                fields["url"],
                description=fields.get("description", ""),
                wanted=fields.get("events", ()),
            )
        except FetchRefused as error:
            raise ValidationError({"url": str(error)}) from None
        except endpoints.TooManyEndpoints as error:
            raise ApiError("too_many_webhooks", str(error), http_status=409) from None
        return Response({**WebhookSerializer(created).data, "secret": secret}, status=201)


class WebhookView(APIView):
    rate_class = BY_METHOD
    scopes = SCOPES

    @extend_schema(operation_id="webhooks_get", responses=WebhookSerializer)
    @in_namespace
    def get(self, request: Request, pk: uuid.UUID) -> Response:
        """Return a webhook, without its secret."""
        return Response(WebhookSerializer(find_webhook(pk)).data)

    @extend_schema(
        operation_id="webhooks_change",
        request=WebhookChangeSerializer,
        responses=WebhookSerializer,
    )
    @in_namespace
    def patch(self, request: Request, pk: uuid.UUID) -> Response:
        """Replace the submitted fields; disable or enable the webhook."""
        endpoint = find_webhook(pk)
        fields = _valid(WebhookChangeSerializer(data=request.data))
        try:
            return Response(WebhookSerializer(endpoints.change(endpoint, fields)).data)
        except FetchRefused as error:
            raise ValidationError({"url": str(error)}) from None

    @extend_schema(operation_id="webhooks_delete", responses={204: None})
    @in_namespace
    def delete(self, request: Request, pk: uuid.UUID) -> Response:
        """Delete the webhook with its deliveries."""
        endpoints.delete(find_webhook(pk))
        return Response(status=204)


class WebhookTestView(APIView):
    rate_class = BY_METHOD
    scopes = SCOPES

    @extend_schema(
        operation_id="webhooks_test", request=None, responses={202: FullWebhookDeliverySerializer}
    )
    @in_namespace
    def post(self, request: Request, pk: uuid.UUID) -> Response:
        """Send a `webhook.test` event. Its delivery shows the result."""
        try:
            delivery = endpoints.send_test(find_webhook(pk))
        except endpoints.WebhookDisabled as error:
            raise _disabled(error) from None
        return Response(FullWebhookDeliverySerializer(delivery).data, status=202)


class WebhookSecretView(APIView):
    rate_class = BY_METHOD
    scopes = SCOPES

    @extend_schema(
        operation_id="webhooks_rotate_secret",
        request=RotationSerializer,
        responses=WebhookSecretSerializer,
    )
    @in_namespace
    def post(self, request: Request, pk: uuid.UUID) -> Response:
        """Replace the secret. For the overlap, events are signed with both."""
        endpoint = find_webhook(pk)
        hours = _valid(RotationSerializer(data=request.data))["overlap_hours"]
        secret = endpoints.rotate_secret(endpoint, overlap=timedelta(hours=hours))
        return Response({"secret": secret})


class WebhookRecoveryView(APIView):
    rate_class = BY_METHOD
    scopes = SCOPES

    @extend_schema(
        operation_id="webhooks_recover",
        request=RecoverySerializer,
        responses=RecoveredSerializer,
    )
    @in_namespace
    def post(self, request: Request, pk: uuid.UUID) -> Response:
        """Send again all deliveries that failed since a time."""
        endpoint = find_webhook(pk)
        since = _valid(RecoverySerializer(data=request.data))["since"]
        try:
            return Response({"deliveries": endpoints.recover(endpoint, since)})
        except endpoints.WebhookDisabled as error:
            raise _disabled(error) from None


class WebhookDeliveryListView(NamespacedListView):
    serializer_class = WebhookDeliverySerializer
    scopes = SCOPES
    filter_names = frozenset({"state"})
    choices = {"state": WebhookDelivery.State.values}

    def get_queryset(self) -> QuerySet[WebhookDelivery]:
        endpoint = find_webhook(self.kwargs["pk"])
        deliveries = WebhookDelivery.objects.filter(endpoint=endpoint.pk).select_related("event")
        state = self.request.query_params.get("state")
        return deliveries.filter(state=state) if state else deliveries

    @extend_schema(
        operation_id="webhooks_deliveries",
        parameters=[OpenApiParameter("state", str, enum=WebhookDelivery.State.values)],
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List deliveries that were sent or are waiting, newest first."""
        return super().get(request, *args, **kwargs)


class WebhookDeliveryView(APIView):
    rate_class = BY_METHOD
    scopes = SCOPES

    @extend_schema(operation_id="webhooks_delivery", responses=FullWebhookDeliverySerializer)
    @in_namespace
    def get(self, request: Request, pk: uuid.UUID, delivery_id: uuid.UUID) -> Response:
        """Return a delivery with what is sent and the beginning of the receiver's answer."""
        delivery = find_delivery(find_webhook(pk), delivery_id)
        return Response(FullWebhookDeliverySerializer(delivery).data)


class RedeliveryView(APIView):
    rate_class = BY_METHOD
    scopes = SCOPES

    @extend_schema(
        operation_id="webhooks_redeliver",
        request=None,
        responses={202: FullWebhookDeliverySerializer},
    )
    @in_namespace
    def post(self, request: Request, pk: uuid.UUID, delivery_id: uuid.UUID) -> Response:
        """Send an event again, under the same id."""
        asked = find_delivery(find_webhook(pk), delivery_id)
        try:
            delivery = endpoints.redeliver(asked)
        except endpoints.WebhookDisabled as error:
            raise _disabled(error) from None
        return Response(FullWebhookDeliverySerializer(delivery).data, status=202)
