"""`manage.py restore FOLDER`: puts back what `manage.py backup` saved, and verifies it."""

import sys
from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from documents.backups.errors import RestoreRefused
from documents.backups.restoring import restore
from documents.intake.unowned import KEPT_FILES
from documents.verification.auditing import verify
from ragsite.platform.wording import plural


class Command(BaseCommand):
    help = (
        "Restore a backup into an empty installation or, with --replace, over an existing one. "
        "Stop the service first. Everything is checked before anything is changed."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("source", type=Path, help="A folder made by `manage.py backup`.")
        parser.add_argument(
            "--replace",
            action="store_true",
            help="Replace the existing database. No stored file is deleted.",
        )
        parser.add_argument(
            "--fast",
            action="store_true",
            help="Verify only the sizes of originals afterwards, not their checksums again.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        source: Path = options["source"].expanduser().absolute()
        try:
            found = restore(source, replace=options["replace"], progress=self._show_progress)
        except RestoreRefused as error:
            raise CommandError(str(error)) from None
        rows = plural(sum(found.rows.values()), "row")
        self.stdout.write(
            f"Restored the backup of {found.made_at}: {rows}, "
            f"{plural(found.originals, 'original')}."
        )
        report = verify(fast=options["fast"], progress=self._show_progress)
        kept = [finding for finding in report.findings if finding.check == KEPT_FILES]
        for finding in report.findings:
            self.stdout.write(f"found  {finding.namespace}  {finding.count:,}  {finding.what}")
        if kept:
            self.stdout.write(
                "These files are kept. If no document needs them, `manage.py verify --repair "
                "--forget-restore` deletes them."
            )
        if len(report.findings) > len(kept):
            self.stdout.write("Run `manage.py verify` for more about them.")
            sys.exit(1)
        self.stdout.write(f"{plural(report.checks, 'check')}: everything is as it should be.")

    def _show_progress(self, line: str) -> None:
        if self.stderr.isatty():
            self.stderr.write(line)
