"""Django's `migrate`, run as the owner role after the other roles have been created."""

from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, CommandParser
from django.core.management.commands import migrate
from django.db import connections

from ragsite.database import roles
from ragsite.production_checks import require_fit_for_production


class Command(migrate.Command):
    help = "Create or update the database's roles and tables (as the owner role)."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.set_defaults(database="owner")

    def handle(self, *args: Any, **options: Any) -> None:
        connection = connections[options["database"]]
        try:
            require_fit_for_production()
            roles.require_supported(connection)
        except (ImproperlyConfigured, roles.UnsuitableDatabase) as error:
            raise CommandError(str(error)) from None
        roles.use_public_schema(connection)
        roles.provision(connection)
        super().handle(*args, **options)
        roles.revoke_excess_rights(connection)
