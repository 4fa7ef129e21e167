"""`manage.py namespace link create SLUG`, `… link list SLUG` and `… link revoke PREFIX`."""

from argparse import _SubParsersAction
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management import CommandError, CommandParser
from django.utils import timezone

from documents.accounts import links
from documents.models import Namespace, NamespaceLink

Write = Callable[[str], Any]
MAX_DAYS = 3650


def add_arguments(actions: "_SubParsersAction[CommandParser]") -> None:
    link = actions.add_parser(
        "link", help="Make, list or revoke public links, through which anybody may ask."
    )
    verbs = link.add_subparsers(dest="verb", required=True)
    create = verbs.add_parser("create", help="Make a link and print its address, which is secret.")
    create.add_argument("slug")
    create.add_argument("--name", default="", help="Who gets it, for the list.")
    create.add_argument(
        "--expires-in-days", type=int, metavar="N", help="From 1 to 3650; never, if left out."
    )
    listed = verbs.add_parser("list", help="Print a namespace's links.")
    listed.add_argument("slug")
    revoke = verbs.add_parser("revoke", help="Revoke a link; it stops working at once.")
    revoke.add_argument("prefix", help="The twelve characters before the underscore.")


def create(namespace: Namespace, options: dict[str, Any], write: Write) -> None:
    days = options["expires_in_days"]
    if days is not None and not 1 <= days <= MAX_DAYS:
        raise CommandError(f"--expires-in-days is a number from 1 to {MAX_DAYS}.")
    expires_at = None if days is None else timezone.now() + timedelta(days=days)
    try:
        _, address = links.create(namespace, name=options["name"], expires_at=expires_at)
    except ValidationError as error:
        raise CommandError(" ".join(error.messages)) from None
    write(address)


def show(namespace: Namespace, write: Write) -> None:
    for link in NamespaceLink.objects.filter(namespace=namespace):
        expires = f"expires {link.expires_at:%Y-%m-%d}" if link.expires_at else "never expires"
        used = f"used {link.last_used_at:%Y-%m-%d %H:%M}" if link.last_used_at else "never used"
        write(f"{link.prefix}\t{link.state}\t{expires}\t{used}\t{link.name}")


def revoke(prefix: str, write: Write) -> None:
    if not links.revoke(NamespaceLink.objects.filter(prefix=prefix)):
        raise CommandError(f"There is no link with the prefix {prefix!r} that is not revoked yet.")
    write("Revoked.")
