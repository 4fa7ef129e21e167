"""`manage.py webhook create | list | change | rotate | delete | test | deliveries | redeliver`."""

import json
import uuid
from datetime import timedelta
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from documents.intake.web_addresses import FetchRefused
from documents.management.commands.api_key import find_namespace
from documents.models import Namespace, WebhookDelivery, WebhookEndpoint
from documents.models.webhooks import EventType
from documents.webhooks import delivering, endpoints
from ragsite.database.tenancy import namespace, operator

KINDS = [kind.value for kind in EventType if kind != EventType.TEST]
SHOWN_DELIVERIES = 20


class Command(BaseCommand):
    help = "Register, change, test and delete webhooks of a namespace; show what was delivered."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser("create", help="Print a new webhook's id and its secret, once.")
        create.add_argument("url")
        create.add_argument("--description", default="")
        create.add_argument("--events", default="", help=f"Of {', '.join(KINDS)}; all, if omitted.")
        actions.add_parser("list", help="Print the webhooks.")
        change = actions.add_parser("change", help="Change, disable or enable a webhook.")
        change.add_argument("id", type=uuid.UUID)
        change.add_argument("--url")
        change.add_argument("--description")
        change.add_argument("--events", help="As for create; an empty text selects all.")
        switch = change.add_mutually_exclusive_group()
        switch.add_argument(
            "--enable",
            action="store_true",
            help="Enable the webhook, even one that was disabled because it kept failing.",
        )
        switch.add_argument("--disable", action="store_true")
        rotate = actions.add_parser(
            "rotate", help="Print a new secret; the old one also signs for a while."
        )
        rotate.add_argument("id", type=uuid.UUID)
        rotate.add_argument(
            "--overlap-hours",
            type=int,
            default=24,
            help="How long the old secret also signs (default: 24).",
        )
        for name, described in (
            ("delete", "Delete a webhook with its deliveries."),
            ("test", "Send a test event now and print the result; exits with 1 if it failed."),
            ("deliveries", "Print the newest deliveries."),
        ):
            actions.add_parser(name, help=described).add_argument("id", type=uuid.UUID)
        redeliver = actions.add_parser("redeliver", help="Queue a delivery again.")
        redeliver.add_argument("delivery", type=uuid.UUID)
        for action in actions.choices.values():
            action.add_argument("--namespace", required=True, help="Its slug.")
            action.add_argument("--json", action="store_true", help="For scripts.")

    def handle(self, *args: Any, **options: Any) -> None:
        with operator():
            tenant = find_namespace(options["namespace"])
        self.as_json = options["json"]
        try:
            with namespace(tenant.pk):
                shown = getattr(self, f"_{options['action']}")(tenant, options)
        except (FetchRefused, endpoints.TooManyEndpoints, endpoints.WebhookDisabled) as error:
            raise CommandError(str(error)) from None
        if options["action"] == "test":
            shown = self._send_now(tenant, shown)
        self._print(shown)

    def _create(self, tenant: Namespace, options: dict[str, Any]) -> dict[str, Any]:
        created, secret = endpoints.create(
            tenant.pk,
            options["url"],
            description=options["description"],
            wanted=_kinds(options["events"]),
        )
        return {"id": str(created.pk), "secret": secret}

    def _list(self, tenant: Namespace, options: dict[str, Any]) -> list[dict[str, Any]]:
        return [_described(one) for one in WebhookEndpoint.objects.all()]

    def _change(self, tenant: Namespace, options: dict[str, Any]) -> dict[str, Any]:
        changes = {name: options[name] for name in ("url", "description") if options[name]}
        if options["events"] is not None:
            changes["events"] = _kinds(options["events"])
        if options["enable"] or options["disable"]:
            changes["is_enabled"] = options["enable"]
        return _described(endpoints.change(_find(options["id"]), changes))

    def _rotate(self, tenant: Namespace, options: dict[str, Any]) -> dict[str, Any]:
        hours = options["overlap_hours"]
        if not 0 <= hours <= 168:
            raise CommandError("--overlap-hours is a number from 0 to 168.")
        overlap = timedelta(hours=hours)
        return {"secret": endpoints.rotate_secret(_find(options["id"]), overlap=overlap)}

    def _delete(self, tenant: Namespace, options: dict[str, Any]) -> dict[str, Any]:
        endpoint = _find(options["id"])
        endpoints.delete(endpoint)
        return {"deleted": str(endpoint.pk)}

    def _test(self, tenant: Namespace, options: dict[str, Any]) -> WebhookDelivery:
        return endpoints.send_test(_find(options["id"]))

    def _deliveries(self, tenant: Namespace, options: dict[str, Any]) -> list[dict[str, Any]]:
        own = WebhookDelivery.objects.filter(endpoint=_find(options["id"]).pk)
        return [_delivery(one) for one in own.select_related("event")[:SHOWN_DELIVERIES]]

    def _redeliver(self, tenant: Namespace, options: dict[str, Any]) -> dict[str, Any]:
        known = WebhookDelivery.objects.select_related("endpoint", "event")
        delivery = known.filter(pk=options["delivery"]).first()
        if delivery is None:
            raise CommandError("This namespace has no such delivery.")
        return _delivery(endpoints.redeliver(delivery))

    def _send_now(self, tenant: Namespace, delivery: WebhookDelivery) -> dict[str, Any]:
        """Send the delivery in this process, without waiting for a worker."""
        delivering.work()
        with namespace(tenant.pk):
            sent = WebhookDelivery.objects.select_related("event").get(pk=delivery.pk)
        if sent.state != WebhookDelivery.State.DELIVERED:
            answered = f"The receiver responded with {sent.response_status}."
            raise CommandError(sent.error_message or answered)
        return _delivery(sent)

    def _print(self, shown: Any) -> None:
        if self.as_json:
            self.stdout.write(json.dumps(shown))
            return
        for row in shown if isinstance(shown, list) else [shown]:
            self.stdout.write("\t".join(str(value) for value in row.values()))


def _kinds(listed: str) -> list[str]:
    kinds = [kind.strip() for kind in listed.split(",") if kind.strip()]
    if unknown := sorted(set(kinds) - set(KINDS)):
        raise CommandError(f"There is no event {unknown[0]!r}: use {', '.join(KINDS)}.")
    return kinds


def _find(pk: uuid.UUID) -> WebhookEndpoint:
    endpoint = WebhookEndpoint.objects.filter(pk=pk).first()
    if endpoint is None:
        raise CommandError("This namespace has no such webhook.")
    return endpoint


def _described(endpoint: WebhookEndpoint) -> dict[str, Any]:
    return {
        "id": str(endpoint.pk),
        "url": endpoint.url,
        "status": endpoint.status,
        "events": ",".join(endpoint.events) or "all",
        "description": endpoint.description,
    }


def _delivery(delivery: WebhookDelivery) -> dict[str, Any]:
    return {
        "id": str(delivery.pk),
        "type": delivery.event.type,
        "state": delivery.state,
        "attempts": delivery.attempts,
        "status": delivery.response_status,
        "error": delivery.error_code,
    }
