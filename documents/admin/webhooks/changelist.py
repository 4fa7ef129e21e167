"""Webhooks: registered with a secret that is shown once, tested, disabled, rotated, deleted."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from documents.admin.audited import Audited
from documents.admin.confirmation import confirm_first
from documents.intake.web_addresses import FetchRefused
from documents.models import Namespace, WebhookDelivery, WebhookEndpoint
from documents.models.webhooks import EventType
from documents.webhooks import endpoints
from ragsite.database.tenancy import namespace
from ragsite.platform.wording import plural
from ragsite.web.markup import toned_badge, when

Status = WebhookEndpoint.Status
SHOWN_DELIVERIES = 10
SHOWN_ONCE = (
    'Copy the secret now, it cannot be shown again: <code id="new-key">{}</code> '
    '<button type="button" class="copy" data-copy="new-key">Copy</button>'
)
CHOICES = [(name, name) for name in EventType.values if name != EventType.TEST]  # as they are sent
WORDS = {"enabled": "enabled", "disabled": "disabled", "failing": "kept failing"}
TRYING = "trying again"  # enabled, but its receiver fails
TONES = {"enabled": "good", "disabled": "quiet", "failing": "bad"}


class WebhookForm(forms.ModelForm):
    events = forms.MultipleChoiceField(
        choices=CHOICES,
        widget=forms.CheckboxSelectMultiple,
        required=False,
        help_text="If none is selected, all events are sent.",
    )

    class Meta:
        model = WebhookEndpoint
        fields: tuple[str, ...] = ("url", "description", "events")

    def clean_url(self) -> str:
        url: str = self.cleaned_data["url"]
        try:
            endpoints.sender().check(url)
        except FetchRefused as error:
            raise forms.ValidationError(str(error)) from None
        return url


class NewWebhookForm(WebhookForm):
    class Meta(WebhookForm.Meta):
        fields = ("namespace", *WebhookForm.Meta.fields)

    def clean_namespace(self) -> Namespace:
        chosen: Namespace = self.cleaned_data["namespace"]
        if chosen.deleting_since is not None:
            raise forms.ValidationError("This namespace is being deleted.")
        if not endpoints.has_room(chosen.pk):
            raise forms.ValidationError(
                "This namespace has reached its maximum number of webhooks."
            )
        return chosen


class WebhookStatusFilter(admin.SimpleListFilter):
    """Filter by the status that the list's column shows."""

    title = "status"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(word.replace(" ", "_"), word.capitalize()) for word in (*WORDS.values(), TRYING)]

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[WebhookEndpoint]
    ) -> QuerySet[WebhookEndpoint]:
        chosen = (self.value() or "").replace("_", " ")
        if chosen == TRYING:
            return queryset.filter(status=Status.ENABLED, failing_since__isnull=False)
        if chosen == WORDS[Status.ENABLED]:
            return queryset.filter(status=Status.ENABLED, failing_since=None)
        status = next((status for status, word in WORDS.items() if word == chosen), None)
        return queryset.filter(status=status) if status else queryset


