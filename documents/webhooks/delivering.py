"""Send due deliveries: claimed in small batches, sent at the same time, recorded one by one.

Delivery is at least once: if a worker dies between the receiver's response and our record, the
event is sent again.
"""

import logging
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from random import uniform
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone

from documents.accounts import audit
from documents.jobs import heartbeat
from documents.jobs.claims import Claim, LeaseLost
from documents.models import WebhookDelivery, WebhookEndpoint
from ragsite.database.tenancy import namespace
from ragsite.platform import metrics
from ragsite.platform.sealing import SealBroken

from . import endpoints, events, signing
from .sending import SendOutcome

logger = logging.getLogger(__name__)

State, Status = WebhookDelivery.State, WebhookEndpoint.Status
AT_ONCE = 16  # in the whole installation
SLICE_SECONDS = 5.0  # per task; then other work gets its turn
# Seconds before the second, third, … attempt: three days in all, as Standard Webhooks advises.
DELAYS = (5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400)
MAX_PAUSE = 600  # seconds for which nothing is sent to a failing endpoint
UNREADABLE = SendOutcome(
    error_code="secret_unreadable",
    error_message="The secret was sealed with another SECRET_KEY. Rotate the webhook's secret.",
)


class DeliveryClaim(Claim):
    """The right to send one delivery."""

    __slots__ = ()
    model = WebhookDelivery
    open_states = (State.PENDING,)

    @classmethod
    def lease_length(cls) -> timedelta:
        return timedelta(seconds=30 + 2 * settings.WEBHOOKS["seconds"])


@dataclass(frozen=True, slots=True)
class OutgoingEvent:
    """A claimed delivery, with everything needed to send it."""

    claim: DeliveryClaim
    endpoint_id: uuid.UUID
    url: str
    event_id: uuid.UUID
    type: str
    body: bytes
    secrets: tuple[str, ...]  # empty if they cannot be decrypted


def work(seconds: float = SLICE_SECONDS) -> int:
    """Send due deliveries for a while; return how many were sent. Wakes a worker for the rest."""
    until, sent = time.monotonic() + seconds, 0
    while batch := _claim_due():
        heartbeat.beat(heartbeat.group())  # slow receivers do not make a stuck worker
        with ThreadPoolExecutor(len(batch)) as pool:
            outcomes = list(pool.map(_send, batch))
        for message, outcome in zip(batch, outcomes, strict=True):
            with suppress(LeaseLost, WebhookEndpoint.DoesNotExist):  # disabled or deleted meanwhile
                _record(message, outcome)
        sent += len(batch)
        if time.monotonic() > until:
            events.wake_workers()
            break
    return sent


def wake_workers() -> None:
    """Wake a worker if something is due: a retry, or a wake-up that was lost."""
    if _due():
        events.wake_workers()


def prune(namespace_id: uuid.UUID) -> int:
    """Delete events older than WEBHOOK_DAYS with their deliveries; return how many rows."""
    with namespace(namespace_id), connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM documents_webhookevent WHERE namespace_id = %s "
            "AND created_at < now() - make_interval(days => %s)",
            [namespace_id, settings.WEBHOOKS["days"]],
        )
        return int(cursor.rowcount)


def _due() -> list[tuple[uuid.UUID, uuid.UUID]]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT delivery_id, namespace_id FROM ragsite.webhooks_due(%s)", [AT_ONCE])
        return cursor.fetchall()


def _claim_due() -> list[OutgoingEvent]:
    claimed = (_claim(delivery_id, namespace_id) for delivery_id, namespace_id in _due())
    return [message for message in claimed if message is not None]


def _claim(delivery_id: uuid.UUID, namespace_id: uuid.UUID) -> OutgoingEvent | None:
    with namespace(namespace_id):
        rows = WebhookDelivery.objects.filter(pk=delivery_id, state=State.PENDING)
        # Counted before it is sent, as with jobs.
        claim = DeliveryClaim.take(rows, attempts=F("attempts") + 1, attempted_at=Now())
        if claim is None:
            return None  # another worker was faster
        both = WebhookDelivery.objects.select_related("endpoint", "event")
        delivery = both.get(pk=delivery_id)
    try:
        secrets = tuple(endpoints.signing_secrets(delivery.endpoint))
    except SealBroken:
        secrets = ()
    event = delivery.event
    return OutgoingEvent(
        claim,
        delivery.endpoint_id,
        delivery.endpoint.url,
        event.pk,
        event.type,
        event.body.encode(),
        secrets,
    )


