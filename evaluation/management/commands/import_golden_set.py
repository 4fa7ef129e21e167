"""`manage.py import_golden_set PATH`: golden queries, and with --with-corpus their documents."""

import json
import sys
import uuid
from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from documents.management.commands.api_key import find_namespace
from evaluation.errors import EvaluationError
from evaluation.golden.formats import GoldenQuestion, read_beir, read_corpus, read_csv, read_jsonl
from evaluation.golden.importing import CorpusReport, import_questions, ingest_corpus
from ragsite.database.tenancy import operator
from ragsite.platform.wording import plural

FORMATS = ("beir", "jsonl", "csv")


class Command(BaseCommand):
    help = (
        "Import golden queries with their judgements: a BEIR folder (corpus.jsonl, queries.jsonl, "
        "qrels/*.tsv), a JSONL or a CSV file. Importing again replaces the same queries. Exit "
        "code 1 if a document or a judgement could not be taken."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path, metavar="PATH")
        parser.add_argument("--namespace", default="default", help="Slug (default: default).")
        parser.add_argument(
            "--name", help="Name of the golden set (default: the name of the file or folder)."
        )
        parser.add_argument(
            "--format",
            choices=FORMATS,
            help="Format of the file (default: recognised by the path).",
        )
        parser.add_argument(
            "--split", default="", help="Which of a BEIR folder's qrels to read (default: test)."
        )
        parser.add_argument(
            "--with-corpus",
            action="store_true",
            help="First ingest the documents of a BEIR folder.",
        )
        parser.add_argument(
            "--prefix",
            help="Prefix of a BEIR document's id in its source_uri (default: the set's "
            "name and a colon), so that two collections can share a namespace. Where no such "
            "document is here, the id alone is looked for.",
        )
        parser.add_argument("--json", action="store_true", help="Print the report as JSON.")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["path"]
        if not path.exists():
            raise CommandError(f"There is no {path}.")
        with operator():
            namespace_id: uuid.UUID = find_namespace(options["namespace"]).pk
        kind = options["format"] or ("beir" if path.is_dir() else path.suffix.lstrip("."))
        name = options["name"] or path.resolve().stem
        if kind not in FORMATS:
            raise CommandError("Name the format: --format beir, jsonl or csv.")
        prefix = options["prefix"] if options["prefix"] is not None else f"{name}:"
        try:
            questions = self._read(path, kind, options["split"])
            corpus = None
            if options["with_corpus"]:
                if kind != "beir":
                    raise CommandError("--with-corpus needs a BEIR folder.")
                corpus = self._ingest(namespace_id, path, prefix)
            report = import_questions(
                namespace_id, name, questions, prefix=prefix if kind == "beir" else ""
            )
        except EvaluationError as error:
            raise CommandError(str(error)) from None
        summary = {
            "golden_set": name,
            "id": str(report.golden_set.pk),
            "queries": report.queries,
            "judgements": report.judgements,
            "judged_documents_not_here": report.missing,
            "refused": report.refused,
        }
        if corpus is not None:
            summary |= {
                "documents": corpus.taken,
                "indexed": corpus.indexed,
                "skipped": corpus.skipped,
                "failed": corpus.failed,
            }
        self._print(summary, as_json=options["json"])
        if report.refused or (corpus and corpus.failed):
            sys.exit(1)

    def _read(self, path: Path, kind: str, split: str) -> list[GoldenQuestion]:
        if kind == "beir":
            return read_beir(path, split=split)[0]
        try:
            text = path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            raise CommandError(f"{path} is not UTF-8.") from None
        return read_csv(text) if kind == "csv" else read_jsonl(text.splitlines())

    def _ingest(self, namespace_id: uuid.UUID, path: Path, prefix: str) -> CorpusReport:
        quiet = not sys.stderr.isatty()
        with (
            tqdm(desc="taking", unit="document", disable=quiet) as taking,
            tqdm(desc="indexing", unit="document", disable=quiet) as indexing,
        ):

            def indexed(done: int, total: int) -> None:
                indexing.total = total
                indexing.update(done - indexing.n)

            return ingest_corpus(
                namespace_id,
                read_corpus(path),
                prefix=prefix,
                took=taking.update,
                indexed=indexed,
            )

    def _print(self, summary: dict[str, Any], *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps(summary))
            return
        for line in (*summary["refused"], *summary.get("failed", [])[:20]):
            self.stderr.write(self.style.WARNING(line))
        if skipped := summary.get("skipped"):
            named = ", ".join(skipped[:20])
            self.stderr.write(
                self.style.WARNING(f"Skipped {plural(len(skipped), 'empty document')}: {named}")
            )
        documents = ""
        if "documents" in summary:
            accepted = plural(summary["documents"], "document")
            documents = f"{accepted} accepted, {summary['indexed']} indexed; "
        self.stdout.write(
            f"{documents}{plural(summary['queries'], 'query')} with "
            f"{plural(summary['judgements'], 'judgement')} in "
            f"{summary['golden_set']!r}"
            + (
                f"; missing: {plural(summary['judged_documents_not_here'], 'judged document')}"
                if summary["judged_documents_not_here"]
                else ""
            )
        )
