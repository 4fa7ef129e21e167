"""Tools that add and delete documents, and show the progress of indexing."""

import uuid
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from documents.api.ingest.requests import read_texts, read_url
from documents.api.ingest.taking import require_any, take
from documents.api.serializers import JobSerializer
from documents.errors import IngestError
from documents.ingestion import removal
from documents.intake.submissions import Submission
from documents.models import Document, IngestJob
from ragsite.database.tenancy import namespace
from ragsite.web.guards.stream_limit import slot_of

from .base import (
    Arguments,
    InvalidArguments,
    Result,
    Tool,
    ToolContext,
    identifier,
    not_found,
    object_schema,
    text,
    texts,
)
from .filtering import TAG, TAGS

MAX_CONTENT = 10_000_000  # characters; the body's own limit is usually lower
MAX_WAIT = 600  # seconds; the server's INGEST_MAX_WAIT is usually lower
DESCRIBED = ("title", "tags", "metadata", "source_uri", "collection")


# -- index_document ----------------------------------------------------------------------


def _index(context: ToolContext, arguments: Arguments) -> Result:
    items, wait = _read(arguments)
    slot = slot_of(f"tool:{context.key_id}")
    results = take(context.namespace_id, items, wait=wait, slot=slot)
    require_any(results)
    return {"documents": results}  # several if the address is an archive


def _read(arguments: Arguments) -> tuple[Sequence[Submission | IngestError], float]:
    if ("content" in arguments) == ("url" in arguments):
        raise InvalidArguments([("content", "give either content or url")])
    described: dict[str, Any] = {n: arguments[n] for n in DESCRIBED if n in arguments}
    if "url" in arguments:
        return read_url({"url": arguments["url"], "wait": arguments["wait"], **described})
    document = {"content": arguments["content"], **described}
    return read_texts({"documents": [document], "wait": arguments["wait"]})


INDEX_DOCUMENT = Tool(
    name="index_document",
    title="Add a document",
    description="Add a document to the knowledge base, from text or from a public web address, so "
    "that ragSearch finds it. The same source_uri again replaces the document with a new version; "
    "the same content again changes nothing. Waits until it can be searched (status ready); if "
    "status is still queued or processing, follow it with get_job. status failed comes with the "
    "reason in error.",
    input_schema=object_schema(
        {
            "content": text("The text, plain or Markdown.", max_length=MAX_CONTENT),
            "url": text("In place of content: a public page or file to fetch.", max_length=2048),
            "title": text("Title of the document.", max_length=1000),
            "tags": texts("Labels to filter by.", max_length=TAG, max_items=TAGS),
            "metadata": {
                "type": "object",
                "description": "Any other data to store with it and filter by.",
            },
            "source_uri": text("Your own stable identifier or address of it.", max_length=2048),
            "collection": text(
                "Name of the collection to add it to; created if necessary.", max_length=256
            ),
            "wait": {
                "type": "number",
                "description": "Seconds to wait for it to be searchable; the server has a limit.",
                "minimum": 0,
                "maximum": MAX_WAIT,
                "default": 30,
            },
        }
    ),
    run=_index,
    scope="write",
    free_text=frozenset({"content"}),
)


# -- delete_document ---------------------------------------------------------------------


def _delete(context: ToolContext, arguments: Arguments) -> Result:
    try:
        receipt = removal.remove(context.namespace_id, uuid.UUID(arguments["document_id"]))
    except Document.DoesNotExist:
        raise not_found("document") from None
    return asdict(receipt)


DELETE_DOCUMENT = Tool(
    name="delete_document",
    title="Delete a document",
    description="Delete a document with all its versions, passages and stored files. It cannot be "
    "undone: do it only when the user asked for exactly this document to be deleted. Returns a "
    "receipt of what was removed.",
    input_schema=object_schema(
        {"document_id": identifier("The document's id, as shown by other tools.")},
        required=["document_id"],
    ),
    run=_delete,
    scope="write",
    is_destructive=True,
)


# -- get_job -----------------------------------------------------------------------------


def _get_job(context: ToolContext, arguments: Arguments) -> Result:
    with namespace(context.namespace_id):
        job = IngestJob.objects.filter(pk=uuid.UUID(arguments["job_id"])).first()
    if job is None:
        raise not_found("job")
    return {"job": JobSerializer(job).data}


GET_JOB = Tool(
    name="get_job",
    title="Show a job",
    description="See how far the indexing of a document is: its state (queued, running, succeeded, "
    "failed or cancelled), its progress, and the error if there was one.",
    input_schema=object_schema(
        {"job_id": identifier("The job_id that index_document returned.")}, required=["job_id"]
    ),
    run=_get_job,
    freshness="never",
)
