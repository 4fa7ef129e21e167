"""`manage.py export_training --output FILE`: positives and hard negatives as JSON lines."""

from itertools import chain
from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from documents.accounts import audit
from evaluation.errors import EvaluationError
from evaluation.golden.curating import find_set
from evaluation.learning.examples import feedback_examples, golden_examples
from evaluation.learning.exporting import SHAPES, json_lines
from evaluation.management.options import find_tenant
from ragsite.database.tenancy import namespace
from ragsite.platform.wording import plural


class Command(BaseCommand):
    help = (
        "Export a namespace's judged questions and feedback for training rerankers and embedders. "
        "questions: one line for each question, with places and reasons; triplets: anchor, "
        "positive, negative; lists: query, docs, labels. sentence-transformers reads the last two "
        "as they are."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--namespace", default="default", help="Slug (default: default).")
        parser.add_argument("--output", type=Path, help="File (default: standard output).")
        parser.add_argument("--shape", choices=list(SHAPES), default="questions")
        parser.add_argument("--golden-set", default="", help="Only judgements of this golden set.")
        parser.add_argument(
            "--no-feedback", action="store_true", help="Only judgements, no feedback."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        tenant = find_tenant(options["namespace"])
        with namespace(tenant.pk):
            name = ""
            if options["golden_set"]:
                try:
                    name = find_set(options["golden_set"], namespace_id=tenant.pk).name
                except EvaluationError as error:
                    raise CommandError(str(error)) from None
            examples = golden_examples(tenant.pk, name)
            if not options["no_feedback"]:
                examples = chain(examples, feedback_examples(tenant.pk))
            lines = list(json_lines(examples, options["shape"]))
            how = {"shape": options["shape"], "feedback": not options["no_feedback"]}
            audit.record(
                "training.export", count=len(lines), namespace=tenant, target=tenant, details=how
            )
        if options["output"] is None:
            self.stdout.write("".join(lines), ending="")
            return
        options["output"].write_text("".join(lines), encoding="utf-8")
        self.stdout.write(f"{plural(len(lines), 'line')} in {options['output']}")
