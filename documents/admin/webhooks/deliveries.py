"""Deliveries of events: what was sent, what the receiver said, and sending it again."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from documents.admin.readonly import ReadOnlyAdmin
from documents.models import WebhookDelivery
from documents.webhooks import endpoints
from ragsite.database.tenancy import namespace
from ragsite.platform.wording import plural
from ragsite.web.markup import badge, toned_badge

TONES = {"delivered": "good", "pending": "waiting", "failed": "bad"}


@admin.register(WebhookDelivery)
class WebhookDeliveryAdmin(ReadOnlyAdmin):
    list_display = (
        "shown_event",
        "endpoint",
        "namespace",
        "shown_state",
        "answer",
        "attempts",
        "attempted_at",
        "created_at",
    )
    list_filter = ("state", "namespace")
    list_select_related = ("endpoint", "event", "namespace")
    list_per_page = 50
    search_fields = ("=id", "=event__id", "=endpoint__id")
    search_help_text = "Exact id of a delivery, event or webhook"
    row_noun = "delivery"
    when_empty = "Each event that a webhook wants makes one."
    fields = (
        "namespace",
        "endpoint",
        "shown_event",
        "shown_state",
        "attempts",
        "attempted_at",
        "run_after",
        "delivered_at",
        "duration_ms",
        "response_status",
        "response_body",
        "error_code",
        "error_message",
        "sent",
        "created_at",
    )
    actions = ("redeliver",)

    @admin.display(description="event")
    def shown_event(self, delivery: WebhookDelivery) -> str:
        return delivery.event.type

    @admin.display(description="state", ordering="state")
    def shown_state(self, delivery: WebhookDelivery) -> SafeString:
        return toned_badge(TONES[delivery.state], delivery.state)

    @admin.display(description="answer")
    def answer(self, delivery: WebhookDelivery) -> SafeString | str:
        if delivery.response_status is None:
            return delivery.error_message
        return badge(
            "ok" if delivery.response_status < 300 else "failed", str(delivery.response_status)
        )

    @admin.display(description="what is sent")
    def sent(self, delivery: WebhookDelivery) -> str:
        return delivery.event.body

    def lookup_allowed(self, lookup: str, value: Any, request: Any = None) -> bool:
        return lookup == "endpoint__id__exact" or super().lookup_allowed(lookup, value, request)

    @admin.action(description="Send again", permissions=["operate"])
    def redeliver(self, request: HttpRequest, queryset: QuerySet[WebhookDelivery]) -> None:
        queued = 0
        for delivery in queryset.select_related("endpoint"):
            with namespace(delivery.namespace_id):
                try:
                    endpoints.redeliver(delivery)
                    queued += 1
                except endpoints.WebhookDisabled as error:
                    messages.error(request, str(error))
        self.message_user(request, f"{plural(queued, 'delivery')} queued.")
