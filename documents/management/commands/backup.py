"""`manage.py backup FOLDER`: the database and all originals, while the service runs."""

import sys
from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from documents.backups.errors import BackupFailed
from documents.backups.making import back_up
from ragsite.platform.wording import file_size, plural


class Command(BaseCommand):
    help = (
        "Back up the database and all originals to a new folder, while the service runs. The "
        "secrets in RAGSITE_HOME and your settings are not in it: see docs/backup.md."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("target", type=Path, help="A folder that does not exist yet.")

    def handle(self, *args: Any, **options: Any) -> None:
        target: Path = options["target"].expanduser().absolute()
        try:
            made = back_up(target, progress=self._show_progress)
        except BackupFailed as error:
            raise CommandError(str(error)) from None
        size = file_size(made.dump.bytes + made.original_bytes)
        rows = plural(sum(made.rows.values()), "row")
        self.stdout.write(f"{target}: {rows}, {plural(made.originals, 'original')}, {size}.")
        self.stdout.write("Keep the SECRET_KEY and your settings, too: they are not in the backup.")
        if made.problems:
            self.stderr.write(
                self.style.ERROR(
                    f"{plural(len(made.problems), 'original')} could not be read or had changed: "
                    "they are damaged in the storage itself, and not in this backup. "
                    "`manage.py verify` names them."
                )
            )
            sys.exit(1)

    def _show_progress(self, line: str) -> None:
        if self.stderr.isatty():
            self.stderr.write(line)
