"""From an event to a receiver: signed, retried, given up, never lost with a worker."""

import base64
import hashlib
import hmac
import json
import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections, transaction
from django.db.models import F

from documents.models import AuditEvent, Namespace, WebhookDelivery, WebhookEndpoint, WebhookEvent
from documents.models.webhooks import EventType
from documents.webhooks import delivering, endpoints, events, signing
from documents.webhooks.sending import Sender
from ragsite.database.tenancy import namespace, operator

from ...client import Api
from ...threads import at_once
from .conftest import Receiver

pytestmark = pytest.mark.usefixtures("db")

State, Status = WebhookDelivery.State, WebhookEndpoint.Status


def register(tenant: Namespace, receiver: Receiver, *wanted: str) -> tuple[WebhookEndpoint, str]:
    with namespace(tenant.pk):
        return endpoints.create(tenant.pk, receiver.url, wanted=wanted)


def tell(tenant: Namespace, *, times: int = 1) -> None:
    with namespace(tenant.pk):
        for _ in range(times):
            events.emit(EventType.REINDEX_FINISHED, dict)


def deliveries(tenant: Namespace) -> list[WebhookDelivery]:
    with namespace(tenant.pk):
        return list(WebhookDelivery.objects.order_by("created_at", "pk"))


def endpoint_of(tenant: Namespace) -> WebhookEndpoint:
    with namespace(tenant.pk):
        return WebhookEndpoint.objects.get()


def time_passes(by: timedelta = timedelta(days=2)) -> None:
    with operator():
        moved = {"run_after": F("run_after") - by}
        WebhookDelivery.objects.update(**moved, lease_until=F("lease_until") - by)
        WebhookEndpoint.objects.update(
            paused_until=F("paused_until") - by, failing_since=F("failing_since") - by
        )


