"""`manage.py evaluate --golden-set NAME`: measures the search in this process."""

import json
import sys
from contextlib import ExitStack
from dataclasses import asdict, replace
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError, CommandParser

from documents.models import Namespace
from evaluation.errors import EvaluationError
from evaluation.experiments.scratch import copied
from evaluation.golden.curating import find_set
from evaluation.management.options import (
    add_search_options,
    bar_updater,
    find_profile,
    find_run,
    find_tenant,
    options_from,
    progress_bar,
    quiet_search_log,
)
from evaluation.models import EvaluationRun
from evaluation.reports.tables import described, run_table, worst_lines
from evaluation.runs.comparison import MEASURE, compare
from evaluation.runs.gates import HEADLINES, Floor, regressions
from evaluation.runs.runner import measure_now
from evaluation.runs.worst import WorstQuestion, worst_questions
from ragsite.database.tenancy import namespace, operator
from ragsite.platform.wording import plural

FAILED, BELOW = 1, 2


class Command(BaseCommand):
    help = (
        "Run every query of a golden set, measure the results and store the run. Exit code 0: "
        "measured, and every gate holds; 1: it could not be measured; 2: a gate does not hold."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--golden-set", required=True, help="Name or id of the golden set.")
        parser.add_argument("--namespace", default="default", help="Slug (default: default).")
        parser.add_argument("--label", default="", help="Label of the run.")
        parser.add_argument(
            "--profile",
            help="Measure a copy of the documents, indexed under this profile for the run.",
        )
        add_search_options(parser)
        parser.add_argument(
            "--answers",
            action="store_true",
            help="Also answer every question, and measure the answers. Questions tagged "
            "`unanswerable` should be refused.",
        )
        parser.add_argument(
            "--model",
            default="",
            help="Alias of the language model that answers (default: the namespace's).",
        )
        parser.add_argument(
            "--fail-under",
            action="append",
            default=[],
            metavar="MEASURE=VALUE",
            help="A gate, e.g. ndcg@10=0.7, answer@context=0.9, document@3=0.95 (an expected "
            "document is among the first 3 results), or p95_ms=200 for the maximum latency. "
            "Repeatable.",
        )
        parser.add_argument(
            "--no-worse-than",
            metavar="RUN",
            help=f"An earlier run's id or label, below which {', '.join(HEADLINES)} may not fall.",
        )
        parser.add_argument(
            "--tolerance",
            type=float,
            default=0.0,
            help="The decrease that --no-worse-than allows (default: 0).",
        )
        parser.add_argument(
            "--worst",
            type=int,
            default=5,
            metavar="N",
            help="Number of worst questions to print (default: 5).",
        )
        parser.add_argument("--json", action="store_true", help="Print the run as JSON.")

    def handle(self, *args: Any, **options: Any) -> None:
        quiet_search_log()
        tenant = find_tenant(options["namespace"])
        try:
            floors = [Floor.parse(text) for text in options["fail_under"]]
            before = None
            if options["no_worse_than"]:
                with operator():
                    before = find_run(options["no_worse_than"], near=tenant)
            run = self._measure(tenant, options)
            if run.state != EvaluationRun.State.SUCCEEDED:
                raise CommandError(f"{run.state}: {run.error_message}", returncode=FAILED)
            broken = [message for floor in floors if (message := floor.broken(run))]
            if before is not None:
                with namespace(tenant.pk):
                    comparison = compare(before, run)
                broken += regressions(comparison, tolerance=options["tolerance"])
        except EvaluationError as error:
            raise CommandError(str(error), returncode=FAILED) from None
        with namespace(tenant.pk):
            worst = worst_questions(run, limit=max(0, options["worst"]))
        self._report(run, broken, worst, as_json=options["json"])
        if broken:
            sys.exit(BELOW)

    def _measure(self, tenant: Namespace, options: dict[str, Any]) -> EvaluationRun:
        asked = options_from(options)
        if options["answers"]:
            verify = bool(settings.ANSWERS["verifier"])
            asked = replace(asked, answers=True, model=options["model"], verify=verify)
        elif options["model"]:
            raise CommandError("--model needs --answers.", returncode=FAILED)
        with namespace(tenant.pk):
            golden_set = find_set(options["golden_set"], namespace_id=tenant.pk)
        with ExitStack() as stack:
            searched, own_ids = tenant.pk, None
            if options["profile"] and options["profile"] != tenant.active_profile.name:
                profile = find_profile(options["profile"], near=tenant.pk)
                indexing = stack.enter_context(progress_bar("indexing", "document"))
                scratch = stack.enter_context(
                    copied(tenant, profile, progress=bar_updater(indexing))
                )
                searched, own_ids = scratch.namespace_id, scratch.own_ids
            asking = stack.enter_context(progress_bar("asking"))
            return measure_now(
                golden_set,
                asked,
                label=options["label"],
                searched=searched,
                own_ids=own_ids,
                progress=bar_updater(asking),
            )

    def _report(
        self, run: EvaluationRun, broken: list[str], worst: list[WorstQuestion], *, as_json: bool
    ) -> None:
        if as_json:
            summary = {
                "run": str(run.pk),
                "golden_set": run.golden_set.name,
                "label": run.label,
                "code_version": run.code_version,
                "queries": run.queries_done,
                "metrics": run.metrics,
                "latency_ms": run.latency_ms,
                "tokens": run.tokens,
                "warnings": run.warnings,
                "configuration": run.configuration,
                "broken": broken,
                "worst": [asdict(question) for question in worst],
            }
            self.stdout.write(json.dumps(summary))
            return
        self.stdout.write(
            f"{run.golden_set.name}: {plural(run.queries_done, 'query')}, {described(run)}\n"
        )
        self.stdout.write(run_table(run))
        if worst:
            self.stdout.write(f"\nThe worst questions, by {MEASURE}:")
        for question in worst:
            self.stdout.write("\n".join(worst_lines(question)))
        for warning in run.warnings:
            self.stderr.write(self.style.WARNING(warning))
        for line in broken:
            self.stderr.write(self.style.ERROR(line))
