"""Register, change and remove endpoints; queue tests and repeated deliveries.

Every function runs inside namespace() and records what it does in the audit log. Of an address only
the host is recorded, because its path and query may contain a token of the receiver.
"""

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from documents.accounts import audit
from documents.models import Namespace, WebhookDelivery, WebhookEndpoint
from documents.models.webhooks import EventType
from ragsite.access.addresses import AddressPolicy
from ragsite.platform.sealing import seal, unseal

from . import events, signing
from .sending import Sender

PURPOSE = "webhook"
DEFAULT_OVERLAP = timedelta(hours=24)  # for which the old secret also signs
State, Status = WebhookDelivery.State, WebhookEndpoint.Status


class TooManyEndpoints(ValueError):
    """The namespace has reached its maximum number of webhooks."""


class WebhookDisabled(ValueError):
    """Nothing is sent to it until it is enabled."""


@cache
def sender() -> Sender:
    options = settings.WEBHOOKS
    networks = tuple(options["private_networks"])
    return Sender(
        seconds=options["seconds"],
        ports=options["ports"],
        allow_http=options["allow_http"],
        allow_local_names=bool(networks),
        policy=AddressPolicy(allowed=networks),
    )


def create(
    namespace_id: uuid.UUID,
    url: str,
    *,
    description: str = "",
    wanted: Sequence[str] = (),
) -> tuple[WebhookEndpoint, str]:
    """Return the endpoint with its secret, which is not shown again. Raises FetchRefused for an
    address that must not be sent to, and TooManyEndpoints."""
    sender().check(url)
    secret = signing.new_secret()
    with transaction.atomic():
        # Locked, so that two simultaneous requests cannot both take the last place.
        Namespace.objects.select_for_update().only("pk").get(pk=namespace_id)
        if not has_room(namespace_id):
            allowed: int = settings.WEBHOOKS["max_endpoints"]
            raise TooManyEndpoints(
                f"A namespace may have {allowed} webhooks: delete one that is not used."
            )
        endpoint = WebhookEndpoint.objects.create(
            namespace_id=namespace_id,
            url=url,
            description=description,
            events=sorted(set(wanted)),
            secret=seal(secret, purpose=PURPOSE),
        )
        audit.record("webhook.create", target=target(endpoint), details={"events": endpoint.events})
    endpoint.refresh_from_db()
    return endpoint, secret


def has_room(namespace_id: uuid.UUID) -> bool:
    allowed: int = settings.WEBHOOKS["max_endpoints"]
    return WebhookEndpoint.objects.filter(namespace=namespace_id).count() < allowed


def change(endpoint: WebhookEndpoint, changes: Mapping[str, Any]) -> WebhookEndpoint:
    """Change url, description, events or is_enabled. Raises FetchRefused."""
    fields = {name: changes[name] for name in ("url", "description", "events") if name in changes}
    if "url" in fields:
        sender().check(fields["url"])
    if "events" in fields:
        fields["events"] = sorted(set(fields["events"]))
    is_enabled = changes.get("is_enabled")
    if is_enabled is not None and is_enabled != (endpoint.status == Status.ENABLED):
        fields["status"] = Status.ENABLED if is_enabled else Status.DISABLED
        fields |= {"failures": 0, "failing_since": None, "paused_until": None}
    if not fields:
        return endpoint
    with transaction.atomic():
        WebhookEndpoint.objects.filter(pk=endpoint.pk).update(**fields)
        if fields.get("status") == Status.DISABLED:
            abandon_pending(endpoint.pk)
        endpoint.refresh_from_db()
        named = sorted(name for name in changes if name in (*fields, "is_enabled"))
        audit.record("webhook.change", target=target(endpoint), details={"fields": named})
    return endpoint


