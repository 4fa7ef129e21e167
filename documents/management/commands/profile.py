"""`manage.py profile create NAME` and `manage.py profile list`: how texts are cut and embedded."""

from typing import Any

from django.core.exceptions import ValidationError
from django.core.management import BaseCommand, CommandError, CommandParser

from documents import profiles
from documents.chunking import SIZES
from documents.errors import IngestError
from documents.models import IndexProfile
from ragsite.tenancy import operator

# Size and overlap where none are named: tokens, or characters with the fixed chunker.
DEFAULTS = {"structure": (220, 33), "fixed": (1000, 200), "semantic": (220, 0)}


class Command(BaseCommand):
    help = "Create or list index profiles. A namespace takes one: namespace create --profile NAME."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser("create", help="Make a profile; it never changes once used.")
        create.add_argument("name", help="Letters, digits, hyphens and underscores.")
        create.add_argument("--chunker", choices=SIZES, default="structure")
        create.add_argument("--size", type=int, help="Tokens; characters with fixed.")
        create.add_argument("--overlap", type=int, help="In the same unit.")
        create.add_argument("--percentile", type=int, help="Of semantic: 1 to 99, 90 if not named.")
        create.add_argument(
            "--header", action="store_true", help="Embed title and section path with each chunk."
        )
        create.add_argument("--embedder", default="default", help="An alias in EMBEDDERS.")
        actions.add_parser("list", help="Print every profile.")

    def handle(self, *args: Any, **options: Any) -> None:
        with operator():
            if options["action"] == "list":
                self._list()
            else:
                self._create(options)

    def _create(self, options: dict[str, Any]) -> None:
        size, overlap = DEFAULTS[options["chunker"]]
        percentile = options["percentile"]
        try:
            embedder = profiles.load_embedder(options["embedder"])
            profile = IndexProfile(
                name=options["name"],
                chunker=options["chunker"],
                chunker_options={} if percentile is None else {"percentile": percentile},
                chunk_size=size if options["size"] is None else options["size"],
                chunk_overlap=overlap if options["overlap"] is None else options["overlap"],
                contextual_header=options["header"],
                embedder=options["embedder"],
                dimensions=embedder.dimensions,
                ann_method=IndexProfile.Ann.EXACT,  # a vector index is a migration's work
            )
            profile.full_clean()
            profiles.splitter_of(profile, embedder)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None
        except IngestError as error:
            raise CommandError(str(error)) from None
        profile.save()
        self.stdout.write(f"Profile {profile.name} created.")

    def _list(self) -> None:
        for profile in IndexProfile.objects.all():
            sizes = f"{profile.chunk_size}/{profile.chunk_overlap}"
            header = "\twith headers" if profile.contextual_header else ""
            self.stdout.write(
                f"{profile.name}\t{profile.chunker} {sizes}\t{profile.embedder}{header}"
            )
