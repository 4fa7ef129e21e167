"""Django's `changepassword`, as the operator role: the application's role may not see users."""

from typing import Any

from django.contrib.auth.management.commands import changepassword
from django.core.management import CommandParser

from ragsite.database.tenancy import operator


class Command(changepassword.Command):
    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.set_defaults(database="operator")

    def handle(self, *args: Any, **options: Any) -> str | None:
        with operator():  # it saves the user wherever the router says
            return super().handle(*args, **options)
