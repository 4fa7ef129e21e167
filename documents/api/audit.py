"""A namespace's audit log, for keys with the scope admin."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from documents.models import AuditEvent

from .views import NamespacedListView


class AuditEventSerializer(serializers.ModelSerializer):
    details = serializers.DictField(read_only=True)

    class Meta:
        model = AuditEvent
        fields = (
            "id",
            "created_at",
            "actor_kind",
            "actor",
            "action",
            "target_kind",
            "target_id",
            "target_label",
            "count",
            "details",
            "request_id",
        )
        read_only_fields = fields


class AuditListView(NamespacedListView):
    serializer_class = AuditEventSerializer
    filter_names = frozenset({"action", "actor", "target_id"})
    scopes = {"GET": "admin"}

    def get_queryset(self) -> QuerySet[AuditEvent]:
        asked = {
            name: self.request.query_params[name]
            for name in self.filter_names
            if name in self.request.query_params
        }
        return AuditEvent.objects.filter(**asked)

    @extend_schema(
        operation_id="audit_list",
        parameters=[
            OpenApiParameter("action", str, description="For example document.delete."),
            OpenApiParameter(
                "actor", str, description="The name of a user, or the prefix of a key."
            ),
            OpenApiParameter("target_id", str),
        ],
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List who did what in this namespace, newest first. Requires the scope admin."""
        return super().get(request, *args, **kwargs)
