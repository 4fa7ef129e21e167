"""Failures outside of this service, for the dashboard: webhooks' receivers and search stores.
Inside operator()."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connections
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone

from documents.models import IndexProfile, WebhookEndpoint
from ragsite.platform.wording import plural

from .figures import Visible

SHOWN = 5  # webhooks
COUNTED = 10_000  # changes that wait for a store
MAX_LAG = timedelta(minutes=2)  # seconds; a store that works normally is behind by a few

_BEHIND = """
    SELECT profile_id, count(*), min(created_at), max(error_message) FROM (
        SELECT profile_id, created_at, error_message FROM documents_storechange
        WHERE %(visible)s::uuid[] IS NULL OR namespace_id = ANY (%(visible)s::uuid[])
        ORDER BY id LIMIT %(most)s
    ) oldest GROUP BY profile_id ORDER BY min(created_at)
"""


@dataclass(frozen=True, slots=True)
class Trouble:
    name: str
    address: str
    sentence: str
    since: datetime | None


def troubles(visible: Visible) -> list[Trouble]:
    return [*_webhooks(visible), *_stores(visible)]


def _webhooks(visible: Visible) -> list[Trouble]:
    """Return webhooks that fail or were disabled automatically, but not those disabled by hand."""
    failing = Q(failing_since__isnull=False) | Q(status=WebhookEndpoint.Status.FAILING)
    rows = WebhookEndpoint.objects.filter(failing).exclude(status=WebhookEndpoint.Status.DISABLED)
    if visible is not None:
        rows = rows.filter(namespace__in=visible)
    return [_webhook(each) for each in rows.order_by("failing_since")[:SHOWN]]


def _webhook(endpoint: WebhookEndpoint) -> Trouble:
    is_given_up = endpoint.status == WebhookEndpoint.Status.FAILING
    return Trouble(
        f"Webhook {endpoint}",
        reverse("admin:documents_webhookendpoint_change", args=[endpoint.pk]),
        "was disabled because it kept failing" if is_given_up else "fails and is tried again",
        endpoint.failing_since,
    )


def _stores(visible: Visible) -> list[Trouble]:
    parameters = {"visible": None if visible is None else list(visible), "most": COUNTED}
    with connections["operator"].cursor() as cursor:
        cursor.execute(_BEHIND, parameters)
        rows = cursor.fetchall()
    profiles = IndexProfile.objects.in_bulk([row[0] for row in rows]) if rows else {}
    latest = timezone.now() - MAX_LAG
    return [
        _store(profiles[profile], count, since, error)
        for profile, count, since, error in rows
        if profile in profiles and (error or since < latest)
    ]


def _store(profile: IndexProfile, count: int, since: datetime, error: str) -> Trouble:
    documents = plural(count, "document") if count < COUNTED else f"{COUNTED:,} documents or more"
    why = f": {error}" if error else ""
    return Trouble(
        f"Search store of {profile}",
        reverse("admin:documents_indexprofile_change", args=[profile.pk]),
        f"has {documents} to sync{why}",
        since,
    )
