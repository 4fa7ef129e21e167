"""`manage.py answer "question"`: answer a question as POST /answer does."""

import json
import uuid
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser
from rest_framework.exceptions import APIException, ValidationError
from rest_framework.utils.encoders import JSONEncoder

from documents.language_models.base import LanguageModelFailed
from documents.management.commands.api_key import find_namespace
from ragsite.database.tenancy import operator
from ragsite.platform.errors import describe
from retrieval.answering import answer as pipeline
from retrieval.answering.requests import AnswerEvent, AnswerRequest, AnswerResult, TextEvent
from retrieval.api.answers.serializers import answer_request_of
from retrieval.api.answers.shapes import shape_of_answer
from retrieval.context.assembly import place_of

from .search import add_filter_arguments, filters_from


class Command(BaseCommand):
    help = "Answer a question from a namespace's documents, with checked citations."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("question")
        parser.add_argument("--namespace", default="default", help="Slug (default: default).")
        parser.add_argument(
            "--model", default="", help="Alias of a language model (default: the namespace's)."
        )
        parser.add_argument("-k", type=int, default=10, help="Number of passages (default: 10).")
        parser.add_argument(
            "--stream", action="store_true", help="Print the text while it is written."
        )
        parser.add_argument("--json", action="store_true", help="Print the API's answer as JSON.")
        add_filter_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if options["stream"] and options["json"]:
            raise CommandError("--stream prints text, --json one object: choose one.")
        with operator():
            namespace_id: uuid.UUID = find_namespace(options["namespace"]).pk
        asked = {name: options[name] for name in ("model", "k")}
        asked |= {"query": options["question"], "filters": filters_from(options)}
        try:
            request, _ = answer_request_of(asked)
            result = self._answer(namespace_id, request, is_streamed=options["stream"])
        except ValidationError as error:
            raise CommandError(describe(error)) from None
        except APIException as error:
            raise CommandError(str(error.detail)) from None
        except LanguageModelFailed as error:
            raise CommandError(f"{error.code}: {error}") from None
        if options["json"]:
            shape = shape_of_answer(result, query=request.search.query)
            self.stdout.write(json.dumps(shape, cls=JSONEncoder, indent=2, ensure_ascii=False))
            return
        self.stdout.write("" if options["stream"] else result.text)
        self._print_sources(result)

    def _answer(
        self, namespace_id: uuid.UUID, request: AnswerRequest, *, is_streamed: bool
    ) -> AnswerResult:
        for event in pipeline.answer(namespace_id, request):
            if is_streamed and isinstance(event, TextEvent):
                self.stdout.write(event.checked.text, ending="")
                self.stdout.flush()
            if isinstance(event, AnswerEvent):
                return event.result
        raise CommandError("No answer was given.")

    def _print_sources(self, result: AnswerResult) -> None:
        if result.citations:
            self.stdout.write("")
        for cited in result.citations:
            hit = cited.evidence.hit
            self.stdout.write(self.style.SUCCESS(f"[cite:{cited.id}] {place_of(hit)}"))
            self.stdout.write(f"    {hit.source_uri}  characters {cited.start}–{cited.end}")
        for uncertainty in result.uncertainties:
            self.stderr.write(self.style.WARNING(f"Uncertain: {uncertainty.message}"))
        for note in result.notes:
            self.stderr.write(self.style.WARNING(f"Note: {note}"))
        for fallback in result.fallbacks:
            self.stderr.write(self.style.WARNING(f"Fallback: {fallback}"))
