"""The audit log, read-only and searchable."""

import json
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from documents.models import AuditEvent

from ..readonly import ReadOnlyAdmin


@admin.register(AuditEvent)
class AuditEventAdmin(ReadOnlyAdmin):
    list_display = (
        "created_at",
        "actor_kind",
        "actor",
        "action",
        "count",
        "target",
        "namespace_slug",
        "address",
    )
    list_filter = ("actor_kind", "action", "namespace_slug")
    search_fields = (
        "actor",
        "action",
        "=target_id",
        "target_label",
        "=request_id",
        "=address",
        "=namespace_slug",
    )
    date_hierarchy = "created_at"
    show_full_result_count = False
    fields = (
        "created_at",
        "actor_kind",
        "actor",
        "action",
        "count",
        "target_kind",
        "target_id",
        "target_label",
        "namespace_slug",
        "namespace_id",
        "shown_details",
        "request_id",
        "address",
    )
    readonly_fields = fields

    @admin.display(description="target")
    def target(self, event: AuditEvent) -> str:
        return f"{event.target_kind} {event.target_label or event.target_id}".strip()[:100]

    @admin.display(description="details")
    def shown_details(self, event: AuditEvent) -> SafeString:
        return format_html("<pre>{}</pre>", json.dumps(event.details, indent=2, default=str))

    def has_operate_permission(self, request: HttpRequest) -> bool:
        return False  # events never change

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        return {}
