"""`manage.py ingest PATH…`: ingests files and folders, and indexes them in this process."""

import json
import sys
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.files.base import File
from django.core.management import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from documents.accounts import audit
from documents.chunking.methods import SIZES, ChunkingOptions
from documents.errors import IngestError
from documents.extractors.encodings import encoding_named
from documents.ingestion import removal
from documents.intake import folder_sync, intake
from documents.intake.archives import expanded
from documents.intake.batches import OnePerSource
from documents.intake.folders import FoundFile, OutsideRoot, found_files, origin_of, readable
from documents.jobs import queue
from documents.jobs.drain import run_until_done
from documents.loading import loading
from documents.loading.files import FileOptions
from documents.loading.progress import loading_progress
from documents.models import Document
from ragsite.database.tenancy import namespace, operator
from ragsite.platform.wording import plural

from .api_key import find_namespace

LISTED = 200  # lines of a plan; --json has all of them
AT_ONCE = 1000  # ids in a query


class Command(BaseCommand):
    help = (
        "Ingest files and folders of every supported format into a namespace, and wait until they "
        "are searchable. A file is identified by its path below the folder; unchanged files are "
        "skipped, changed ones become new versions. With --sync renamed files keep their document, "
        "and documents of deleted files are deleted. Exit code 1 if any file failed."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
        parser.add_argument("--namespace", default="default", help="Slug (default: default).")
        parser.add_argument("--tags", default="", help="Comma-separated tags for every file.")
        parser.add_argument(
            "--collection", default="", help="Name of a collection to add every file to."
        )
        parser.add_argument(
            "--encoding", default="", help="Text encoding of the files, e.g. latin-1."
        )
        parser.add_argument(
            "--on-duplicate",
            choices=["skip", "keep", "error"],
            help="What to do with content that exists under another path (default: skip; with "
            "--sync: keep).",
        )
        parser.add_argument(
            "--rows-as-facts",
            action="store_true",
            default=None,
            help="Store the rows of CSV, TSV and XLSX files as facts.",
        )
        parser.add_argument(
            "--chunker", choices=SIZES, help="Chunker for these files (default: the profile's)."
        )
        parser.add_argument("--size", type=int, help="Chunk size, in the chunker's unit.")
        parser.add_argument("--overlap", type=int, help="Overlap of chunks, in the same unit.")
        parser.add_argument(
            "--bulk",
            action="store_true",
            help="For thousands of documents: read, embed and store many of them together, on "
            "every core. If it is interrupted, run the same command again to continue.",
        )
        parser.add_argument(
            "--processes",
            type=int,
            default=0,
            help="With --bulk: number of processes (default: one per core).",
        )
        parser.add_argument(
            "--keep-index",
            action="store_true",
            help="With --bulk: keep the vector index during the load, which is slower, instead of "
            "building it afterwards; searches stay fast in the meantime.",
        )
        parser.add_argument(
            "--no-wait", action="store_true", help="Queue the files for the workers, and exit."
        )
        parser.add_argument("--json", action="store_true", help="Print one JSON object per file.")
        self._add_identity_arguments(parser)
        self._add_sync_arguments(parser)

    def _add_identity_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--root",
            type=Path,
            help="The folder that paths of files are relative to (default: PATH).",
        )
        parser.add_argument(
            "--prefix", default="", help="Text to put before each path, e.g. handbook."
        )
        parser.add_argument(
            "--source",
            default="",
            metavar="NAME",
            help="Name under which the folder is remembered (default: its path). Set one if "
            "the folder will be in another place next time.",
        )
        parser.add_argument(
            "--adopt",
            action="store_true",
            help="Take over documents with the same path that came from another source.",
        )

    def _add_sync_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--sync",
            action="store_true",
            help="Also delete the documents of files that are no longer in the folder. Only "
            "documents that came from this folder are considered.",
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="With --sync: print the plan and change nothing."
        )
        parser.add_argument("--yes", action="store_true", help="Delete without asking.")
        parser.add_argument(
            "--force",
            action="store_true",
            help="With --sync: delete even if no document of the folder would be left.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        self.options = options
        if options["encoding"] and not encoding_named(options["encoding"]):
            raise CommandError(f"There is no encoding {options['encoding']!r}.")
        with operator():
            namespace_id = find_namespace(options["namespace"]).pk
        if options["bulk"] and options["no_wait"]:
            raise CommandError("--bulk indexes in this process; --no-wait leaves it to workers.")
        if options["sync"]:
            self._sync(namespace_id)
            return
        if options["dry_run"]:
            raise CommandError("--dry-run belongs to --sync.")
        if missing := [str(path) for path in options["paths"] if not path.exists()]:
            raise CommandError(f"No such file or folder: {', '.join(missing)}")
        files = self._files()
        if not files:
            raise CommandError("There is nothing to ingest: no file of a supported format.")
        results = self._take_all(namespace_id, files)
        self._report(results)

    def _files(self) -> list[FoundFile]:
        options = self.options
        try:
            return list(
                found_files(
                    options["paths"],
                    root=options["root"],
                    source=options["source"],
                    prefix=options["prefix"],
                )
            )
        except OutsideRoot as error:
            raise CommandError(str(error)) from None

    # -- without --sync ----------------------------------------------------------------------

    def _take_all(self, namespace_id: uuid.UUID, files: list[FoundFile]) -> list[dict[str, Any]]:
        loaded: list[dict[str, Any]] = []
        if self.options["bulk"]:
            loaded, files = self._load(namespace_id, files)
        batch = OnePerSource()
        results = [
            result
            for file in self._bar(files, "taking", disable=not files)
            for result in self._take(namespace_id, file, batch)
        ]
        results = loaded + results
        accepted = [one for one in results if one.get("job_id") and one["status"] != "duplicate"]
        audit.record(
            "document.ingest",
            namespace=namespace_id,
            count=len(accepted),
            details=dict(Counter(one["status"] for one in results)),
        )
        if not self.options["no_wait"]:
            self._index(namespace_id, results)
        return results

    def _load(
        self, namespace_id: uuid.UUID, files: list[FoundFile]
    ) -> tuple[list[dict[str, Any]], list[FoundFile]]:
        """Return the results of what was loaded together, and the files that go one by one."""
        with loading_progress(len(files), is_quiet=self.options["json"]) as progress:
            loaded = loading.load(
                namespace_id,
                files,
                self._file_options(),
                processes=self.options["processes"],
                keep_index=self.options["keep_index"],
                progress=progress,
            )
        return loaded.results, loaded.left

    def _take(
        self, namespace_id: uuid.UUID, file: FoundFile, batch: OnePerSource
    ) -> Iterator[dict[str, Any]]:
        about: dict[str, Any] = {"path": readable(file.path)}
        try:
            with file.path.open("rb") as opened:
                folder_sync.adopt(namespace_id, file, by_name=self.options["adopt"])
                submission = folder_sync.submission_of(file, File(opened, name=file.name))
                whole = self._file_options().applied_to(submission)
                for submission, refused in expanded(whole):
                    result = about | {"source_uri": submission.source_uri}
                    yield result | self._accept(namespace_id, submission, refused, batch)
        except OSError as error:
            failure = {"status": "rejected", "code": "unreadable", "message": str(error)}
            yield about | {"source_uri": file.source_uri} | failure

    def _file_options(self) -> FileOptions:
        options = self.options
        tags = tuple(tag.strip() for tag in options["tags"].split(",") if tag.strip())
        return FileOptions(
            tags=tags or None,
            collection=options["collection"],
            rows_as_facts=options["rows_as_facts"],
            on_duplicate=options["on_duplicate"] or ("keep" if options["sync"] else "skip"),
            encoding=options["encoding"],
            chunking=self._chunking(),
        )

    def _chunking(self) -> ChunkingOptions | None:
        options = self.options
        asked = ChunkingOptions(options["chunker"], options["size"], options["overlap"])
        return asked if asked.as_json() else None

    def _accept(
        self,
        namespace_id: uuid.UUID,
        submission: intake.Submission,
        refused: IngestError | None,
        batch: OnePerSource,
    ) -> dict[str, Any]:
        try:
            if refused is not None:
                raise refused
            batch.check(submission)
            receipt = intake.accept(namespace_id, submission)
        except IngestError as error:
            return {"status": "rejected", "code": error.code, "message": str(error)}
        duplicate = "updated" if receipt.updated else "duplicate"
        result = {
            "document_id": str(receipt.document_id),
            "job_id": receipt.job_id,
            "status": duplicate if receipt.duplicate else receipt.status,
            "version": receipt.version,
        }
        if receipt.source_uri != submission.source_uri:
            result["duplicate_of"] = receipt.source_uri
        return result | ({"warnings": receipt.warnings} if receipt.warnings else {})

    def _index(self, namespace_id: uuid.UUID, results: list[dict[str, Any]]) -> None:
        """Run the jobs in this process, alongside any workers."""
        ids = [result["job_id"] for result in results if result.get("job_id")]
        pending = [
            job_id for some in _batches(ids) for job_id in queue.still_open(namespace_id, some)
        ]
        if pending:
            with self._bar(None, "indexing", total=len(pending)) as bar:
                progress = lambda done, _: bar.update(done - bar.n)  # noqa: E731
                run_until_done(namespace_id, pending, progress=progress)
        documents: dict[uuid.UUID, Document] = {}
        named = [uuid.UUID(r["document_id"]) for r in results if r.get("job_id")]
        for some in _batches(named):
            with namespace(namespace_id):
                documents |= Document.objects.in_bulk(some)
        for result in results:
            if result.get("job_id") and (d := documents.get(uuid.UUID(result["document_id"]))):
                result |= {"status": d.status, "chunks": d.chunks_count}
                if d.error_code:
                    result |= {"code": d.error_code, "message": d.error_message}

    # -- with --sync -------------------------------------------------------------------------

    def _sync(self, namespace_id: uuid.UUID) -> None:
        options = self.options
        (folder, *more) = options["paths"]
        if more or folder.is_file():
            raise CommandError("--sync takes one folder.")
        if not folder.is_dir() and not options["force"]:
            raise CommandError(f"No such folder: {folder}. (--force treats it as empty.)")
        files = self._files() if folder.is_dir() else []
        origin = options["source"] or origin_of(options["root"] or folder)
        if not options["dry_run"]:
            for file in files:
                folder_sync.adopt(namespace_id, file, by_name=options["adopt"])
        plan = folder_sync.compare(namespace_id, files, origin=origin)
        self._print_plan(plan)
        if options["dry_run"]:
            self._print_summary(plan.counts())
            return
        self._check_deletions(plan)
        folder_sync.apply_renames(namespace_id, plan)
        files = plan.all_files if self._chunking() else plan.files_to_take
        results = self._take_all(namespace_id, files)
        gone = [document.document_id for document in plan.gone]
        removed = removal.remove_many(namespace_id, gone, details={"sync": origin})
        deleted = {"deleted": len(removed.document_ids), "chunks_deleted": removed.chunks}
        self._report(results, summary={**plan.counts(), **deleted})

    def _check_deletions(self, plan: folder_sync.SyncPlan) -> None:
        if not plan.gone:
            return
        what = plural(len(plan.gone), "document")
        if plan.deletes_everything and not self.options["force"]:
            raise CommandError(
                f"None of the known files is in this folder any more: {what} would be deleted. "
                "Is it the right one, and mounted? --force deletes them."
            )
        if self.options["yes"]:
            return
        if self.options["json"] or not sys.stdin.isatty():
            raise CommandError(f"{what} would be deleted: confirm it with --yes.")
        if input(f"Delete {what}? [y/N] ").strip().lower() not in ("y", "yes"):
            raise CommandError("Nothing was changed.")

    def _print_plan(self, plan: folder_sync.SyncPlan) -> None:
        lines: list[dict[str, str]] = [
            *({"action": "new", "source_uri": e.source_uri} for e in plan.new),
            *({"action": "changed", "source_uri": e.source_uri} for e in plan.changed),
            *(
                {"action": "renamed", "source_uri": m.entry.source_uri, "before": m.before}
                for m in plan.renamed
            ),
            *({"action": "gone", "source_uri": known.source_uri} for known in plan.gone),
        ]
        if self.options["json"]:
            for line in lines:
                self.stdout.write(json.dumps(line))
            return
        for line in lines[:LISTED]:
            before = f"{line['before']} -> " if "before" in line else ""
            self.stdout.write(f"{line['action']:8} {before}{line['source_uri']}")
        if len(lines) > LISTED:
            self.stdout.write(f"… and {len(lines) - LISTED} more")

    def _print_summary(self, counts: dict[str, int]) -> None:
        if self.options["json"]:
            self.stdout.write(json.dumps({"summary": counts}))
        else:
            self.stdout.write(", ".join(f"{n} {name}" for name, n in counts.items()))

    def _report(
        self, results: list[dict[str, Any]], *, summary: dict[str, int] | None = None
    ) -> None:
        counts = Counter(result["status"] for result in results)
        if self.options["json"]:
            for result in results:
                self.stdout.write(json.dumps(result, default=str))
        else:
            for result in results:
                if "code" in result:
                    line = f"{result['path']}: {result['code']}: {result['message']}"
                    self.stderr.write(self.style.ERROR(line))
            if counts or summary is None:
                statuses = (f"{n} {status}" for status, n in sorted(counts.items()))
                self.stdout.write(", ".join(statuses))
        if summary is not None:
            self._print_summary(summary)
        if any(result["status"] in ("rejected", "failed", "cancelled") for result in results):
            sys.exit(1)

    def _bar(
        self, items: Any, what: str, *, total: int | None = None, disable: bool = False
    ) -> Any:
        hidden = disable or not sys.stderr.isatty()
        return tqdm(items, desc=what, total=total, unit="file", disable=hidden)


def _batches(ids: list[uuid.UUID]) -> Iterator[list[uuid.UUID]]:
    for start in range(0, len(ids), AT_ONCE):
        yield ids[start : start + AT_ONCE]
