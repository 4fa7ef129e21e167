"""Django's `createsuperuser`, as the operator role: the application's role may not see users."""

from django.contrib.auth.management.commands import createsuperuser
from django.core.management import CommandParser


class Command(createsuperuser.Command):
    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.set_defaults(database="operator")
