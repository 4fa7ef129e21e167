"""`manage.py ablate --golden-set NAME`: measure the effect of each part of the search."""

from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from evaluation.errors import EvaluationError
from evaluation.experiments.ablation import ChunkSize, ablate_chunks, ablate_retrieval
from evaluation.experiments.ann_methods import measure_methods
from evaluation.experiments.ann_recall import question_vectors
from evaluation.golden.curating import find_set
from evaluation.management.options import bar_updater, find_tenant, progress_bar, quiet_search_log
from evaluation.reports.ablation import Section, markdown, method_section, outcome_section, write
from evaluation.runs.code_version import code_version
from evaluation.runs.runner import ProgressCallback
from ragsite.database.tenancy import namespace

PARTS = ("retrieval", "chunks", "ann")
WEIGHTS = "0.1,0.2,0.3,0.4,0.6,0.7,0.8,0.9"
CUTS = "128/19,400/60"


class Command(BaseCommand):
    help = (
        "Measure a golden set under one change at a time: vectors, words, both (rrf, weighted "
        "over a sweep of weights), each configured reranker; other chunk sizes and overlaps, on "
        "copies of the documents; hnsw, ivfflat and an exact scan. Every variant is stored as a "
        "run. Prints Markdown; --out also writes ablation.md and ablation.html."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--golden-set", required=True, help="Name or id of the golden set.")
        parser.add_argument("--namespace", default="default", help="Slug (default: default).")
        parser.add_argument(
            "--only",
            action="append",
            choices=PARTS,
            help="Run only this part; repeatable (default: all).",
        )
        parser.add_argument(
            "--weights",
            default=WEIGHTS,
            help=f"Weights of the vectors to try (default: {WEIGHTS}).",
        )
        parser.add_argument(
            "--chunks",
            default=CUTS,
            metavar="SIZE/OVERLAP,…",
            help=f"Sizes and overlaps to try, in the chunker's unit (default: {CUTS}).",
        )
        parser.add_argument("--out", type=Path, metavar="FOLDER")

    def handle(self, *args: Any, **options: Any) -> None:
        quiet_search_log()
        tenant = find_tenant(options["namespace"])
        parts = options["only"] or PARTS
        try:
            weights = [float(weight) for weight in options["weights"].split(",") if weight]
            if not all(0 <= weight <= 1 for weight in weights):
                raise ValueError
        except ValueError:
            raise CommandError("--weights takes numbers from 0 to 1, with commas.") from None
        sections: list[Section] = []
        try:
            cuts = [ChunkSize.parse(text) for text in options["chunks"].split(",") if text]
            with namespace(tenant.pk):
                golden_set = find_set(options["golden_set"], namespace_id=tenant.pk)
            if "retrieval" in parts:
                outcomes = ablate_retrieval(golden_set, weights, started=self._progress)
                sections.append(outcome_section("Retrieval", outcomes))
            if "chunks" in parts:
                outcomes = ablate_chunks(tenant, golden_set, cuts, started=self._progress)
                sections.append(outcome_section("Chunks", outcomes))
            if "ann" in parts:
                rows, methods = measure_methods(tenant, question_vectors(tenant, 200))
                sections.append(method_section(rows, methods))
        except EvaluationError as error:
            raise CommandError(str(error)) from None
        title = f"Ablation: {golden_set.name}"
        notes = [
            f"Namespace {tenant.slug}, {tenant.chunk_count:,} chunks, {code_version()}. Gains are "
            "against the first row of their table, with the p-value of a paired randomisation "
            "test."
        ]
        self.stdout.write(markdown(title, sections, notes))
        if options["out"]:
            write(options["out"], title, sections, notes)

    def _progress(self, name: str) -> ProgressCallback:
        update: ProgressCallback = bar_updater(progress_bar(name, "step"))
        return update
