"""`manage.py ingest PATH…`: take files and folders in, and index them here and now."""

import json
import os
import sys
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

from django.core.files.base import File
from django.core.management import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from documents import audit, intake
from documents.errors import IngestError
from documents.folders import readable_files
from documents.models import Document
from documents.working_off import work_off
from ragsite.tenancy import namespace, operator

from .api_key import find_namespace


class Command(BaseCommand):
    help = (
        "Ingest files and folders into a namespace and wait until they are searchable: every "
        "format that is read. Unchanged files are skipped, changed ones become new versions. "
        "Exit code 1 if any file failed."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
        parser.add_argument("--namespace", default="default", help="Slug (default: default).")
        parser.add_argument("--tags", default="", help="Comma-separated tags for every file.")
        parser.add_argument(
            "--on-duplicate",
            choices=["skip", "keep", "error"],
            default="skip",
            help="Same content under another path (default: skip).",
        )
        parser.add_argument(
            "--rows-as-facts",
            action="store_true",
            default=None,
            help="Keep what the rows of CSV, TSV and XLSX files say as facts.",
        )
        parser.add_argument("--no-wait", action="store_true", help="Only queue; do not index.")
        parser.add_argument("--json", action="store_true", help="Print one JSON object per file.")

    def handle(self, *args: Any, **options: Any) -> None:
        with operator():
            namespace_id = find_namespace(options["namespace"]).pk
        if missing := [str(path) for path in options["paths"] if not path.exists()]:
            raise CommandError(f"No such file or folder: {', '.join(missing)}")
        files = list(readable_files(options["paths"]))
        if not files:
            raise CommandError("There is nothing to ingest there: no file of a kind that is read.")
        results = [self._take(namespace_id, path, options) for path in self._bar(files, "taking")]
        accepted = [one for one in results if one.get("job_id") and one["status"] != "duplicate"]
        audit.record(
            "document.ingest",
            namespace=namespace_id,
            count=len(accepted),
            details=dict(Counter(one["status"] for one in results)),
        )
        if not options["no_wait"]:
            self._index(namespace_id, results)
        self._report(results, as_json=options["json"])

    def _take(self, namespace_id: uuid.UUID, path: Path, options: dict[str, Any]) -> dict[str, Any]:
        tags = [tag.strip() for tag in options["tags"].split(",") if tag.strip()]
        name = os.fsencode(path.name).decode(errors="replace")
        result: dict[str, Any] = {"path": os.fsencode(path).decode(errors="replace")}
        try:
            with path.open("rb") as opened:
                receipt = intake.accept(
                    namespace_id,
                    intake.Submission(
                        content=File(opened, name=name),
                        file_name=name,
                        source_uri=path.resolve().as_uri(),
                        tags=tags or None,
                        rows_as_facts=options["rows_as_facts"],
                        on_duplicate=options["on_duplicate"],
                    ),
                )
        except IngestError as error:
            return result | {"status": "rejected", "code": error.code, "message": str(error)}
        except OSError as error:
            return result | {"status": "rejected", "code": "unreadable", "message": str(error)}
        status = "duplicate" if receipt.duplicate else receipt.status
        ids = {"document_id": str(receipt.document_id), "job_id": receipt.job_id}
        warnings = {"warnings": receipt.warnings} if receipt.warnings else {}
        return result | ids | {"status": status, "version": receipt.version} | warnings

    def _index(self, namespace_id: uuid.UUID, results: list[dict[str, Any]]) -> None:
        """Here and now, beside any running workers."""
        pending = [result["job_id"] for result in results if result.get("job_id")]
        with self._bar(None, "indexing", total=len(pending)) as bar:
            work_off(namespace_id, pending, progress=lambda done, _: bar.update(done - bar.n))
        with namespace(namespace_id):
            ids = [result["document_id"] for result in results if result.get("job_id")]
            documents = Document.objects.in_bulk([uuid.UUID(id_) for id_ in ids])
        for result in results:
            if result.get("job_id") and (d := documents.get(uuid.UUID(result["document_id"]))):
                result |= {"status": d.status, "chunks": d.chunks_count}
                if d.error_code:
                    result |= {"code": d.error_code, "message": d.error_message}

    def _report(self, results: list[dict[str, Any]], *, as_json: bool) -> None:
        if as_json:
            for result in results:
                self.stdout.write(json.dumps(result, default=str))
        else:
            for result in results:
                if "code" in result:
                    line = f"{result['path']}: {result['code']}: {result['message']}"
                    self.stderr.write(self.style.ERROR(line))
            counts = Counter(result["status"] for result in results)
            self.stdout.write(", ".join(f"{n} {status}" for status, n in sorted(counts.items())))
        if any(result["status"] in ("rejected", "failed", "cancelled") for result in results):
            sys.exit(1)

    def _bar(self, items: Any, what: str, *, total: int | None = None) -> Any:
        return tqdm(items, desc=what, total=total, unit="file", disable=not sys.stderr.isatty())
