"""`manage.py search "question"`: show the results of a query on the command line."""

import json
import uuid
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser
from rest_framework.exceptions import ValidationError

from documents.management.commands.api_key import find_namespace
from ragsite.database.tenancy import operator
from retrieval.api.serializers import answer_of, request_of
from retrieval.context.assembly import place_of
from retrieval.context.notes import NO_RESULTS
from retrieval.search import search


class Command(BaseCommand):
    help = "Search a namespace and print the passages with their sources."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("question")
        parser.add_argument("--namespace", default="default", help="Slug (default: default).")
        parser.add_argument("-k", type=int, default=5, help="Number of passages (default: 5).")
        parser.add_argument("--mode", choices=["hybrid", "semantic", "lexical"], default="hybrid")
        parser.add_argument(
            "--min-relevance",
            type=float,
            default=0.0,
            metavar="0…1",
            help="Leave out passages below this relevance (default: none).",
        )
        add_filter_arguments(parser)
        parser.add_argument("--json", action="store_true", help="Print the API's answer as JSON.")

    def handle(self, *args: Any, **options: Any) -> None:
        with operator():
            namespace_id: uuid.UUID = find_namespace(options["namespace"]).pk
        asked = {"query": options["question"], "k": options["k"], "mode": options["mode"]}
        asked["min_relevance"] = options["min_relevance"]
        try:
            request = request_of(asked | {"filters": filters_from(options)})
        except ValidationError as error:
            raise CommandError(json.dumps(error.detail)) from None
        result = search(namespace_id, request)
        if options["json"]:
            self.stdout.write(json.dumps(answer_of(result), default=str, indent=2))
            return
        for number, hit in enumerate(result.hits, start=1):
            self.stdout.write(self.style.SUCCESS(f"[{number}] {place_of(hit)}"))
            self.stdout.write(
                f"    {hit.source_uri}  characters {hit.start}–{hit.end}"
                f"  score {hit.candidate.final:.4f}{relevance_of(hit.relevance)}"
            )
            self.stdout.write("    " + hit.content.replace("\n", "\n    ") + "\n")
        if not result.hits:
            self.stdout.write("Nothing found.")
        for note in result.diagnostics.notes:
            if note == NO_RESULTS:
                continue  # printed above
            self.stderr.write(self.style.WARNING(f"Note: {note}"))
        for fallback in result.diagnostics.fallbacks:
            self.stderr.write(self.style.WARNING(f"Fallback: {fallback}"))


def relevance_of(value: float | None) -> str:
    return "" if value is None else f"  relevance {value:.2f}"


def add_filter_arguments(parser: CommandParser) -> None:
    parser.add_argument("--tags", default="", help="Only documents with any of these tags.")
    parser.add_argument(
        "--filter",
        metavar="JSON",
        default="{}",
        help='Filters as in the API, e.g. \'{"metadata": {"year": {"$gte": 2020}}}\'.',
    )


def filters_from(options: dict[str, Any]) -> Any:
    try:
        filters = json.loads(options["filter"])
    except (ValueError, RecursionError):
        raise CommandError("--filter is not JSON.") from None
    tags = [tag.strip() for tag in options["tags"].split(",") if tag.strip()]
    if not tags or not isinstance(filters, dict):
        return filters
    if "tags" in filters:
        raise CommandError("Give the tags with --tags or in --filter, not both.")
    return {**filters, "tags": tags}
