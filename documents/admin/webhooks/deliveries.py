"""Deliveries of events: what was sent, the receiver's response, and sending it again."""

import json
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from documents.admin.readonly import ReadOnlyAdmin
from documents.models import WebhookDelivery
from documents.webhooks import endpoints
from ragsite.database.tenancy import namespace
from ragsite.platform.wording import plural
from ragsite.web.markup import NOTHING, badge, toned_badge, when

TONES = {"delivered": "good", "pending": "waiting", "failed": "bad"}


@admin.register(WebhookDelivery)
class WebhookDeliveryAdmin(ReadOnlyAdmin):
    list_display = (
        "shown_event",
        "webhook",
        "namespace",
        "shown_state",
        "answer",
        "attempts",
        "queued",
    )
    list_filter = ("state", "namespace")
    list_select_related = ("endpoint", "event", "namespace")
    list_per_page = 50
    search_fields = ("=id", "=event__id", "=endpoint__id")
    search_help_text = "Exact id of a delivery, event or webhook"
    row_noun = "delivery"
    when_empty = "A delivery is created for each event that a webhook subscribes to."
    fields = (
        "namespace",
        "endpoint",
        "shown_event",
        "shown_state",
        "queued",
        "attempts",
        "attempted_at",
        "next_attempt",
        "delivered_at",
        "took",
        "answer",
        "response_body",
        "sent",
    )
    readonly_fields = (
        "shown_event",
        "shown_state",
        "queued",
        "next_attempt",
        "took",
        "answer",
        "sent",
    )
    change_form_template = "admin/webhooks/delivery.html"
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
            return delivery.error_message or NOTHING
        return badge(
            "ok" if delivery.response_status < 300 else "failed", str(delivery.response_status)
        )

    @admin.display(description="webhook", ordering="endpoint")
    def webhook(self, delivery: WebhookDelivery) -> str:
        return str(delivery.endpoint)

    @admin.display(description="queued", ordering="created_at")
    def queued(self, delivery: WebhookDelivery) -> SafeString:
        return when(delivery.created_at)

    @admin.display(description="next attempt")
    def next_attempt(self, delivery: WebhookDelivery) -> SafeString:
        is_waiting = delivery.state == WebhookDelivery.State.PENDING
        return when(delivery.run_after if is_waiting else None)

    @admin.display(description="took")
    def took(self, delivery: WebhookDelivery) -> str:
        return NOTHING if delivery.duration_ms is None else f"{delivery.duration_ms:,.0f} ms"

    @admin.display(description="what is sent")
    def sent(self, delivery: WebhookDelivery) -> SafeString:
        body = json.dumps(json.loads(delivery.event.body), indent=2, ensure_ascii=False)
        return format_html("<pre>{}</pre>", body)

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        context["may_operate"] = self.has_operate_permission(request)
        return super().render_change_form(request, context, *args, **kwargs)

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
