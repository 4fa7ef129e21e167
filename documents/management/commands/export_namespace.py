"""`manage.py export_namespace SLUG FILE`: everything of a namespace as one portable file."""

from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from documents.archives.errors import ArchiveFailed
from documents.archives.exporting import export_namespace
from documents.backups.manifest import release
from ragsite.database.tenancy import operator
from ragsite.platform.wording import file_size, plural

from .api_key import find_namespace


class Command(BaseCommand):
    help = (
        "Export a namespace to one file: documents, originals, passages with their vectors, facts, "
        "conversations, golden sets, feedback and settings. Keys and links are not in it."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug")
        parser.add_argument("file", type=Path, help="A file that does not exist yet.")

    def handle(self, *args: Any, **options: Any) -> None:
        with operator():
            tenant = find_namespace(options["slug"])
        path: Path = options["file"].expanduser().absolute()
        try:
            counts = export_namespace(tenant, path, release=release(), progress=self._show_progress)
        except ArchiveFailed as error:
            raise CommandError(str(error)) from None
        documents = plural(counts["documents_document"], "document")
        passages = plural(counts["documents_chunk"], "passage")
        self.stdout.write(f"{path}: {documents}, {passages}, {file_size(path.stat().st_size)}.")

    def _show_progress(self, line: str) -> None:
        if self.stderr.isatty():
            self.stderr.write(line)
