"""A namespace's documents: list, read, change, reindex, delete."""

import re
import uuid
from dataclasses import asdict
from typing import Any

from django.core.files.base import ContentFile, File
from django.db.models import F, QuerySet
from django.http import HttpResponseBase, HttpResponseRedirect
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from documents.accounts import audit
from documents.api.ingest.results import ResultSerializer, result_of
from documents.conversations.transcripts import read_transcript
from documents.ingestion import removal
from documents.ingestion.editing import MetadataTooLarge, SourceUriTaken, amend
from documents.intake import intake, originals
from documents.listing import documents_matching
from documents.models import CONVERSATION_MEDIA_TYPE, Chunk, Document, DocumentVersion
from ragsite.access.rate_limits import BY_METHOD
from ragsite.database.tenancy import namespace
from ragsite.platform.errors import ApiError
from ragsite.web.rendering import IgnoreAcceptHeader
from ragsite.web.streaming import file_response

from .pages import ByOrdinal
from .serializers import (
    ChunkSerializer,
    DocumentChangeSerializer,
    DocumentSerializer,
    RemovalSerializer,
    TextSerializer,
    VersionSerializer,
)
from .views import NamespacedListView, caller_of, check_parameters, in_namespace


def find_document(pk: uuid.UUID) -> Document:
    """Find a document. Raises NotFound for another tenant's id exactly as for an unknown one."""
    document = Document.objects.filter(pk=pk).first()
    if document is None:
        raise NotFound
    return document


def find_version(request: Request, document: Document) -> DocumentVersion:
    """Return the version requested by ?version=N, by default the live one."""
    check_parameters(request, frozenset({"version"}))
    asked = request.query_params.get("version", document.live_version or document.document_version)
    if not re.fullmatch(r"-?[0-9]+", str(asked)):
        raise ValidationError({"version": "A version is a whole number."})
    if len(str(asked)) > MAX_VERSION_DIGITS:
        raise NotFound
    try:
        return DocumentVersion.objects.get(document=document, number=int(asked))
    except DocumentVersion.DoesNotExist:
        raise NotFound from None


MAX_VERSION_DIGITS = 9  # digits; the database has no larger numbers
VERSION = OpenApiParameter(
    "version",
    int,
    description="A version number; by default the live version.",
)


