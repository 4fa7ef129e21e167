"""The audit log in words: who did what to how many, read-only and searchable."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

from django.apps import apps
from django.contrib import admin
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from documents.models import AuditEvent
from ragsite.web.markup import NOTHING, when

from ..documents.paging import BoundedPaginator
from ..readonly import ReadOnlyAdmin
from .sentences import deed

APPS = ("documents", "retrieval", "evaluation", "auth")


class NamespaceNameFilter(admin.AllValuesFieldListFilter):
    """Events of the whole installation have no namespace, and a link needs a name."""

    def choices(self, changelist: Any) -> Iterator[Any]:
        for choice in super().choices(changelist):
            yield {**choice, "display": choice["display"] or "(none)"}


@admin.register(AuditEvent)
class AuditEventAdmin(ReadOnlyAdmin):
    list_display = ("at", "who", "did", "namespace_link", "address")
    list_display_links = ("did",)
    list_filter = ("actor_kind", "action", ("namespace_slug", NamespaceNameFilter), "created_at")
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
    search_help_text = "User, key, action, name of what it was done to, or an exact id or address."
    date_hierarchy = "created_at"
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER  # it would count the whole table
    paginator = BoundedPaginator
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
        """Leads to everything that they did."""
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
        """A link to the row, if it is one that the admin shows; it may be gone by now."""
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
        """Leads to what else the same request did."""
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
