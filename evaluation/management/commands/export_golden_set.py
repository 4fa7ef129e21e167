"""`manage.py export_golden_set NAME --out PATH`: a golden set as JSONL, CSV or a BEIR folder."""

from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from documents.accounts import audit
from documents.management.commands.api_key import find_namespace
from evaluation.errors import EvaluationError
from evaluation.golden.curating import find_set
from evaluation.golden.exporting import export_beir, questions_of, training_rows
from evaluation.golden.formats import write_csv, write_jsonl
from ragsite.database.tenancy import namespace, operator


class Command(BaseCommand):
    help = (
        "Export a golden set: jsonl and csv can be imported again as they are; beir is a folder "
        "with the namespace's documents as its corpus; hard-negatives is JSONL for training "
        "rerankers (query, positive, negatives)."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="Name or id of the golden set.")
        parser.add_argument("--namespace", default="default", help="Slug (default: default).")
        parser.add_argument(
            "--format", choices=["jsonl", "csv", "beir", "hard-negatives"], default="jsonl"
        )
        parser.add_argument(
            "--out", type=Path, help="File, or folder for beir (default: standard output)."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        out: Path | None = options["out"]
        with operator():
            tenant = find_namespace(options["namespace"])
        with namespace(tenant.pk):
            try:
                golden_set = find_set(options["name"], namespace_id=tenant.pk)
            except EvaluationError as error:
                raise CommandError(str(error)) from None
            how = {"format": options["format"]}
            audit.record("goldenset.export", target=golden_set, details=how)
            if options["format"] == "beir":
                if out is None:
                    raise CommandError("Name the folder with --out.")
                export_beir(golden_set, out)
                return
            if options["format"] == "csv":
                text = write_csv(questions_of(golden_set))
            elif options["format"] == "jsonl":
                text = "".join(write_jsonl(questions_of(golden_set)))
            else:
                text = "".join(training_rows(golden_set))
        if out is None:
            self.stdout.write(text, ending="")
        else:
            out.write_text(text)
