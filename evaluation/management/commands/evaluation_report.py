"""`manage.py evaluation_report RUN --out FOLDER`: a run as an HTML page and PNG charts."""

from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from evaluation.errors import EvaluationError
from evaluation.management.options import find_run
from evaluation.models import EvaluationRun
from evaluation.reports.files import write_report
from evaluation.runs.comparison import compare
from ragsite.database.tenancy import operator


class Command(BaseCommand):
    help = (
        "Write report.html, a page that needs no other file, and every chart as PNG: recall "
        "curve, latency, measures over time; with --compare also gains and losses by query."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", help="A run's id, the beginning of its id, or its label.")
        parser.add_argument("--compare", metavar="OTHER", help="The run to compare it with (a).")
        parser.add_argument("--out", type=Path, required=True, metavar="FOLDER")

    def handle(self, *args: Any, **options: Any) -> None:
        with operator():
            run = find_run(options["run"])
            if run.state != EvaluationRun.State.SUCCEEDED:
                raise CommandError(f"This run has not succeeded: it is {run.state}.")
            try:
                comparison = None
                if options["compare"]:
                    comparison = compare(find_run(options["compare"], near=run.namespace), run)
                page = write_report(run, options["out"], comparison=comparison)
            except EvaluationError as error:
                raise CommandError(str(error)) from None
        self.stdout.write(str(page))
