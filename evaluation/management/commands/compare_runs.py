"""`manage.py compare_runs A B`: compare two runs, and show why queries got worse."""

import json
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from documents.management.commands.api_key import find_namespace
from evaluation.errors import EvaluationError
from evaluation.management.options import find_run
from evaluation.measures.metrics import UnknownMeasure
from evaluation.reports.tables import change_lines, comparison_table, described
from evaluation.runs.comparison import MEASURE, Comparison, as_data, compare
from ragsite.database.tenancy import operator


class Command(BaseCommand):
    help = (
        "Compare run B with run A: means, gains with intervals and p-values, wins and losses by "
        "query, and for each changed query the ranks of its answers at every stage."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("a", help="A run's id, the beginning of its id, or its label.")
        parser.add_argument("b", help="The same.")
        parser.add_argument(
            "--namespace",
            help="Slug of the namespace in which labels are looked up (default: all).",
        )
        parser.add_argument(
            "--measure", default=MEASURE, help=f"Wins and losses by this (default: {MEASURE})."
        )
        parser.add_argument(
            "--most", type=int, default=20, help="Number of queries to show (default: 20)."
        )
        parser.add_argument(
            "--json", action="store_true", help="Print the whole comparison as JSON."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        with operator():
            near = find_namespace(options["namespace"]) if options["namespace"] else None
            a, b = find_run(options["a"], near=near), find_run(options["b"], near=near)
            if a.namespace_id != b.namespace_id:
                raise CommandError(
                    "These runs belong to different namespaces: "
                    f"{a.namespace.slug} and {b.namespace.slug}. Name one with --namespace."
                )
            try:
                comparison = compare(a, b, measure=options["measure"])
            except (EvaluationError, UnknownMeasure) as error:
                raise CommandError(str(error)) from None
        if options["json"]:
            self.stdout.write(json.dumps(as_data(comparison)))
        else:
            self._print(comparison, options["most"])

    def _print(self, comparison: Comparison, limit: int) -> None:
        self.stdout.write(f"a  {described(comparison.a)}\nb  {described(comparison.b)}\n")
        self.stdout.write(comparison_table(comparison))
        wins, losses = comparison.wins, comparison.losses
        self.stdout.write(
            f"\nBy {comparison.measure}: {len(wins)} better, {len(losses)} worse, "
            f"{comparison.ties} the same.\n"
        )
        for title, changes in (("Worse", losses), ("Better", wins)):
            if changes:
                self.stdout.write(f"{title} (ranks in a → in b):")
            for change in changes[:limit]:
                self.stdout.write("\n".join(f"  {line}" for line in change_lines(change)))
        for warning in comparison.warnings:
            self.stderr.write(self.style.WARNING(warning))