def test_the_signature_is_that_of_the_published_example():
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    body = b'{"test": 2432232314}'
    signed = signing.signature("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body, secret)
    assert signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_the_signature_is_that_of_the_official_library():
    """Made by `Webhook(secret).sign(…)` of the package standardwebhooks 1.1.0, and not ASCII."""
    secret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
    body = (
        '{"type":"document.ready","timestamp":"2026-11-18T09:30:00Z",'
        '"data":{"namespace":"acme","title":"Prüfbericht – Öfen"}}'
    ).encode()
    signed = signing.signature("evt_01a1eddf95bf7e0e8452d45a06697610", 1794994200, body, secret)
    assert signed == "v1,5o9ybVbOslTkCfc+J89l8om0vDUginArE/XEwZGs/wI="


def test_a_document_that_is_ready_is_told_with_a_signature(
    tenant: Namespace, receiver: Receiver, api: Api, work: Callable[[], int]
):
    _, secret = register(tenant, receiver, "document.ready")
    uploaded = api.upload(("harbour.md", "# Harbour\n\nTwelve lights.")).body["results"][0]
    work()
    assert delivering.work() == 1
    (told,) = receiver.received
    assert (told.path, told.headers["content-type"]) == ("/hook?token=s3cret", "application/json")
    message = json.loads(told.body)
    assert message["type"] == "document.ready"
    assert message["data"] == {
        "namespace": "tenant",
        "document_id": uploaded["document_id"],
        "source_uri": "upload:harbour.md",
        "title": "Harbour",
        "document_version": 1,
        "chunks_count": 1,
        "tokens_count": message["data"]["tokens_count"],
    }
    signed = f"{told.headers['webhook-id']}.{told.headers['webhook-timestamp']}.".encode()
    key = base64.b64decode(secret.removeprefix("whsec_"))
    expected = base64.b64encode(hmac.new(key, signed + told.body, hashlib.sha256).digest())
    assert told.headers["webhook-signature"] == f"v1,{expected.decode()}"
    (delivery,) = deliveries(tenant)
    assert (delivery.state, delivery.attempts) == (State.DELIVERED, 1)
    assert (delivery.response_status, delivery.response_body) == (200, "thanks")
    assert endpoint_of(tenant).last_delivered_at is not None


def test_a_document_that_fails_is_told_with_its_error(
    tenant: Namespace, receiver: Receiver, api: Api, work: Callable[[], int]
):
    register(tenant, receiver)
    api.upload(("broken.pdf", b"%PDF-1.7\nnothing else"))
    work()
    delivering.work()
    message = json.loads(receiver.received[0].body)
    assert message["type"] == "document.failed"
    assert message["data"]["source_uri"] == "upload:broken.pdf"
    assert message["data"]["error"]["code"] == "parse_error"


def test_what_is_rolled_back_is_not_told_and_what_nobody_wants_is_not_kept(
    tenant: Namespace, other_tenant: Namespace, receiver: Receiver
):
    register(tenant, receiver, "document.ready")
    tell(tenant)
    tell(other_tenant)
    with namespace(tenant.pk):
        events.emit(EventType.DOCUMENT_READY, dict)
        transaction.set_rollback(True)
    with operator():
        assert not WebhookEvent.objects.exists()
    assert delivering.work() == 0


def test_a_failure_is_tried_again_later_under_the_same_id(tenant: Namespace, receiver: Receiver):
    register(tenant, receiver)
    receiver.respond(500, b"x" * 5000)
    tell(tenant)
    assert delivering.work() == 1
    (delivery,) = deliveries(tenant)
    assert (delivery.state, delivery.error_code) == (State.PENDING, "status_500")
    assert len(delivery.response_body) == 1000
    assert delivering.work() == 0  # not yet
    time_passes()
    assert delivering.work() == 1
    first, second = receiver.received
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert first.body == second.body
    assert deliveries(tenant)[0].state == State.DELIVERED
    assert endpoint_of(tenant).failures == 0


def test_after_ten_attempts_over_days_it_is_given_up_and_can_be_sent_again(
    tenant: Namespace, receiver: Receiver, settings: Any
):
    settings.WEBHOOKS = {**settings.WEBHOOKS, "disable_days": 100}
    register(tenant, receiver)
    tell(tenant)
    waits = []
    while deliveries(tenant)[0].state == State.PENDING:
        receiver.respond(503)
        assert delivering.work() == 1
        (delivery,) = deliveries(tenant)
        assert delivery.attempted_at is not None
        waits.append((delivery.run_after - delivery.attempted_at).total_seconds())
        time_passes()
    assert len(waits) == len(delivering.DELAYS) + 1 == 10
    assert all(wait >= delay * 0.9 for wait, delay in zip(waits, delivering.DELAYS, strict=False))
    assert sum(delivering.DELAYS) > 3 * 24 * 3600 * 0.9
    with namespace(tenant.pk):
        failed = WebhookDelivery.objects.select_related("endpoint").get()
        assert failed.state == State.FAILED
        endpoints.redeliver(failed)
    assert delivering.work() == 1
    assert deliveries(tenant)[0].state == State.DELIVERED


def test_the_receiver_says_when_to_try_again(tenant: Namespace, receiver: Receiver):
    register(tenant, receiver)
    receiver.respond(429, Retry_After="7000")
    tell(tenant)
    delivering.work()
    (delivery,) = deliveries(tenant)
    assert delivery.attempted_at is not None
    assert (delivery.run_after - delivery.attempted_at).total_seconds() > 6900


def test_a_receiver_that_hangs_or_redirects_is_a_failure_and_costs_one_timeout(
    tenant: Namespace, other_tenant: Namespace, receiver: Receiver
):
    slow = Receiver(url=receiver.url)
    register(tenant, slow)
    tell(tenant, times=20)
    receiver.delay = 3
    delivering.work()
    assert len(receiver.received) == 4  # the rest waits for the endpoint's pause
    assert endpoint_of(tenant).paused_until is not None
    codes = {one.error_code for one in deliveries(tenant) if one.attempts}
    assert codes == {"timeout"}
    receiver.delay = 0
    receiver.respond(302, Location="http://169.254.169.254/")
    register(other_tenant, receiver)
    tell(other_tenant)
    delivering.work()
    assert deliveries(other_tenant)[0].error_code == "status_302"


def test_410_disables_at_once_and_long_failure_later(
    tenant: Namespace, receiver: Receiver, settings: Any
):
    register(tenant, receiver)
    receiver.respond(410)
    tell(tenant, times=1)
    delivering.work()
    assert endpoint_of(tenant).status == Status.FAILING
    assert deliveries(tenant)[0].error_code == "webhook_disabled"
    tell(tenant)
    assert len(deliveries(tenant)) == 1  # nothing is kept for it
    with namespace(tenant.pk):
        endpoints.change(WebhookEndpoint.objects.get(), {"is_enabled": True})
    tell(tenant)
    receiver.respond(500)
    delivering.work()
    assert endpoint_of(tenant).status == Status.ENABLED
    time_passes(timedelta(days=6))
    receiver.respond(500)
    delivering.work()
    assert endpoint_of(tenant).status == Status.FAILING
    with operator():
        disabled = AuditEvent.objects.filter(action="webhook.disable").order_by("created_at")
        assert [event.details["reason"] for event in disabled] == ["gone", "failing"]


def test_a_worker_that_dies_while_sending_leaves_it_to_the_next(
    tenant: Namespace, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
):
    register(tenant, receiver)
    tell(tenant)

    def die(*args: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(delivering, "_record", die)
        with pytest.raises(KeyboardInterrupt):
            delivering.work()
    assert delivering.work() == 0  # the lease holds
    time_passes(timedelta(minutes=5))
    assert delivering.work() == 1
    ids = [told.headers["webhook-id"] for told in receiver.received]
    assert len(ids) == 2
    assert len(set(ids)) == 1  # by which the receiver knows it


def test_two_workers_send_each_event_once(tenant: Namespace, receiver: Receiver):
    register(tenant, receiver)
    tell(tenant, times=12)
    at_once(2, lambda _: delivering.work())
    assert len({told.headers["webhook-id"] for told in receiver.received}) == 12
    assert len(receiver.received) == 12


def test_both_secrets_sign_while_one_is_replaced(tenant: Namespace, receiver: Receiver):
    _, old = register(tenant, receiver)
    with namespace(tenant.pk):
        new = endpoints.rotate_secret(WebhookEndpoint.objects.get())
    tell(tenant)
    delivering.work()
    told = receiver.received[0]
    identity = told.headers["webhook-id"], int(told.headers["webhook-timestamp"]), told.body
    expected = [signing.signature(*identity, secret) for secret in (new, old)]
    assert told.headers["webhook-signature"].split(" ") == expected
    with namespace(tenant.pk):
        endpoints.rotate_secret(WebhookEndpoint.objects.get(), overlap=timedelta(0))
    tell(tenant)
    delivering.work()
    assert len(receiver.received[1].headers["webhook-signature"].split(" ")) == 1


def test_a_secret_sealed_with_another_key_says_so(
    tenant: Namespace, receiver: Receiver, settings: Any
):
    _, secret = register(tenant, receiver)
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT secret FROM documents_webhookendpoint")
        assert secret not in cursor.fetchone()[0]
    settings.SECRET_KEY = "another"
    tell(tenant)
    delivering.work()
    assert receiver.received == []
    assert deliveries(tenant)[0].error_code == "secret_unreadable"


def test_private_addresses_are_refused_when_sending_as_when_fetching(
    tenant: Namespace, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
):
    register(tenant, receiver)
    monkeypatch.setattr(endpoints, "sender", lambda: Sender(ports=range(65536), allow_http=True))
    tell(tenant)
    delivering.work()
    assert receiver.received == []
    assert deliveries(tenant)[0].error_code == "url_refused"


def test_a_deleted_documents_events_go_with_it(
    tenant: Namespace, receiver: Receiver, api: Api, work: Callable[[], int]
):
    register(tenant, receiver)
    uploaded = api.upload(("a.md", "# A\n\nText.")).body["results"][0]
    work()
    assert len(deliveries(tenant)) == 1
    api.delete(f"documents/{uploaded['document_id']}")
    with operator():
        assert not WebhookEvent.objects.exists()
        assert not WebhookDelivery.objects.exists()


def test_old_deliveries_are_pruned(tenant: Namespace, receiver: Receiver):
    register(tenant, receiver)
    tell(tenant, times=2)
    delivering.work()
    with operator():
        oldest = WebhookEvent.objects.order_by("created_at").first()
        assert oldest is not None
        WebhookEvent.objects.filter(pk=oldest.pk).update(
            created_at=oldest.created_at - timedelta(days=31)
        )
    assert delivering.prune(tenant.pk) == 1
    assert len(deliveries(tenant)) == 1


def test_neither_logs_nor_the_audit_log_hold_a_secret(
    tenant: Namespace, receiver: Receiver, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG)
    _, secret = register(tenant, receiver)
    receiver.respond(500)
    tell(tenant)
    delivering.work()
    shown = [str(vars(record)) for record in caplog.records]
    with operator():
        shown += [str(vars(event)) for event in AuditEvent.objects.all()]
    assert any("webhook.sent" in line for line in shown)
    assert not [line for line in shown if secret in line or "s3cret" in line]
