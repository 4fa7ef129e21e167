"""`manage.py api_key create`: prints the new key and nothing else, once. Also list, revoke."""

from datetime import timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from documents import keys
from documents.models import ApiKey, Namespace
from ragsite.tenancy import operator


class Command(BaseCommand):
    help = "Create, list or revoke API keys."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser("create", help="Print a new key. It cannot be shown again.")
        create.add_argument("--namespace", required=True, help="The namespace's slug.")
        create.add_argument("--scopes", default="read,write", help="Of read, write, admin.")
        create.add_argument("--name", default="", help="What the key is for.")
        create.add_argument(
            "--expires-in-days", type=int, metavar="N", help="From 1 to 3650; never, if left out."
        )
        listing = actions.add_parser("list", help="Print a namespace's keys, without secrets.")
        listing.add_argument("--namespace", required=True, help="The namespace's slug.")
        revoke = actions.add_parser("revoke", help="Make a key useless from now on.")
        revoke.add_argument("prefix", help="The key's prefix: in rs_PREFIX_…")

    def handle(self, *args: Any, **options: Any) -> None:
        with operator():
            getattr(self, f"_{options['action']}")(options)

    def _create(self, options: dict[str, Any]) -> None:
        days = options["expires_in_days"]
        if days is not None and not 1 <= days <= 3650:
            raise CommandError("A key can expire in 1 to 3650 days.")
        try:
            _, plain = keys.issue(
                find_namespace(options["namespace"]),
                scopes=[scope.strip() for scope in options["scopes"].split(",")],
                name=options["name"],
                expires_at=timezone.now() + timedelta(days=days) if days else None,
            )
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None
        self.stdout.write(plain)

    def _list(self, options: dict[str, Any]) -> None:
        for key in ApiKey.objects.filter(namespace=find_namespace(options["namespace"])):
            state = "revoked" if key.revoked_at else "active" if key.is_active else "expired"
            used = key.last_used_at.isoformat(timespec="minutes") if key.last_used_at else "never"
            scopes = ",".join(key.scopes)
            self.stdout.write(f"rs_{key.prefix}_…\t{scopes}\t{state}\tused {used}\t{key.name}")

    def _revoke(self, options: dict[str, Any]) -> None:
        if not keys.revoke(ApiKey.objects.filter(prefix=options["prefix"])):
            raise CommandError(f"There is no active key with the prefix {options['prefix']!r}.")
        self.stdout.write("Revoked.")


def find_namespace(slug: str) -> Namespace:
    """Inside operator()."""
    try:
        return Namespace.objects.get(slug=slug)
    except Namespace.DoesNotExist:
        known = ", ".join(Namespace.objects.values_list("slug", flat=True)) or "none yet"
        raise CommandError(f"There is no namespace {slug!r} (there are: {known}).") from None