def _send(message: OutgoingEvent) -> SendOutcome:
    """Runs in a thread of its own, without the database."""
    if not message.secrets:
        return UNREADABLE
    event_id, now = f"evt_{message.event_id.hex}", int(time.time())
    headers = signing.headers_for(event_id, now, message.body, message.secrets)
    return endpoints.sender().post(message.url, message.body, headers)


def _record(message: OutgoingEvent, outcome: SendOutcome) -> None:
    with namespace(message.claim.namespace_id):
        fields: dict[str, Any] = {
            "response_status": outcome.status,
            "response_body": outcome.body,
            "error_code": outcome.error_code,
            "error_message": outcome.error_message,
            "duration_ms": outcome.duration_ms,
        }
        endpoint = WebhookEndpoint.objects.select_for_update().get(pk=message.endpoint_id)
        if outcome.is_accepted:
            message.claim.release(state=State.DELIVERED, delivered_at=Now(), **fields)
            result = "delivered"
            _note_success(endpoint)
        else:
            fields["error_code"] = outcome.error_code or f"status_{outcome.status}"
            result = _put_off(message.claim, outcome, fields)
            _note_failure(endpoint, outcome)
    metrics.WEBHOOK_DELIVERIES.labels(result).inc()
    metrics.WEBHOOK_SECONDS.observe(outcome.duration_ms / 1000)
    logger.info(
        "webhook.sent",
        extra={
            "webhook_id": str(message.endpoint_id),
            "event_id": str(message.event_id),
            "type": message.type,
            "result": result,
            "status": outcome.status,
            "code": fields["error_code"],
            "ms": outcome.duration_ms,
        },
    )


def _put_off(claim: DeliveryClaim, outcome: SendOutcome, fields: dict[str, Any]) -> str:
    """Try again later, or give up after the last attempt."""
    retries = claim.held().values_list("retries", flat=True).first()
    if retries is None:
        raise LeaseLost(claim.job_id)
    if retries >= len(DELAYS):
        claim.release(state=State.FAILED, **fields)
        return "failed"
    # Randomised, so that deliveries that failed together are not repeated together.
    delay = max(DELAYS[retries] * uniform(0.9, 1.2), outcome.retry_after)  # noqa: S311
    claim.release(retries=F("retries") + 1, run_after=Now() + timedelta(seconds=delay), **fields)
    return "retry"


def _note_success(endpoint: WebhookEndpoint) -> None:
    WebhookEndpoint.objects.filter(pk=endpoint.pk).update(
        failures=0, failing_since=None, paused_until=None, last_delivered_at=Now()
    )


def _note_failure(endpoint: WebhookEndpoint, outcome: SendOutcome) -> None:
    """Pause the endpoint; disable it if it returned 410 or has failed for WEBHOOK_DISABLE_DAYS."""
    since = endpoint.failing_since or timezone.now()
    patience = timedelta(days=settings.WEBHOOKS["disable_days"])
    pause = min(MAX_PAUSE, 2 ** min(endpoint.failures, 10))
    fields: dict[str, Any] = {"failures": endpoint.failures + 1, "failing_since": since}
    fields["paused_until"] = Now() + timedelta(seconds=pause)
    is_hopeless = outcome.is_gone or timezone.now() - since >= patience
    if is_hopeless and endpoint.status == Status.ENABLED:
        fields["status"] = Status.FAILING
    WebhookEndpoint.objects.filter(pk=endpoint.pk).update(**fields)
    if fields.get("status"):
        abandoned = endpoints.abandon_pending(endpoint.pk)
        reason = "gone" if outcome.is_gone else "failing"
        details = {"reason": reason, "deliveries": abandoned}
        audit.record("webhook.disable", target=endpoints.target(endpoint), details=details)
        logger.warning("webhook.disabled", extra={"webhook_id": str(endpoint.pk)})
