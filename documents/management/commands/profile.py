"""`manage.py profile create | list | assign | drop`: index profiles."""

import json
import uuid
from argparse import BooleanOptionalAction
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management import BaseCommand, CommandError, CommandParser

from documents.chunking.methods import SIZES
from documents.errors import IngestError
from documents.models import IndexProfile
from documents.profiles import deletion, profiles
from documents.profiles.ann_methods import METHODS, WITHDRAWN, remark
from ragsite.database.tenancy import operator

from .api_key import find_namespace

STORE_OPTIONS = ("quantization", "shards", "replicas")  # others by --store-options
ANN_OPTIONS = sorted({option for method in METHODS.values() for option in method.options})


class Command(BaseCommand):
    help = (
        "Create, list or drop index profiles. Set that of a new namespace with namespace create "
        "--profile NAME; one that has documents moves to another with reindex --profile NAME."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser(
            "create", help="Create a profile. It cannot be changed once it is in use."
        )
        create.add_argument("name", help="Letters, digits, hyphens and underscores.")
        create.add_argument(
            "--like",
            metavar="NAME",
            help="Copy all options that are not given here from the profile NAME.",
        )
        create.add_argument("--chunker", choices=SIZES, help="Chunker (default: structure).")
        create.add_argument(
            "--size", type=int, help="Chunk size in tokens; in characters for the chunker fixed."
        )
        create.add_argument("--overlap", type=int, help="Overlap of chunks, in the same unit.")
        create.add_argument("--percentile", type=int, help="For semantic: 1 to 99 (default 90).")
        create.add_argument(
            "--header",
            action=BooleanOptionalAction,
            default=None,
            help="Embed title and section path with each chunk (default: yes).",
        )
        create.add_argument("--embedder", help="An alias in EMBEDDERS (default: default).")
        create.add_argument(
            "--dimensions", type=int, help="Number of dimensions; must match the embedder's."
        )
        create.add_argument(
            "--ann",
            choices=[name for name in IndexProfile.Ann.values if name not in WITHDRAWN],
            help="Method of the vector index (default: hnsw; bit: less memory; exact: no index; "
            "scann and vchordrq: untested).",
        )
        create.add_argument("--m", type=int, help="For hnsw and bit (default 16).")
        create.add_argument("--ef-construction", type=int, help="For hnsw and bit (default 64).")
        create.add_argument(
            "--rescore",
            type=int,
            help="Of bit: how many times more candidates are compared in full (default 8).",
        )
        create.add_argument(
            "--lists", type=int, help="For ivfflat (default: by the number of rows)."
        )
        create.add_argument(
            "--probes", type=int, help="For ivfflat (default: by the number of lists)."
        )
        create.add_argument(
            "--num-leaves", type=int, help="For scann (default: by the number of rows)."
        )
        create.add_argument(
            "--store", help="Where searches find chunks: pgvector (default), qdrant, chroma."
        )
        create.add_argument("--quantization", help="For qdrant: int8 (default) or none.")
        create.add_argument("--shards", type=int, help="Of qdrant, in a cluster.")
        create.add_argument("--replicas", type=int, help="Of qdrant, in a cluster.")
        create.add_argument(
            "--store-options", type=json.loads, help="Any of the store's options, as JSON."
        )
        create.add_argument("--namespace", help="Make it visible to this namespace only.")
        actions.add_parser("list", help="Print every profile; a namespace's own as NAMESPACE/NAME.")
        assign = actions.add_parser("assign", help="Change which namespaces see a profile.")
        assign.add_argument("name")
        to = assign.add_mutually_exclusive_group(required=True)
        to.add_argument("--namespace", help="Only this namespace, and those that use the profile.")
        to.add_argument("--shared", action="store_true", help="All namespaces.")
        drop = actions.add_parser("drop", help="Remove an unused profile and its index.")
        drop.add_argument("name")

    def handle(self, *args: Any, **options: Any) -> None:
        actions = {
            "create": self._create,
            "list": self._list,
            "assign": self._assign,
            "drop": self._drop,
        }
        actions[options["action"]](options)

    def _create(self, options: dict[str, Any]) -> None:
        namespace_id = _namespace_id(options["namespace"])
        like = find_profile(options["like"], near=namespace_id) if options["like"] else None
        try:
            profile = profiles.create(
                options["name"],
                namespace_id=namespace_id,
                like=like,
                chunker=options["chunker"],
                chunker_options=_named({"percentile": options["percentile"]}),
                chunk_size=options["size"],
                chunk_overlap=options["overlap"],
                contextual_header=options["header"],
                embedder=options["embedder"],
                dimensions=options["dimensions"],
                ann_method=options["ann"],
                ann_options=_named({key: options[key] for key in ANN_OPTIONS}),
                store=options["store"],
                store_options=_named(
                    {
                        **(options["store_options"] or {}),
                        **{key: options[key] for key in STORE_OPTIONS if options[key] is not None},
                    }
                ),
            )
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None
        except IngestError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"Profile {profile.name} created.")
        if note := remark(profile.ann_method):
            self.stderr.write(
                f"{profile.ann_method}: {note}. Compare its results before you rely on it."
            )

    def _list(self, options: dict[str, Any]) -> None:
        with operator():
            for profile in IndexProfile.objects.select_related("namespace"):
                owner = f"{profile.namespace.slug}/" if profile.namespace else ""
                sizes = f"{profile.chunk_size}/{profile.chunk_overlap}"
                vectors = f"{profile.dimensions} {profile.ann_method}"
                if profile.is_stored_outside:
                    vectors += f" in {profile.store}"
                if note := remark(profile.ann_method):
                    vectors += f" ({note})"
                header = "\twith headers" if profile.contextual_header else ""
                self.stdout.write(
                    f"{owner}{profile.name}\t{profile.chunker} {sizes}\t{profile.embedder} "
                    f"{vectors}{header}"
                )

    def _assign(self, options: dict[str, Any]) -> None:
        profile = find_profile(options["name"])
        try:
            profiles.assign(profile, namespace_id=_namespace_id(options["namespace"]))
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None
        seen_by = options["namespace"] or "all namespaces"
        self.stdout.write(f"Profile {profile.name} is for {seen_by} now.")

    def _drop(self, options: dict[str, Any]) -> None:
        try:
            deletion.retire(find_profile(options["name"]))
        except IngestError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"Profile {options['name']} dropped.")


def _named(options: dict[str, Any]) -> dict[str, Any] | None:
    return {key: value for key, value in options.items() if value is not None} or None


def find_profile(name: str, *, near: uuid.UUID | None = None) -> IndexProfile:
    try:
        return profiles.find_for_operator(name, near=near)
    except profiles.UnknownProfile as error:
        raise CommandError(str(error)) from None


def _namespace_id(slug: str | None) -> uuid.UUID | None:
    if slug is None:
        return None
    with operator():
        return find_namespace(slug).pk
