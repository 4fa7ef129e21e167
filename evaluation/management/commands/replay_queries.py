"""`manage.py replay_queries --since DATE --compare`: asks logged questions again."""

import json
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser
from rest_framework.exceptions import ValidationError

from evaluation.management.options import (
    bar_updater,
    find_tenant,
    progress_bar,
    quiet_search_log,
)
from evaluation.runs.replaying import Replay, Replayed, replay, summary_of
from retrieval.api.filters import MomentField

SHOWN = 20  # questions that changed most


class Command(BaseCommand):
    help = (
        "Ask the questions of the query log again, with their options and filters, and print what "
        "has changed since: passages that are still returned, first results, relevance and times. "
        "Nothing is logged and nothing is cached."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--namespace", default="default", help="Slug (default: default).")
        parser.add_argument("--since", help="A date or ISO 8601 time.")
        parser.add_argument("--until", help="A date or ISO 8601 time, not included.")
        parser.add_argument(
            "--limit",
            type=int,
            default=200,
            help="Maximum number of questions, the newest first (default: 200).",
        )
        parser.add_argument(
            "--rerank", default="", help="Use this reranker instead of the original one."
        )
        parser.add_argument(
            "--compare", action="store_true", help="Also list the questions that changed most."
        )
        parser.add_argument("--json", action="store_true", help="Print everything as JSON.")

    def handle(self, *args: Any, **options: Any) -> None:
        quiet_search_log()
        tenant = find_tenant(options["namespace"])
        with progress_bar("asking") as shown:
            replayed = replay(
                tenant.pk,
                since=_moment("since", options["since"]),
                until=_moment("until", options["until"]),
                limit=max(1, options["limit"]),
                rerank=options["rerank"],
                progress=bar_updater(shown),
            )
        if not replayed.questions and not replayed.problems:
            raise CommandError("The query log has no such questions.")
        if options["json"]:
            changes = [asdict(each) for each in _by_change(replayed)]
            data = {**summary_of(replayed), "changes": changes, "problems": replayed.problems}
            self.stdout.write(json.dumps(data, default=str))
            return
        self._print(replayed, lists=options["compare"])

    def _print(self, replayed: Replay, *, lists: bool) -> None:
        for name, value in summary_of(replayed).items():
            figures = (
                ", ".join(f"{k} {v:g}" for k, v in value.items())
                if isinstance(value, dict)
                else value
            )
            self.stdout.write(f"{name:<16}{'unknown' if figures is None else figures}")
        for question, problem in replayed.problems.items():
            self.stderr.write(self.style.WARNING(f"{question[:80]}: {problem}"))
        changed = [
            each for each in _by_change(replayed) if each.kept != 1 or not each.is_first_same
        ]
        for each in changed[: SHOWN if lists else 0]:
            kept = "unknown" if each.kept is None else f"{each.kept:.0%} kept"
            self.stdout.write(
                f"{kept}, {each.hits_then} → {each.hits_now} results: {each.query[:80]}"
            )


def _by_change(replayed: Replay) -> list[Replayed]:
    return sorted(
        replayed.questions, key=lambda each: (1.0 if each.kept is None else each.kept, each.query)
    )


def _moment(name: str, text: str | None) -> datetime | None:
    if not text:
        return None
    try:
        moment: datetime = MomentField().run_validation(text)
    except ValidationError as error:
        raise CommandError(f"--{name}: {error.detail[0]}") from None  # type: ignore[index]
    return moment
