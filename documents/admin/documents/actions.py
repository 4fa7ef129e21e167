"""Actions on selected documents: index again, change tags, delete."""

import uuid
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from documents.accounts import audit
from documents.ingestion import bulk_removal, editing
from documents.intake import intake
from documents.models import Document

# maximum number of documents that one action indexes again or tags within its request
AT_ONCE = 1000
MAX_TAGS, MAX_TAG_LENGTH = 100, 200  # as in the API


class TooMany(ValueError):
    """More documents than one request can handle."""

    def __init__(self, verb: str) -> None:
        super().__init__(
            f"At most {AT_ONCE:,} documents can be {verb} at once. Use a filter to select fewer."
        )


class InvalidTags(ValueError):
    """Invalid tags."""


@dataclass(frozen=True, slots=True)
class TagChange:
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)

    def apply(self, tags: Sequence[str]) -> list[str]:
        kept = [tag for tag in tags if tag not in self.removed]
        return list(dict.fromkeys([*kept, *self.added]))


def index_again(documents: QuerySet[Document]) -> int:
    """Queue the documents and return how many. Raises TooMany."""
    found = by_namespace(documents, "indexed")
    for namespace_id, ids in found.items():
        for pk in ids:
            intake.resubmit(namespace_id, pk)
        target = audit.Target("document", str(ids[0])) if len(ids) == 1 else None
        audit.record("document.reindex", namespace=namespace_id, count=len(ids), target=target)
    return sum(map(len, found.values()))


def change_tags(documents: QuerySet[Document], change: TagChange) -> int:
    """Add and remove tags; return how many documents changed. Raises TooMany, InvalidTags."""
    by_namespace(documents, "tagged")
    changed = 0
    for document in documents.only("pk", "namespace_id", "tags"):
        tags = change.apply(document.tags)
        if len(tags) > MAX_TAGS:
            raise InvalidTags(f"A document can have {MAX_TAGS} tags, and one would have more.")
        if tags != document.tags:
            editing.amend(document.namespace_id, document.pk, {"tags": tags})
            changed += 1
    return changed


def request_removal(documents: QuerySet[Document]) -> int:
    """Queue the deletion of the documents and return how many."""
    found = by_namespace(documents)
    return sum(bulk_removal.request(tenant, ids).total for tenant, ids in found.items())


def read_tags(text: str) -> tuple[str, ...]:
    """Parse tags separated by commas. Raises InvalidTags."""
    tags = tuple(dict.fromkeys(filter(None, (tag.strip() for tag in text.split(",")))))
    if "\0" in text or any(len(tag) > MAX_TAG_LENGTH for tag in tags):
        raise InvalidTags(f"A tag is a text of at most {MAX_TAG_LENGTH} characters.")
    if len(tags) > MAX_TAGS:
        raise InvalidTags(f"A document can have {MAX_TAGS} tags.")
    return tags


def by_namespace(documents: QuerySet[Document], verb: str = "") -> dict[uuid.UUID, list[uuid.UUID]]:
    """Return the ids of documents by namespace. With a verb, raises TooMany above AT_ONCE."""
    rows = documents.order_by("pk").values_list("namespace_id", "pk")
    found: dict[uuid.UUID, list[uuid.UUID]] = defaultdict(list)
    for number, (namespace_id, pk) in enumerate(rows[: AT_ONCE + 1] if verb else rows):
        if verb and number == AT_ONCE:
            raise TooMany(verb)
        found[namespace_id].append(pk)
    return found
