"""`manage.py unlock_login USER | --address A | --all`: unlocks the login."""

from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from documents.accounts import login_throttle
from ragsite.platform.wording import plural


class Command(BaseCommand):
    help = "Reset failed logins, so that a locked-out operator can sign in again at once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username", nargs="?", default="", metavar="USER")
        parser.add_argument("--address", default="", help="Unlock logins from this address.")
        parser.add_argument("--all", action="store_true", help="Everybody.")

    def handle(self, *args: Any, **options: Any) -> None:
        user, address, everything = options["username"], options["address"], options["all"]
        if not (user or address or everything):
            raise CommandError("Name a user, an --address, or --all.")
        if everything and (user or address):
            raise CommandError("--all takes neither a user nor an address.")
        opened = login_throttle.unlock(username=user, address=address, everything=everything)
        self.stdout.write(f"{plural(opened, 'lock')} removed, failures reset.")
