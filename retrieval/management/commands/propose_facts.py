"""`manage.py propose_facts PATH`: have a language model propose facts from texts or documents."""

import json
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser
from rest_framework.utils.encoders import JSONEncoder

from documents.api.facts.listing import outcome_shapes
from documents.errors import IngestError
from documents.language_models.base import LanguageModelFailed
from documents.management.commands.api_key import find_namespace
from documents.models import Document
from ragsite.database.tenancy import namespace, operator
from ragsite.platform.errors import ApiError
from ragsite.platform.wording import plural
from retrieval.memory.proposing import (
    MAX_TEXT,
    Proposed,
    propose_from_document,
    propose_from_text,
)


class Command(BaseCommand):
    help = (
        "Have the configured language model extract facts from a text, or from documents. "
        "Each is stored with the passage that states it, as a proposal that has to be approved."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "path", nargs="?", metavar="PATH", help="A text file; - is standard input."
        )
        parser.add_argument("--namespace", default="default", help="Slug (default: default).")
        parser.add_argument(
            "--document",
            action="append",
            default=[],
            help="Instead of PATH: a document's id or source_uri; repeatable.",
        )
        parser.add_argument(
            "--model", default="", help="Alias of a language model (default: as for answers)."
        )
        parser.add_argument("--user", default="", help="The user whose memory the facts belong to.")
        parser.add_argument(
            "--source-uri", default="", help="Source of the text (default: its path)."
        )
        parser.add_argument("--json", action="store_true", help="Print the proposals as JSON.")

    def handle(self, *args: Any, **options: Any) -> None:
        if bool(options["path"]) == bool(options["document"]):
            raise CommandError("Name either a text file or --document.")
        with operator():
            namespace_id: uuid.UUID = find_namespace(options["namespace"]).pk
        shapes: list[dict[str, Any]] = []
        dropped = 0
        for read in self._readings(namespace_id, options):
            try:
                found = read()
            except (ApiError, IngestError, LanguageModelFailed) as error:
                raise CommandError(str(error)) from None
            shapes += outcome_shapes(namespace_id, found.outcomes)
            dropped += found.dropped
        if options["json"]:
            data = {"results": shapes, "dropped": dropped}
            self.stdout.write(json.dumps(data, cls=JSONEncoder, indent=2, ensure_ascii=False))
            return
        for shape in shapes:
            self.stdout.write(f"{shape['outcome']}  {shape['fact']['id']}  {shape['fact']['text']}")
        self.stdout.write(
            f"{plural(len(shapes), 'fact')} read; {dropped} left out, without words of the text "
            "that state them."
        )

    def _readings(
        self, namespace_id: uuid.UUID, options: dict[str, Any]
    ) -> Iterator[Callable[[], Proposed]]:
        given = {"model": options["model"], "user": options["user"]}
        if options["path"]:
            text, source_uri = _text_of(options["path"]), options["source_uri"]
            if len(text) > MAX_TEXT:
                self.stderr.write(f"Only the first {MAX_TEXT:,} characters are read.")
            if not source_uri and options["path"] != "-":
                source_uri = Path(options["path"]).name
            yield lambda: propose_from_text(namespace_id, text, source_uri=source_uri, **given)
        for pk in [_document(namespace_id, name) for name in options["document"]]:
            yield lambda pk=pk: propose_from_document(namespace_id, pk, **given)  # type: ignore[misc]


def _text_of(path: str) -> str:
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path} cannot be read: {error}") from None
    if not text.strip():
        raise CommandError(f"There is no text in {path}.")
    return text


def _document(namespace_id: uuid.UUID, name: str) -> uuid.UUID:
    with namespace(namespace_id):
        documents = Document.objects.filter(namespace=namespace_id)
        try:
            found = documents.filter(pk=uuid.UUID(name)).first()
        except ValueError:
            found = documents.filter(source_uri=name).first()
    if found is None:
        raise CommandError(f"There is no document {name!r}: give its id or its source_uri.")
    return found.pk
