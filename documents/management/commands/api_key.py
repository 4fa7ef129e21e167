"""`manage.py api_key create | list | limits | revoke`: API keys."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.management import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from documents.accounts import keys
from documents.models import ApiKey, Namespace, OperatorKey
from ragsite.access.rate_limits import RATE_CLASSES
from ragsite.database.tenancy import operator


class Command(BaseCommand):
    help = "Create, list, limit or revoke API keys."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser("create", help="Print a new key. It cannot be shown again.")
        create.add_argument("--namespace", help="The namespace's slug.")
        create.add_argument(
            "--scopes",
            default="read,write",
            help="Any of read, write, admin (default: read,write); or operator, alone and without "
            "--namespace: a key of the whole installation that manages namespaces and keys.",
        )
        create.add_argument("--name", default="", help="What the key is for.")
        create.add_argument(
            "--expires-in-days",
            type=int,
            metavar="N",
            help="Days until the key expires, from 1 to 3650 (default: it does not expire).",
        )
        create.add_argument(
            "--limits",
            default="",
            metavar="CLASS=N,…",
            help="Requests per minute that differ from the installation's limits, e.g. search=600. "
            f"0: no limit. Classes: {', '.join(RATE_CLASSES)}.",
        )
        limits = actions.add_parser("limits", help="Show a key's limits, or change some of them.")
        limits.add_argument("prefix", help="The key's prefix: in rs_PREFIX_…")
        limits.add_argument(
            "changes",
            nargs="*",
            metavar="CLASS=N",
            help="Requests per minute; 0: no limit; CLASS=default: the installation's limit.",
        )
        listing = actions.add_parser("list", help="Print a namespace's keys, without secrets.")
        listing.add_argument("--namespace", help="Slug (default: operator keys).")
        revoke = actions.add_parser("revoke", help="Revoke a key for good.")
        revoke.add_argument("prefix", help="The key's prefix: in rs_PREFIX_… or rsop_PREFIX_…")

    def handle(self, *args: Any, **options: Any) -> None:
        with operator():
            getattr(self, f"_{options['action']}")(options)

    def _create(self, options: dict[str, Any]) -> None:
        days = options["expires_in_days"]
        if days is not None and not 1 <= days <= 3650:
            raise CommandError("A key can expire in 1 to 3650 days.")
        scopes = [scope.strip() for scope in options["scopes"].split(",")]
        expires_at = timezone.now() + timedelta(days=days) if days else None
        try:
            if "operator" in scopes:
                plain = self._operator_key(scopes, options, expires_at)
            elif options["namespace"]:
                _, plain = keys.issue(
                    find_namespace(options["namespace"]),
                    scopes=scopes,
                    name=options["name"],
                    expires_at=expires_at,
                    limits=_numbers(parse_limits(options["limits"].split(","))),
                )
            else:
                raise CommandError("Name the key's namespace: --namespace SLUG.")
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None
        self.stdout.write(plain)

    def _operator_key(
        self, scopes: list[str], options: dict[str, Any], expires_at: datetime | None
    ) -> str:
        if scopes != ["operator"] or options["namespace"]:
            raise CommandError(
                "The scope operator cannot be combined: such a key belongs to no namespace."
            )
        if options["limits"]:
            raise CommandError("An operator key has the installation's limits (RATE_LIMITS).")
        if not settings.OPERATOR_API:
            self.stderr.write(
                self.style.WARNING("OPERATOR_API is off: this key is not accepted until it is on.")
            )
        _, plain = keys.issue_operator_key(name=options["name"], expires_at=expires_at)
        return plain

    def _list(self, options: dict[str, Any]) -> None:
        if not options["namespace"]:
            for operator_key in OperatorKey.objects.all():
                self._show(f"rsop_{operator_key.prefix}_…", "operator", operator_key)
            return
        for key in ApiKey.objects.filter(namespace=find_namespace(options["namespace"])):
            self._show(f"rs_{key.prefix}_…", ",".join(key.scopes), key)

    def _show(self, shown: str, scopes: str, key: ApiKey | OperatorKey) -> None:
        state = "revoked" if key.revoked_at else "active" if key.is_active else "expired"
        used = key.last_used_at.isoformat(timespec="minutes") if key.last_used_at else "never"
        self.stdout.write(f"{shown}\t{scopes}\t{state}\tused {used}\t{key.name}")

    def _limits(self, options: dict[str, Any]) -> None:
        key = ApiKey.objects.filter(prefix=options["prefix"]).first()
        if key is None:
            raise CommandError(f"There is no key with the prefix {options['prefix']!r}.")
        try:
            if changes := parse_limits(options["changes"]):
                keys.change_limits(key, changes)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None
        for name in RATE_CLASSES:
            limit = key.limits.get(name, settings.RATE_LIMITS[name])
            whose = "its own" if name in key.limits else "the installation's"
            self.stdout.write(f"{name}\t{limit or 'no limit'}\t{whose}")

    def _revoke(self, options: dict[str, Any]) -> None:
        revoked = keys.revoke(ApiKey.objects.filter(prefix=options["prefix"]))
        revoked += keys.revoke_operator_keys(OperatorKey.objects.filter(prefix=options["prefix"]))
        if not revoked:
            raise CommandError(f"There is no active key with the prefix {options['prefix']!r}.")
        self.stdout.write("Revoked.")


def parse_limits(pairs: Iterable[str]) -> dict[str, int | None]:
    """Parse CLASS=N; None stands for `default`."""
    limits: dict[str, int | None] = {}
    for pair in filter(None, (pair.strip() for pair in pairs)):
        name, _, value = pair.partition("=")
        try:
            limits[name] = None if value == "default" else int(value)
        except ValueError:
            raise CommandError(f"{pair!r} is not CLASS=N, as in search=600.") from None
        if name not in RATE_CLASSES:
            raise CommandError(f"There is no class {name!r}: use {', '.join(RATE_CLASSES)}.")
    return limits


def _numbers(limits: dict[str, int | None]) -> dict[str, int]:
    return {name: value for name, value in limits.items() if value is not None}


def find_namespace(slug: str) -> Namespace:
    """Inside operator()."""
    try:
        return Namespace.objects.get(slug=slug)
    except Namespace.DoesNotExist:
        known = ", ".join(Namespace.objects.values_list("slug", flat=True)) or "none yet"
        raise CommandError(f"There is no namespace {slug!r} (there are: {known}).") from None
