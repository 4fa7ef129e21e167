"""`manage.py train_reranker --golden-set NAME`: the reranker `learned` of a namespace."""

import json
import sys
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from evaluation.errors import EvaluationError
from evaluation.golden.curating import find_set
from evaluation.learning.training import SIGNIFICANCE, Trained, train
from evaluation.management.options import (
    bar_updater,
    find_tenant,
    progress_bar,
    quiet_search_log,
)
from ragsite.database.tenancy import namespace
from retrieval.learned import learned_models
from retrieval.rerankers.linear import FEATURES

FAILED, NOT_BETTER = 1, 2


class Command(BaseCommand):
    help = (
        "Train a small linear model on a golden set and the namespace's feedback, and install it "
        "as the namespace's reranker `learned`. Exit code 0: installed; 1: it could not be "
        "trained; 2: on held-out questions it is not significantly better than the fused order, "
        "so nothing was installed."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--namespace", default="default", help="Slug (default: default).")
        parser.add_argument("--golden-set", default="", help="Name or id of the golden set.")
        parser.add_argument(
            "--dry-run", action="store_true", help="Train and measure, but install nothing."
        )
        parser.add_argument(
            "--remove", action="store_true", help="Remove the installed model instead."
        )
        parser.add_argument("--json", action="store_true", help="Print the figures as JSON.")

    def handle(self, *args: Any, **options: Any) -> None:
        quiet_search_log()
        tenant = find_tenant(options["namespace"])
        if options["remove"]:
            was_there = learned_models.remove(tenant.pk)
            self.stdout.write("The model was removed." if was_there else "There was no model.")
            return
        try:
            with namespace(tenant.pk):
                golden_set = find_set(options["golden_set"], namespace_id=tenant.pk)
            with progress_bar("asking") as shown:
                trained = train(golden_set, progress=bar_updater(shown))
        except EvaluationError as error:
            raise CommandError(str(error), returncode=FAILED) from None
        installs = trained.is_better and not options["dry_run"]
        if installs:
            learned_models.install(
                tenant.pk, trained.model, metrics=trained.metrics, training=trained.training
            )
        self._report(trained, installs=installs, as_json=options["json"])
        if not trained.is_better:
            sys.exit(NOT_BETTER)

    def _report(self, trained: Trained, *, installs: bool, as_json: bool) -> None:
        if as_json:
            weights = dict(zip(FEATURES, trained.model.weights, strict=True))
            summary = {
                "installed": installs,
                "metrics": trained.metrics,
                "training": trained.training,
                "weights": {name: round(weight, 4) for name, weight in weights.items()},
            }
            self.stdout.write(json.dumps(summary))
            return
        self.stdout.write(_sentences(trained))
        for name, weight in sorted(
            zip(FEATURES, trained.model.weights, strict=True), key=lambda pair: -abs(pair[1])
        ):
            self.stdout.write(f"  {name:<13}{weight:+.3f}")
        if installs:
            self.stdout.write('Installed. Searches use it with "rerank": "learned".')
        elif trained.is_better:
            self.stdout.write("Not installed: this was a dry run.")
        else:
            self.stderr.write(
                self.style.ERROR(
                    "Not installed: on held-out questions it is not significantly better than the "
                    f"fused order (it must gain with p < {SIGNIFICANCE})."
                )
            )


def _sentences(trained: Trained) -> str:
    figures, training = trained.metrics, trained.training
    return (
        f"Trained on {training['pairs']} pairs of {training['questions']} judged questions and "
        f"{training['feedback_questions']} with feedback.\n"
        f"Held-out {figures['measure']}: {figures['fused']:.4f} fused, {figures['learned']:.4f} "
        f"learned; gain {figures['gain']:+.4f} [{figures['low']:+.4f}, {figures['high']:+.4f}], "
        f"p = {figures['p_value']:.4f}; {figures['better']} better, {figures['worse']} worse."
    )
