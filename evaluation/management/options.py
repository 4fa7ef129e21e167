"""Shared parts of the commands: find namespaces, sets and runs, and read a run's options."""

import logging
import sys
import uuid
from typing import Any

from django.core.management import CommandError, CommandParser
from tqdm import tqdm

from documents.management.commands.api_key import find_namespace
from documents.models import IndexProfile, Namespace
from documents.profiles import profiles
from evaluation.api.options import OptionsSerializer
from evaluation.models import EvaluationRun
from evaluation.runs.options import RunOptions
from ragsite.database.tenancy import operator

SHOWN = (
    "k",
    "depth",
    "mode",
    "fusion",
    "semantic_weight",
    "rrf_k",
    "rerank",
    "max_per_document",
    "token_budget",
)


def add_search_options(parser: CommandParser) -> None:
    """The options of POST /evaluations; the service's defaults apply to the rest."""
    parser.add_argument("--mode", choices=["hybrid", "semantic", "lexical"])
    parser.add_argument("--fusion", choices=["weighted", "rrf"])
    parser.add_argument("--semantic-weight", type=float, help="0 to 1; the words have the rest.")
    parser.add_argument("--rrf-k", type=int)
    parser.add_argument("--rerank", help="auto, none, or the name of a configured reranker.")
    parser.add_argument(
        "-k", "--k", type=int, help="Number of results a client requests (default: 10)."
    )
    parser.add_argument("--depth", type=int, help="How deep is measured (default: 100).")
    parser.add_argument("--max-per-document", type=int, help="Passages of one (default: no limit).")
    parser.add_argument(
        "--token-budget", type=int, help="Of the context (default: the service's setting)."
    )


def options_from(options: dict[str, Any]) -> RunOptions:
    asked = {name: options[name] for name in SHOWN if options.get(name) is not None}
    form = OptionsSerializer(data=asked)
    if not form.is_valid():
        wrong = "; ".join(f"{name}: {' '.join(map(str, e))}" for name, e in form.errors.items())
        raise CommandError(wrong)
    return form.to_options()


def find_tenant(slug: str) -> Namespace:
    with operator():
        return Namespace.objects.select_related("active_profile").get(pk=find_namespace(slug).pk)


def find_profile(name: str, *, near: uuid.UUID | None = None) -> IndexProfile:
    try:
        return profiles.find_for_operator(name, near=near)
    except profiles.UnknownProfile as error:
        raise CommandError(str(error)) from None


def find_run(name: str, *, near: Namespace | None = None) -> EvaluationRun:
    """Find a run by id, beginning of id, or label (the newest). Inside operator()."""
    runs = EvaluationRun.objects.select_related("golden_set", "namespace")
    if near is not None:
        runs = runs.filter(namespace=near)
    try:
        found = runs.filter(pk=uuid.UUID(name)).first()
    except ValueError:
        found = runs.filter(label=name).order_by("-created_at").first()
    if found is None and len(name) >= 4:
        beginning = [run for run in runs.order_by("-created_at") if str(run.pk).startswith(name)]
        found = beginning[0] if len(beginning) == 1 else None
    if found is None:
        raise CommandError(f"There is no run {name!r}: name its id or its label.")
    return found


def quiet_search_log() -> None:
    """Silence the log line of each search, which would drown a command's own output."""
    for name in ("retrieval.search", "retrieval.answering.answer"):
        logging.getLogger(name).setLevel(logging.WARNING)


def progress_bar(what: str, unit: str = "query") -> Any:
    return tqdm(desc=what, unit=unit, disable=not sys.stderr.isatty())


def bar_updater(shown: Any) -> Any:
    """A progress callback for (done, total) that moves the bar."""

    def update(done: int, total: int) -> None:
        shown.total = total
        shown.update(done - shown.n)

    return update