@admin.register(WebhookEndpoint)
class WebhookAdmin(Audited, admin.ModelAdmin):
    audits_additions = False  # endpoints.create does it
    list_display = ("shown", "namespace", "shown_status", "wants", "delivered", "failing")
    list_filter = (WebhookStatusFilter, "namespace")
    list_select_related = ("namespace",)
    search_fields = ("description", "=id")
    search_help_text = "Words of the description, or an exact id"
    row_noun = "webhook"
    readonly_fields = ("shown_status", "delivered", "failing", "created_at")
    actions = ("send_test", "rotate", "enable", "disable")
    change_form_template = "admin/webhooks/webhook.html"

    class Media:
        js = ("admin_kit/copy.js",)

    @admin.display(description="webhook", ordering="description")
    def shown(self, endpoint: WebhookEndpoint) -> SafeString | str:
        if not endpoint.description:
            return endpoint.host
        named = '{}<small class="quiet">{}</small>'
        return format_html(named, endpoint.description, endpoint.host)

    @admin.display(description="status", ordering="status")
    def shown_status(self, endpoint: WebhookEndpoint) -> SafeString:
        tone = TONES.get(endpoint.status, "plain")
        if endpoint.status == Status.ENABLED and endpoint.failing_since:
            return toned_badge("waiting", TRYING)
        return toned_badge(tone, WORDS[endpoint.status])

    @admin.display(description="events")
    def wants(self, endpoint: WebhookEndpoint) -> str:
        return ", ".join(endpoint.events) or "all"

    @admin.display(description="last delivered", ordering="last_delivered_at")
    def delivered(self, endpoint: WebhookEndpoint) -> SafeString | str:
        return when(endpoint.last_delivered_at) if endpoint.last_delivered_at else "never"

    @admin.display(description="failing since", ordering="failing_since")
    def failing(self, endpoint: WebhookEndpoint) -> SafeString:
        return when(endpoint.failing_since)

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> Any:
        kwargs["form"] = NewWebhookForm if obj is None else WebhookForm
        return super().get_form(request, obj, change, **kwargs)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        if obj is None:
            return NewWebhookForm.Meta.fields
        return ("namespace", *WebhookForm.Meta.fields, *self.readonly_fields)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return () if obj is None else ("namespace", *self.readonly_fields)

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        endpoint = context.get("original")
        context["may_operate"] = self.has_operate_permission(request)
        if endpoint is not None:
            own = WebhookDelivery.objects.filter(
                namespace=endpoint.namespace_id, endpoint=endpoint.pk
            )
            context["deliveries"] = own.select_related("event")[:SHOWN_DELIVERIES]
        return super().render_change_form(request, context, *args, **kwargs)

    def save_model(
        self, request: HttpRequest, obj: WebhookEndpoint, form: Any, change: bool
    ) -> None:
        fields = form.cleaned_data
        with namespace(obj.namespace_id):
            if change:
                endpoints.change(obj, {name: fields[name] for name in form.changed_data})
                return
            created, secret = endpoints.create(
                obj.namespace_id,
                fields["url"],
                description=fields["description"],
                wanted=fields["events"],
            )
        obj.pk = created.pk
        messages.warning(request, format_html(SHOWN_ONCE, secret))

    def delete_model(self, request: HttpRequest, obj: WebhookEndpoint) -> None:
        with namespace(obj.namespace_id):
            endpoints.delete(obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[WebhookEndpoint]) -> None:
        for endpoint in queryset:
            self.delete_model(request, endpoint)

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        """Write to Django's own log only: endpoints.change has written to the audit log."""
        return admin.ModelAdmin.log_change(self, request, obj, message)

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        return admin.ModelAdmin.log_deletions(self, request, queryset)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Do not list all its deliveries."""
        shown = [f"Webhook {endpoint} with its deliveries" for endpoint in objs]
        return shown, {"webhooks": len(shown)}, set(), []

    def has_operate_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("documents.change_webhookendpoint")

    @admin.action(description="Send a test", permissions=["operate"])
    def send_test(self, request: HttpRequest, queryset: QuerySet[WebhookEndpoint]) -> None:
        queued = 0
        for endpoint in queryset:
            with namespace(endpoint.namespace_id):
                try:
                    endpoints.send_test(endpoint)
                    queued += 1
                except endpoints.WebhookDisabled as error:
                    messages.error(request, str(error))
        sentence = f"{plural(queued, 'test')} queued: the deliveries say what comes of it."
        self.message_user(request, sentence)

    @admin.action(description="Change the secret", permissions=["operate"])
    @confirm_first(
        "Change the secret of {rows}?",
        noun="webhook",
        consequence="The new secret is shown once. For 24 hours events are signed with both.",
    )
    def rotate(self, request: HttpRequest, queryset: QuerySet[WebhookEndpoint]) -> None:
        for endpoint in queryset:
            with namespace(endpoint.namespace_id):
                secret = endpoints.rotate_secret(endpoint)
            sentence = "{}: copy the secret now, it cannot be shown again: <code>{}</code>"
            messages.warning(request, format_html(sentence, endpoint, secret))

    @admin.action(description="Enable", permissions=["operate"])
    def enable(self, request: HttpRequest, queryset: QuerySet[WebhookEndpoint]) -> None:
        self._switch(request, queryset, is_enabled=True)

    @admin.action(description="Disable", permissions=["operate"])
    @confirm_first(
        "Disable {rows}?",
        noun="webhook",
        consequence="Pending deliveries are abandoned, and later events are not stored for it.",
    )
    def disable(self, request: HttpRequest, queryset: QuerySet[WebhookEndpoint]) -> None:
        self._switch(request, queryset, is_enabled=False)

    def _switch(
        self, request: HttpRequest, queryset: QuerySet[WebhookEndpoint], *, is_enabled: bool
    ) -> None:
        for endpoint in queryset:
            with namespace(endpoint.namespace_id):
                endpoints.change(endpoint, {"is_enabled": is_enabled})
        done = "enabled" if is_enabled else "disabled"
        self.message_user(request, f"{plural(len(queryset), 'webhook')} {done}.")
