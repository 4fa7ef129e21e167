"""`manage.py import_namespace FILE`: a namespace from a portable file, without embedding again."""

import sys
from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from documents.archives.errors import ArchiveRefused
from documents.archives.importing import import_namespace
from documents.verification.auditing import verify
from ragsite.platform.wording import plural


class Command(BaseCommand):
    help = (
        "Import a file made by `manage.py export_namespace` as a new namespace. Nothing is "
        "embedded again. Either all of it is imported or nothing."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--as", dest="slug", default="", metavar="SLUG", help="Another slug.")
        parser.add_argument(
            "--new-ids",
            action="store_true",
            help="Assign new ids to all rows, as is done if the server has, or had, the namespace.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"].expanduser().absolute()
        try:
            done = import_namespace(
                path,
                slug=options["slug"],
                new_ids=options["new_ids"],
                progress=self._show_progress,
            )
        except ArchiveRefused as error:
            raise CommandError(str(error)) from None
        documents = plural(done.counts["documents_document"], "document")
        passages = plural(done.counts["documents_chunk"], "passage")
        ids = "Its ids are new." if done.renumbered else "Its ids are those of the archive."
        self.stdout.write(
            f"Namespace {done.namespace.slug} imported: {documents}, {passages}, "
            f"{plural(done.originals, 'original')}. {ids}"
        )
        if done.queued:
            self.stdout.write(f"{plural(done.queued, 'document')} queued to be indexed.")
        for warning in done.warnings:
            self.stderr.write(self.style.WARNING(warning))
        self.stdout.write("Issue a key for it: manage.py api_key create.")
        report = verify([done.namespace], progress=self._show_progress)
        for finding in report.findings:
            self.stdout.write(f"found  {finding.count:,}  {finding.what}")
        if not report.is_clean:
            sys.exit(1)
        self.stdout.write(f"{plural(report.checks, 'check')}: everything is as it should be.")

    def _show_progress(self, line: str) -> None:
        if self.stderr.isatty():
            self.stderr.write(line)
