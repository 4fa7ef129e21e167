"""A namespace's documents as resources: ragsite://documents/{id} is a document's text."""

import re
import uuid

from mcp import types

from documents.listing import InvalidCursor, page_of
from documents.models import Document
from ragsite.access.auth import insufficient_scope
from ragsite.database.tenancy import namespace
from ragsite.platform.errors import ApiError
from retrieval.tools.base import InvalidArguments, ToolContext, not_found
from retrieval.tools.documents import slice_of

URI = "ragsite://documents/"
PAGE = 100  # resources
MAX_CHARS = 1_000_000  # maximum length of a text that is read in one piece
PLAIN = "text/plain"

TEMPLATE = types.ResourceTemplate(
    uri_template=URI + "{id}",
    name="document",
    title="A document",
    description="The text of a document, by the document_id that tools return.",
    mime_type=PLAIN,
)
_URI = re.compile(re.escape(URI) + r"([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})/?")


def list_resources(context: ToolContext, cursor: str | None) -> types.ListResourcesResult:
    """Return a page of readable documents, newest first. Raises ApiError."""
    _require_read(context)
    with namespace(context.namespace_id):
        readable = Document.objects.filter(live_version__isnull=False)
        try:
            page = page_of(readable, limit=PAGE, cursor=cursor)
        except InvalidCursor:
            message = "take it from nextCursor of a page, or leave it out for the first page"
            raise InvalidArguments([("cursor", message)]) from None
    resources = [_resource(document) for document in page.documents]
    return types.ListResourcesResult(resources=resources, next_cursor=page.next_cursor)


def read_resource(context: ToolContext, uri: str) -> types.ReadResourceResult:
    """Read a resource. Raises ApiError, the same for another namespace's document as for an unknown
    one."""
    _require_read(context)
    match = _URI.fullmatch(uri)
    if match is None:
        raise InvalidArguments([("uri", f"must be {URI}{{id}} with a document's id")])
    with namespace(context.namespace_id):
        document = Document.objects.filter(pk=uuid.UUID(match[1])).first()
        if document is None:
            raise not_found("document")
        part = slice_of(document, start=0, length=MAX_CHARS)
    if part["end"] < part["total_chars"]:
        message = f"Longer than {MAX_CHARS:,} characters: read it in parts with the tool fetch."
        raise ApiError("too_large", message, http_status=413)
    contents = types.TextResourceContents(uri=uri, mime_type=PLAIN, text=part["content"])
    return types.ReadResourceResult(contents=[contents])


def _resource(document: Document) -> types.Resource:
    title = document.title or document.source_uri
    return types.Resource(
        uri=f"{URI}{document.pk}",
        name=title,
        title=title,
        description=document.source_uri,
        mime_type=PLAIN,
        annotations=types.Annotations(last_modified=document.updated_at.isoformat()),
    )


def _require_read(context: ToolContext) -> None:
    if not context.may("read"):
        raise insufficient_scope("read")