def rotate_secret(endpoint: WebhookEndpoint, *, overlap: timedelta = DEFAULT_OVERLAP) -> str:
    """Replace the secret; during the overlap both secrets sign, so that no event is rejected."""
    secret = signing.new_secret()
    with transaction.atomic():
        WebhookEndpoint.objects.filter(pk=endpoint.pk).update(
            previous_secret=endpoint.secret if overlap else "",
            previous_secret_until=timezone.now() + overlap if overlap else None,
            secret=seal(secret, purpose=PURPOSE),
        )
        audit.record("webhook.rotate", target=target(endpoint))
    return secret


def delete(endpoint: WebhookEndpoint) -> None:
    """Delete the endpoint with its deliveries."""
    with transaction.atomic():
        audit.record("webhook.delete", target=target(endpoint))
        WebhookEndpoint.objects.filter(pk=endpoint.pk).delete()


def send_test(endpoint: WebhookEndpoint) -> WebhookDelivery:
    """Queue a test event, whatever events the endpoint selects. Raises WebhookDisabled."""
    _require_enabled(endpoint)
    with transaction.atomic():
        data = {"webhook_id": str(endpoint.pk)}
        (delivery,) = events.record(EventType.TEST, data, [endpoint.pk])
        WebhookEndpoint.objects.filter(pk=endpoint.pk).update(paused_until=None)
        audit.record("webhook.test", target=target(endpoint))
    return WebhookDelivery.objects.select_related("event").get(pk=delivery.pk)


def redeliver(delivery: WebhookDelivery) -> WebhookDelivery:
    """Queue a delivery again, whether or not it was accepted, with a fresh set of attempts. Raises
    WebhookDisabled."""
    _require_enabled(delivery.endpoint)
    with transaction.atomic():
        _requeue([delivery.pk])
        audit.record("webhook.redeliver", target=target(delivery.endpoint))
    return WebhookDelivery.objects.select_related("event").get(pk=delivery.pk)


def recover(endpoint: WebhookEndpoint, since: datetime) -> int:
    """Queue a delivery again with a fresh set of attempts, whether or not it was accepted. Raises
    WebhookDisabled."""
    _require_enabled(endpoint)
    with transaction.atomic():
        failed = WebhookDelivery.objects.filter(
            endpoint=endpoint.pk, state=State.FAILED, created_at__gte=since
        )
        count = _requeue(list(failed.values_list("pk", flat=True)))
        audit.record("webhook.redeliver", target=target(endpoint), count=count)
    return count


def _require_enabled(endpoint: WebhookEndpoint) -> None:
    if endpoint.status != Status.ENABLED:
        raise WebhookDisabled(f"The webhook {endpoint} is disabled: enable it first.")


def _requeue(delivery_ids: Sequence[uuid.UUID]) -> int:
    waiting = WebhookDelivery.objects.filter(pk__in=delivery_ids)
    count = waiting.exclude(state=State.PENDING).update(
        state=State.PENDING,
        retries=0,
        run_after=Now(),
        lease_until=None,
        lease_token=None,
        error_code="",
        error_message="",
    )
    events.wake_workers()
    return count


def abandon_pending(endpoint_id: uuid.UUID) -> int:
    """End the pending deliveries of an endpoint that is disabled; return how many."""
    pending = WebhookDelivery.objects.filter(endpoint=endpoint_id, state=State.PENDING)
    return pending.update(
        state=State.FAILED,
        lease_until=None,
        lease_token=None,
        error_code="webhook_disabled",
        error_message="The webhook was disabled before this was accepted.",
    )


def signing_secrets(endpoint: WebhookEndpoint) -> list[str]:
    """Return the secrets that sign now. Raises SealBroken after a change of SECRET_KEY."""
    sealed = [endpoint.secret]
    until = endpoint.previous_secret_until
    if endpoint.previous_secret and until is not None and until > timezone.now():
        sealed.append(endpoint.previous_secret)
    return [unseal(one, purpose=PURPOSE) for one in sealed]


def target(endpoint: WebhookEndpoint) -> audit.Target:
    return audit.Target("webhook", str(endpoint.pk), str(endpoint))
