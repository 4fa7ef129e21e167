"""Webhooks over the API, from the command line and in the admin; and the receiver of the guide."""

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from documents.models import AuditEvent, Namespace, WebhookDelivery, WebhookEndpoint
from documents.webhooks import delivering, endpoints
from ragsite.database.tenancy import namespace, operator

from ...client import Api
from ...project.service import ROOT
from .conftest import SENDER, Receiver

pytestmark = pytest.mark.usefixtures("db")


@pytest.fixture
def admin_api(api_of: Callable[..., Api], tenant: Namespace) -> Api:
    return api_of(tenant, ("admin",))


def test_the_life_of_a_webhook_over_the_api(admin_api: Api, receiver: Receiver):
    asked = {"url": receiver.url, "events": ["document.ready"], "description": "CRM"}
    made = admin_api.post("webhooks", asked)
    assert made.status == 201
    assert made.body["secret"].startswith("whsec_")
    path = f"webhooks/{made.body['id']}"
    assert admin_api.get(path).body["status"] == "enabled"
    assert "secret" not in admin_api.get(path).body
    test = admin_api.post(f"{path}/test")
    assert (test.status, test.body["state"]) == (202, "pending")
    delivering.work()
    (listed,) = admin_api.get(f"{path}/deliveries?state=delivered").body["results"]
    assert (listed["type"], listed["response_status"], listed["attempts"]) == (
        "webhook.test",
        200,
        1,
    )
    shown = admin_api.get(f"{path}/deliveries/{listed['id']}").body
    assert shown["payload"]["data"]["webhook_id"] == made.body["id"]
    assert shown["response_body"] == "thanks"
    again = admin_api.post(f"{path}/deliveries/{listed['id']}/redeliver")
    assert (again.status, again.body["state"]) == (202, "pending")
    delivering.work()
    ids = {told.headers["webhook-id"] for told in receiver.received}
    assert (len(receiver.received), len(ids)) == (2, 1)
    changed = admin_api.patch(path, {"events": [], "is_enabled": False})
    assert (changed.body["events"], changed.body["status"]) == ([], "disabled")
    for refused in (f"{path}/test", f"{path}/deliveries/{listed['id']}/redeliver"):
        assert admin_api.post(refused).code == "webhook_disabled"
    assert admin_api.patch(path, {"is_enabled": True}).body["status"] == "enabled"
    rotated = admin_api.post(f"{path}/rotate-secret", {"overlap_hours": 0}).body["secret"]
    assert rotated != made.body["secret"]
    assert admin_api.delete(path).status == 204
    assert admin_api.get(path).status == 404
    with operator():
        assert not WebhookDelivery.objects.exists()
        done = AuditEvent.objects.filter(action__startswith="webhook.").order_by("created_at")
        assert [event.action.removeprefix("webhook.") for event in done] == [
            *("create", "test", "redeliver", "change", "change", "rotate", "delete")
        ]


def test_what_failed_is_recovered(admin_api: Api, receiver: Receiver, settings: Any):
    webhook = admin_api.post("webhooks", {"url": receiver.url}).body["id"]
    for _ in range(3):
        admin_api.post(f"webhooks/{webhook}/test")
    with operator():
        WebhookDelivery.objects.update(state="failed")
    since = {"since": "2026-01-01T00:00:00Z"}
    assert admin_api.post(f"webhooks/{webhook}/recover", since).body == {"deliveries": 3}
    assert admin_api.post(f"webhooks/{webhook}/recover", since).body == {"deliveries": 0}
    assert delivering.work() == 3


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("http://example.com/hook", "https"),
        ("https://user:word@example.com/", "user name"),
        ("https://localhost/", "not a public address"),
        ("https://example.com:8443/", "ports"),
        ("file:///etc/passwd", "http and https"),
        ("https://0x7f.1/", "usual form"),
    ],
)
def test_an_address_that_is_never_sent_to_is_refused(admin_api: Api, url: str, sentence: str):
    refused = admin_api.post("webhooks", {"url": url})
    assert (refused.status, refused.code) == (422, "invalid_request")
    assert sentence in json.dumps(refused.body)
    with operator():
        assert not WebhookEndpoint.objects.exists()