class DocumentListView(NamespacedListView):
    serializer_class = DocumentSerializer
    filter_names = frozenset({"status", "source_type", "source_uri", "tag", "collection"})
    choices = {"status": Document.Status.values}

    def get_queryset(self) -> QuerySet[Document]:
        asked = self.request.query_params
        return documents_matching(
            status=asked.get("status"),
            source_type=asked.get("source_type"),
            source_uri=asked.get("source_uri"),
            tags=asked.getlist("tag"),
            collection=asked.get("collection"),
        )

    @extend_schema(
        operation_id="documents_list",
        parameters=[
            OpenApiParameter("status", str, enum=Document.Status.values),
            OpenApiParameter("source_type", str),
            OpenApiParameter("source_uri", str),
            OpenApiParameter("tag", str),
            OpenApiParameter("collection", str, description="Its name or id."),
        ],
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return super().get(request, *args, **kwargs)


class DocumentView(APIView):
    rate_class = BY_METHOD

    @extend_schema(operation_id="documents_get", responses=DocumentSerializer)
    @in_namespace
    def get(self, request: Request, pk: uuid.UUID) -> Response:
        return Response(DocumentSerializer(find_document(pk)).data)

    @extend_schema(
        operation_id="documents_change",
        request=DocumentChangeSerializer,
        responses=DocumentSerializer,
    )
    def patch(self, request: Request, pk: uuid.UUID) -> Response:
        """Replace title, tags, source_uri or dated_at; merge metadata (RFC 7396). Filters see the
        change at once. Only a new title requires indexing; until then the old one is found."""
        form = DocumentChangeSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        try:
            document = amend(caller_of(request).namespace_id, pk, form.validated_data)
        except Document.DoesNotExist:
            raise NotFound from None
        except SourceUriTaken as error:
            raise ApiError(error.code, str(error), http_status=409) from None
        except MetadataTooLarge as error:
            raise ApiError(error.code, str(error), http_status=422) from None
        return Response(DocumentSerializer(document).data)

    @extend_schema(operation_id="documents_delete", responses={200: RemovalSerializer})
    def delete(self, request: Request, pk: uuid.UUID) -> Response:
        """Delete the document, its chunks, facts, jobs and stored files. Returns a receipt."""
        try:
            receipt = removal.remove(caller_of(request).namespace_id, pk)
        except Document.DoesNotExist:
            raise NotFound from None
        return Response(RemovalSerializer(asdict(receipt)).data)


class ChunkListView(NamespacedListView):
    serializer_class = ChunkSerializer
    pagination_class = ByOrdinal

    def get_queryset(self) -> QuerySet[Chunk]:
        document = find_document(self.kwargs["pk"])
        chunks = Chunk.objects.filter(document=document).defer("embedding")
        return chunks.filter(profile=F("namespace__active_profile"))

    @extend_schema(operation_id="documents_chunks")
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List the searchable chunks of the live version, in order."""
        return super().get(request, *args, **kwargs)


class VersionListView(NamespacedListView):
    serializer_class = VersionSerializer

    def get_queryset(self) -> QuerySet[DocumentVersion]:
        document = find_document(self.kwargs["pk"])
        return DocumentVersion.objects.filter(document=document).defer("text", "outline")

    @extend_schema(operation_id="documents_versions")
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return super().get(request, *args, **kwargs)


class TextView(APIView):
    rate_class = BY_METHOD

    @extend_schema(operation_id="documents_text", parameters=[VERSION], responses=TextSerializer)
    @in_namespace
    def get(self, request: Request, pk: uuid.UUID) -> Response:
        """Return the normalised text. A span cites `text[start:end]`, in code points."""
        document = find_document(pk)
        version = find_version(request, document)
        if version.published_at is None:
            raise ApiError(
                "not_ready", "This version's text has not been extracted yet.", http_status=409
            )
        return Response(
            {
                "document_id": document.pk,
                "version": version.number,
                "text": version.text,
                "pages": version.outline.get("pages", []),
                "headings": version.outline.get("headings", []),
            }
        )


class OriginalView(APIView):
    rate_class = BY_METHOD
    content_negotiation_class = IgnoreAcceptHeader

    @extend_schema(
        operation_id="documents_original",
        parameters=[VERSION],
        responses={
            (200, "*/*"): OpenApiResponse(OpenApiTypes.BINARY),
            302: OpenApiResponse(description="`Location` is a signed address that expires."),
        },
    )
    def get(self, request: Request, pk: uuid.UUID) -> HttpResponseBase:
        """Return the file as it was uploaded, byte for byte.

        Where originals are in object storage, this redirects to a signed address that expires.
        """
        with namespace(caller_of(request).namespace_id):
            version = find_version(request, find_document(pk))
        name = version.file_name or f"{pk}"
        key, media_type = version.storage_key, version.media_type
        if key and (link := originals.signed_link(key, name=name, media_type=media_type)):
            return HttpResponseRedirect(link, headers={"Cache-Control": "private, no-store"})
        return original_of(version, name)


def original_of(version: DocumentVersion, name: str) -> HttpResponseBase:
    """Return the stored file as a download, if it is still what was uploaded. For a conversation,
    whose original is its turns, return the transcript."""
    if version.media_type == CONVERSATION_MEDIA_TYPE:
        text = read_transcript(version).text.encode()
        file = ContentFile(text)
        return file_response(file, name=f"{name}.txt", media_type="text/plain", size=len(text))
    try:
        original = originals.verified(version.storage_key, sha256=version.content_sha256)
    except originals.StorageUnavailable as error:
        raise ApiError(error.code, str(error), http_status=503, retry_after=5) from None
    except originals.OriginalLost as error:
        raise ApiError(error.code, str(error), http_status=500) from None
    return file_response(
        File(original), name=name, media_type=version.media_type, size=version.byte_size
    )


class DocumentReindexView(APIView):
    rate_class = "ingest"

    @extend_schema(
        operation_id="documents_reindex", request=None, responses={202: ResultSerializer}
    )
    def post(self, request: Request, pk: uuid.UUID) -> Response:
        """Index the newest version again, after a failure or with a newer release. While the
        namespace is being reindexed, it is indexed under both profiles."""
        try:
            with namespace(caller_of(request).namespace_id):
                receipt = intake.resubmit(caller_of(request).namespace_id, pk)
                audit.record("document.reindex", target=audit.Target("document", str(pk)))
        except Document.DoesNotExist:
            raise NotFound from None
        return Response(result_of(0, receipt), status=202)
