"""Django's `migrate`, run as the owner role after the other roles have been created."""

import time
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, CommandParser
from django.core.management.commands import migrate
from django.db import OperationalError, connections
from psycopg.errors import DeadlockDetected, LockNotAvailable

from ragsite.database import roles
from ragsite.database.buffered_schema import BufferedSchemaEditor, postpone_code
from ragsite.production_checks import require_fit_for_production

# While a migration waits for a table's lock, all other statements on the table wait behind it.
LOCK_SECONDS = 2
TRIES = 30
PAUSE_SECONDS = 2.0


class Command(migrate.Command):
    help = "Create or update the database's roles and tables (as the owner role)."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.set_defaults(database="owner")

    def handle(self, *args: Any, **options: Any) -> None:
        self.connection = connections[options["database"]]
        self.connection.SchemaEditorClass = BufferedSchemaEditor
        try:
            require_fit_for_production()
            roles.require_supported(self.connection)
        except (ImproperlyConfigured, roles.UnsuitableDatabase) as error:
            raise CommandError(str(error)) from None
        roles.use_public_schema(self.connection)
        roles.provision(self.connection)
        self._migrate_between_others(*args, **options)
        roles.revoke_excess_rights(self.connection)

    def _migrate_between_others(self, *args: Any, **options: Any) -> None:
        """Migrate; abort a migration that waits for a table or deadlocks with other statements, and
        try it again a little later. Each migration is one transaction; earlier ones are kept."""
        for number in range(1, TRIES + 1):
            try:
                super().handle(*args, **options)
            except OperationalError as error:
                if not isinstance(error.__cause__, LockNotAvailable | DeadlockDetected):
                    raise
                if number == TRIES:
                    raise CommandError(
                        "A table that has to be changed is in use: by a long query, a backup or an "
                        "open transaction. Migrations that were applied are kept; try again later."
                    ) from None
                self.stderr.write("A table is in use; trying again.")
                time.sleep(PAUSE_SECONDS)
            else:
                break
        self._wait_for_locks(0)

    def migration_progress_callback(
        self, action: str, migration: Any = None, fake: bool = False
    ) -> None:
        if action in ("apply_start", "unapply_start"):
            # CREATE INDEX CONCURRENTLY is not atomic; it may wait long and blocks no other
            # statement.
            self._wait_for_locks(LOCK_SECONDS if migration.atomic else 0)
            postpone_code(migration)
        super().migration_progress_callback(action, migration, fake)

    def _wait_for_locks(self, seconds: int) -> None:
        with self.connection.cursor() as cursor:
            cursor.execute(f"SET lock_timeout = '{seconds}s'")