def test_bad_requests_are_refused_and_the_number_is_limited(
    admin_api: Api, receiver: Receiver, settings: Any
):
    settings.WEBHOOKS = {**settings.WEBHOOKS, "max_endpoints": 1}
    for body in (
        {},
        {"url": receiver.url, "events": ["webhook.test"]},
        {"url": receiver.url, "events": "document.ready"},
        {"url": receiver.url, "secret": "mine"},
        {"url": 12},
    ):
        assert admin_api.post("webhooks", body).status == 422, body
    assert admin_api.post("webhooks", {"url": receiver.url}).status == 201
    refused = admin_api.post("webhooks", {"url": receiver.url})
    assert (refused.status, refused.code) == (409, "too_many_webhooks")


def command(*arguments: str) -> Any:
    out = StringIO()
    call_command("webhook", *arguments, "--namespace", "tenant", "--json", stdout=out)
    return json.loads(out.getvalue())


def test_the_command(tenant: Namespace, receiver: Receiver):
    made = command("create", receiver.url, "--events", "document.failed", "--description", "CRM")
    assert made["secret"].startswith("whsec_")
    (listed,) = command("list")
    assert (listed["status"], listed["events"]) == ("enabled", "document.failed")
    assert command("test", made["id"])["state"] == "delivered"
    receiver.respond(500)
    with pytest.raises(CommandError, match="500"):
        command("test", made["id"])
    newest, oldest = command("deliveries", made["id"])
    assert (newest["error"], oldest["state"]) == ("status_500", "delivered")
    assert command("redeliver", oldest["id"])["state"] == "pending"
    assert command("rotate", made["id"])["secret"] != made["secret"]
    assert command("change", made["id"], "--disable", "--events", "")["events"] == "all"
    with pytest.raises(CommandError, match="disabled"):
        command("test", made["id"])
    with pytest.raises(CommandError, match="no event"):
        command("change", made["id"], "--events", "document.deleted")
    assert command("delete", made["id"]) == {"deleted": made["id"]}
    with pytest.raises(CommandError, match="no such webhook"):
        command("test", made["id"])


def test_the_admin_shows_the_secret_once_and_what_was_delivered(
    boss: Client, onlooker: Client, tenant: Namespace, receiver: Receiver
):
    form = {"namespace": str(tenant.pk), "url": receiver.url, "description": "CRM"}
    add = reverse("admin:documents_webhookendpoint_add")
    made = boss.post(add, {**form, "events": ["document.ready"]}, follow=True).text
    assert made.count("whsec_") == 1
    with operator():
        endpoint = WebhookEndpoint.objects.get()
    listing = reverse("admin:documents_webhookendpoint_changelist")
    acted = boss.post(
        listing, {"action": "send_test", "_selected_action": str(endpoint.pk)}, follow=True
    )
    assert "1 test queued" in acted.text
    delivering.work()
    page = boss.get(reverse("admin:documents_webhookendpoint_change", args=[endpoint.pk])).text
    assert "webhook.test" in page
    assert "delivered" in page
    assert "whsec_" not in page
    with operator():
        delivery = WebhookDelivery.objects.get()
    shown = boss.get(reverse("admin:documents_webhookdelivery_change", args=[delivery.pk])).text
    assert "thanks" in shown
    assert '<h1 dir="auto">webhook.test to CRM</h1>' in shown
    assert str(delivery.event_id) not in shown
    deliveries = reverse("admin:documents_webhookdelivery_changelist")
    assert delivery.event_id
    assert "webhook.test" in boss.get(deliveries, {"endpoint__id__exact": str(endpoint.pk)}).text
    boss.post(deliveries, {"action": "redeliver", "_selected_action": str(delivery.pk)})
    assert delivering.work() == 1
    refused = boss.post(add, {**form, "url": "http://user@example.com/"}).text
    assert "user name or password" in refused
    act = {"action": "disable", "_selected_action": str(endpoint.pk)}
    onlooker.post(listing, act)
    with operator():
        assert WebhookEndpoint.objects.get().status == "enabled"
    asked = re.search(r'name="confirmed" value="(\w+)"', boss.post(listing, act).text)
    assert asked, "what waits would be lost: it asks first"
    boss.post(listing, {**act, "confirmed": asked[1]})
    with operator():
        assert WebhookEndpoint.objects.get().status == "disabled"
    gone = reverse("admin:documents_webhookendpoint_delete", args=[endpoint.pk])
    boss.post(gone, {"post": "yes"})
    with operator():
        assert not WebhookEndpoint.objects.exists()
        actions = AuditEvent.objects.filter(action__contains="webhook").values_list(
            "action", flat=True
        )
        assert sorted(actions) == [
            *(
                "webhook.change",
                "webhook.create",
                "webhook.delete",
                "webhook.redeliver",
                "webhook.test",
            )
        ]


