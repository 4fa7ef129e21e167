"""`manage.py evaluate_boost`: measure the learned boost on held-out questions."""

import json
import sys
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from evaluation.errors import EvaluationError
from evaluation.golden.curating import find_set
from evaluation.learning.boost_effect import BoostEffect, measure_boost
from evaluation.management.options import (
    bar_updater,
    find_tenant,
    progress_bar,
    quiet_search_log,
)
from evaluation.models import GoldenSet
from ragsite.database.tenancy import namespace

FAILED, LOSES = 1, 2


class Command(BaseCommand):
    help = (
        "Measure `feedback_boost` on the namespace's golden sets and its questions with feedback. "
        "No question is boosted by its own feedback. Exit code 0: no set loses more than chance "
        "explains; 1: it could not be measured; 2: a set loses."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--namespace", default="default", help="Slug (default: default).")
        parser.add_argument(
            "--golden-set", action="append", help="Name or id of a golden set; repeatable."
        )
        parser.add_argument("--json", action="store_true", help="Print the figures as JSON.")

    def handle(self, *args: Any, **options: Any) -> None:
        quiet_search_log()
        tenant = find_tenant(options["namespace"])
        try:
            with namespace(tenant.pk):
                sets = (
                    [find_set(name, namespace_id=tenant.pk) for name in options["golden_set"]]
                    if options["golden_set"]
                    else list(GoldenSet.objects.filter(namespace=tenant).order_by("name"))
                )
            with progress_bar("asking") as shown:
                effects = measure_boost(tenant.pk, sets, progress=bar_updater(shown))
        except EvaluationError as error:
            raise CommandError(str(error), returncode=FAILED) from None
        if options["json"]:
            self.stdout.write(json.dumps([effect.as_data() for effect in effects], indent=2))
        else:
            for effect in effects:
                self.stdout.write(_sentence(effect))
        if losing := [effect.name for effect in effects if effect.loses]:
            self.stderr.write(self.style.ERROR(f"Leave it off: it loses on {', '.join(losing)}."))
            sys.exit(LOSES)


def _sentence(effect: BoostEffect) -> str:
    return (
        f"{effect.name}: {effect.questions} questions, {effect.boosted} with a boosted passage; "
        f"{effect.measure} {effect.without:.4f} without, {effect.with_boost:.4f} with; "
        f"gain {effect.gain:+.4f} [{effect.low:+.4f}, {effect.high:+.4f}], "
        f"p = {effect.p_value:.4f}; {effect.better} better, {effect.worse} worse."
    )
