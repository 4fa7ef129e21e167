"""The audit log in words: who did what to how many rows, read-only and searchable."""

import json
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode

from django.apps import apps
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from documents.models import AuditEvent, Namespace
from ragsite.web.markup import NOTHING, when

from ..readonly import ReadOnlyAdmin
from ..visible import only_visible
from .sentences import deed, heading

SAMPLE = 2000  # number of the newest events whose actions are offered
NAMESPACES = 100  # maximum number of choices
NO_NAMESPACE = "-"  # an impossible slug
APPS = ("documents", "retrieval", "evaluation", "auth")


class DeedFilter(admin.SimpleListFilter):
    """Offers recent actions, because listing all would scan the whole table."""

    title = "did what"
    parameter_name = "action"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        newest = model_admin.get_queryset(request).order_by("-created_at")
        actions = set(newest.values_list("action", flat=True)[:SAMPLE]) | {self.chosen}
        return sorted(((one, heading(one)) for one in actions - {""}), key=lambda pair: pair[1])

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(action=self.chosen) if self.chosen else queryset

    @property
    def chosen(self) -> str:
        return str(self.used_parameters.get(self.parameter_name, ""))


class NamespaceNameFilter(admin.SimpleListFilter):
    """Filter by name, because the events of a namespace outlive it."""

    title = "namespace"
    parameter_name = "namespace_slug"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        there = only_visible(request, Namespace.objects.order_by("slug"))
        slugs = list(there.values_list("slug", flat=True)[:NAMESPACES])
        chosen = self.used_parameters.get(self.parameter_name)
        gone = [chosen] if chosen and chosen not in slugs and chosen != NO_NAMESPACE else []
        return [(NO_NAMESPACE, "(none)"), *((slug, slug) for slug in [*gone, *slugs])]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        if value is None:
            return queryset
        return queryset.filter(namespace_slug="" if value == NO_NAMESPACE else value)


@admin.register(AuditEvent)
class AuditEventAdmin(ReadOnlyAdmin):
    list_display = ("at", "who", "did", "namespace_link", "address")
    list_display_links = ("did",)
    list_filter = ("actor_kind", DeedFilter, NamespaceNameFilter, "created_at")
    filter_titles = MappingProxyType({"actor_kind": "who"})
    list_per_page = 50
    search_fields = (
        "actor",
        "action",
        "=target_id",
        "target_label",
        "=request_id",
        "=address",
        "=namespace_slug",
    )
    search_help_text = "User, key, deed, name, or an exact id or address"
    date_hierarchy = "created_at"
    fields = (
        "at",
        "who",
        "did",
        "namespace_link",
        "target",
        "count",
        "shown_details",
        "address",
        "request",
    )
    readonly_fields = fields

    @admin.display(description="when", ordering="created_at")
    def at(self, event: AuditEvent) -> SafeString:
        return when(event.created_at)

    @admin.display(description="who", ordering="actor")
    def who(self, event: AuditEvent) -> SafeString:
        """Link to all events of the same actor."""
        kind = event.get_actor_kind_display()
        if not event.actor:
            return format_html("{}", kind)
        link = '<a href="{}">{}</a> <span class="quiet">{}</span>'
        return format_html(link, _listed(actor__exact=event.actor), event.actor, kind)

    @admin.display(description="did what", ordering="action")
    def did(self, event: AuditEvent) -> str:
        return deed(event.action, count=event.count, label=event.target_label)[:200]

    @admin.display(description="namespace", ordering="namespace_slug")
    def namespace_link(self, event: AuditEvent) -> SafeString | str:
        slug = event.namespace_slug
        if not slug:
            return NOTHING
        return format_html('<a href="{}">{}</a>', _listed(namespace_slug=slug), slug)

    @admin.display(description="to what")
    def target(self, event: AuditEvent) -> SafeString | str:
        """Link to the row, if the admin shows its kind; it may have been deleted."""
        shown = f"{event.target_kind} {event.target_label or event.target_id}".strip()
        page = _page_of(event)
        return format_html('<a href="{}">{}</a>', page, shown) if page else shown or NOTHING

    @admin.display(description="details")
    def shown_details(self, event: AuditEvent) -> SafeString | str:
        if not event.details:
            return NOTHING
        return format_html("<pre>{}</pre>", json.dumps(event.details, indent=2, default=str))

    @admin.display(description="request")
    def request(self, event: AuditEvent) -> SafeString | str:
        """Link to the other events of the same request."""
        if not event.request_id:
            return NOTHING
        same = _listed(request_id__exact=event.request_id)
        return format_html('<a href="{}"><code>{}</code></a>', same, event.request_id)

    def has_operate_permission(self, request: HttpRequest) -> bool:
        return False  # events never change

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        return {}


def _listed(**filters: str) -> str:
    return f"{reverse('admin:documents_auditevent_changelist')}?{urlencode(filters)}"


def _page_of(event: AuditEvent) -> str:
    for label in APPS:
        if event.target_id and event.target_kind in apps.all_models[label]:
            try:
                name = f"admin:{label}_{event.target_kind}_change"
                return reverse(name, args=[event.target_id])
            except NoReverseMatch:
                return ""
    return ""
