"""Pages of stored originals as pictures, drawn in a separate sandbox with tight limits."""

import threading
import uuid
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from django.conf import settings
from django.db.models.functions import Substr

from documents.errors import IngestError
from documents.extractors.drawing.words import occurrences_before
from documents.ingestion.extraction import SandboxWorker
from documents.intake import originals
from documents.models import Chunk, DocumentVersion
from ragsite.database.tenancy import namespace
from ragsite.platform.errors import ApiError
from ragsite.web.threads import release_connections

# A user is waiting, so a page that takes longer than this is not shown.
LIMITS = {"cpu_seconds": 15, "wall_seconds": 20.0, "output_bytes": 32 * 2**20}
SIDES = {"normal": 1500, "large": 2800}  # pixels
MAX_PASSAGE = 8000  # maximum number of characters to look for on one page
PLACES = 4  # requests that may wait for the sandbox; further ones are refused as busy
PATIENCE_SECONDS = 5.0
RETRY_AFTER = 5
IMAGES = ("image/png", "image/jpeg", "image/tiff", "image/webp")
DRAWABLE = ("application/pdf", *IMAGES)

_places = threading.BoundedSemaphore(PLACES)


@cache
def _worker() -> SandboxWorker:
    return SandboxWorker(**{**settings.EXTRACTION, **LIMITS})


def has_pictures(version: DocumentVersion) -> bool:
    return version.media_type in DRAWABLE


def picture(version: DocumentVersion, page: int, *, side: str) -> bytes:
    """Return a page as a JPEG. Raises ApiError if it cannot be shown."""
    drawn = _drawn(version, {"page": page, "side": SIDES[side]})
    return b64decode(drawn["picture"])


def marks(
    namespace_id: uuid.UUID, version: DocumentVersion, page: int, *, start: int, end: int
) -> list[list[float]]:
    """Return the position of the passage text[start:end] on this page: boxes as shares of its
    size."""
    span = next((p for p in version.outline.get("pages", []) if p["number"] == page), None)
    if span is None or start >= span["end"] or end <= span["start"]:
        return []
    with namespace(namespace_id):
        versions = DocumentVersion.objects.filter(pk=version.pk)
        length = min(span["end"] - span["start"], settings.EXTRACTION["output_bytes"])
        text = versions.values_list(Substr("text", span["start"] + 1, length), flat=True)[0]
        boxes = _boxes_of_chunks(version, page, start, end)
    release_connections()  # drawing takes a while
    first = max(start - span["start"], 0)
    passage = text[first : end - span["start"]][:MAX_PASSAGE]
    if version.media_type in IMAGES:
        return boxes
    skip = occurrences_before(text[:first], passage)
    drawn = _drawn(version, {"page": page, "passage": passage, "skip": skip})
    return [list(box) for box in drawn["marks"]] or boxes


def _boxes_of_chunks(
    version: DocumentVersion, page: int, start: int, end: int
) -> list[list[float]]:
    """Return the boxes that OCR has found for the passage's chunks; positions of words are not
    stored."""
    chunks = Chunk.objects.filter(
        version=version, page_start=page, start__lt=end, end__gt=start
    ).values_list("metadata", flat=True)
    boxes = [box for metadata in chunks[:20] for box in metadata.get("boxes", ())]
    return [list(box) for box in dict.fromkeys(map(tuple, boxes))]


def _drawn(version: DocumentVersion, drawing: dict[str, Any]) -> dict[str, Any]:
    try:
        with _a_place(), originals.opened_unchecked(version.storage_key) as file:
            return _worker().draw(file, media_type=version.media_type, drawing=drawing)
    except IngestError as error:
        status = 404 if error.code == "no_such_page" else 422
        message = f"This page cannot be shown. {error}"
        raise ApiError("page_not_shown", message, http_status=status) from error


@contextmanager
def _a_place() -> Iterator[None]:
    if not _places.acquire(timeout=PATIENCE_SECONDS):
        message = "Too many pages are being drawn; try again shortly."
        raise ApiError("busy", message, http_status=503, retry_after=RETRY_AFTER)
    try:
        yield
    finally:
        _places.release()