def test_the_list_tells_who_is_tried_again_from_who_was_given_up(boss: Client, tenant: Namespace):
    listing = reverse("admin:documents_webhookendpoint_changelist")
    with operator():
        for name, status in (("well", "enabled"), ("shaky", "enabled"), ("dead", "failing")):
            WebhookEndpoint.objects.create(
                namespace=tenant,
                url=f"https://{name}.example.com/",
                status=status,
                failing_since=None if name == "well" else timezone.now(),
            )
    for chosen, host in (("enabled", "well"), ("trying_again", "shaky"), ("kept_failing", "dead")):
        shown = boss.get(listing, {"state": chosen}).text
        assert set(re.findall(r"https://(\w+)\.example", shown)) == {host}
    attention = boss.get(reverse("admin:index")).text
    assert "https://shaky.example.com</a> fails and is tried again" in attention
    assert "https://dead.example.com</a> was disabled because it kept failing" in attention
    assert "well.example.com" not in attention


def receiver_of_the_guide() -> str:
    guide = (ROOT / "docs" / "webhooks.md").read_text()
    (program,) = re.findall(r"```python\n(# A receiver.*?)```", guide, re.DOTALL)
    return program


def test_the_receiver_of_the_guide_accepts_what_is_sent_and_nothing_else(
    tenant: Namespace, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}/"
    monkeypatch.setattr(endpoints, "sender", lambda: SENDER)
    with namespace(tenant.pk):
        endpoint, secret = endpoints.create(tenant.pk, url)
    program = tmp_path / "receiver.py"
    program.write_text(receiver_of_the_guide())
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "clients" / "python" / "src"),
        "WEBHOOK_SECRET": secret,
        "PORT": str(port),
        "PYTHONUNBUFFERED": "1",
    }
    with subprocess.Popen(
        [sys.executable, program], env=environment, stdout=subprocess.PIPE, text=True
    ) as running:
        try:
            _wait_for(port)
            for _ in range(2):
                with namespace(tenant.pk):
                    delivery = endpoints.send_test(endpoint)
                delivering.work()
            with namespace(tenant.pk):
                endpoints.redeliver(
                    WebhookDelivery.objects.select_related("endpoint").get(pk=delivery.pk)
                )
            delivering.work()
            with namespace(tenant.pk):
                endpoints.rotate_secret(endpoint, overlap=delivering.timedelta(0))
                endpoints.send_test(endpoint)
            delivering.work()
        finally:
            running.terminate()
        assert running.stdout is not None
        assert running.stdout.read().splitlines() == ["webhook.test"] * 2
    with namespace(tenant.pk):
        states = WebhookDelivery.objects.order_by("created_at").values_list(
            "response_status", flat=True
        )
        assert list(states) == [204, 204, 400]


def _wait_for(port: int) -> None:
    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("The receiver has not started.")
