"""/v1/files: a document of the namespace as a file of OpenAI's API.

A file created here is ingested as by POST /api/v1/ingest, with a source made of purpose, digest and
name, so that uploading it again, as in a retry, gives the same file.
"""

from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpResponseBase, QueryDict
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from documents.api import idempotency
from documents.api.documents import original_of
from documents.api.ingest.uploads import RELATIVE_PATH, UploadParser
from documents.api.views import caller_of, in_namespace
from documents.errors import IngestError
from documents.ingestion import removal
from documents.intake import intake, originals
from documents.intake.media_types import is_archive
from documents.models import Document, DocumentVersion
from ragsite.access.rate_limits import BY_METHOD
from ragsite.database.tenancy import namespace
from ragsite.platform.errors import ApiError

from .ids import FILE, missing, read_id, shown_id
from .paging import listed, page_of, page_parameters
from .views import (
    OPENAI_ERRORS,
    OpenAIView,
    check_query_parameters,
    invalid_parameter,
    unsupported_parameter,
)

PURPOSES = ("assistants", "user_data")
OTHER_DOORS_PURPOSE = "user_data"  # of documents ingested by other means
MAX_PAGE = 10_000
NO_FILE = "Send one file, with its name, as multipart/form-data."
_SOURCE = "openai:"
_STATUS = {
    Document.Status.READY: "processed",
    Document.Status.FAILED: "error",
    Document.Status.CANCELLED: "error",
}
_HTTP_STATUS = {
    "too_large": 413,
    "quota_exceeded": 403,
    "storage_full": 507,
    "storage_unavailable": 503,
}


# -- shapes ------------------------------------------------------------------------------


class FileSerializer(serializers.Serializer):
    id = serializers.CharField()
    object = serializers.CharField(help_text="Always `file`.")
    bytes = serializers.IntegerField()
    created_at = serializers.IntegerField(help_text="Unix time, in seconds.")
    expires_at = serializers.IntegerField(allow_null=True, help_text="Always null.")
    filename = serializers.CharField()
    purpose = serializers.ChoiceField(choices=PURPOSES)
    status = serializers.ChoiceField(choices=["uploaded", "processed", "error"])
    status_details = serializers.CharField(allow_null=True, help_text="Why indexing failed.")


class FileListSerializer(serializers.Serializer):
    object = serializers.CharField(help_text="Always `list`.")
    data = FileSerializer(many=True)  # type: ignore[assignment]
    first_id = serializers.CharField(allow_null=True)
    last_id = serializers.CharField(allow_null=True)
    has_more = serializers.BooleanField()


class FileDeletedSerializer(serializers.Serializer):
    id = serializers.CharField()
    object = serializers.CharField(help_text="Always `file`.")
    deleted = serializers.BooleanField()


class FileUploadSerializer(serializers.Serializer):
    file = serializers.FileField()
    purpose = serializers.ChoiceField(choices=PURPOSES)


# -- views -------------------------------------------------------------------------------


class FileListView(OpenAIView):
    rate_class = {**BY_METHOD, "POST": "ingest"}
    parser_classes = [UploadParser]

    @extend_schema(
        operation_id="openai_files_list",
        parameters=[
            *page_parameters(default=MAX_PAGE, maximum=MAX_PAGE),
            OpenApiParameter("purpose", str, enum=PURPOSES),
        ],
        responses={200: FileListSerializer, **OPENAI_ERRORS},
    )
    @in_namespace
    def get(self, request: Request) -> Response:
        """List the namespace's documents as files, newest first."""
        page = page_of(
            _of_purpose(files(), request.query_params.get("purpose")),
            request,
            find=find_file,
            filters=frozenset({"purpose"}),
            default=MAX_PAGE,
            maximum=MAX_PAGE,
        )
        return Response(listed(page, [shown(document) for document in page.rows]))

    @extend_schema(
        operation_id="openai_files_create",
        parameters=[idempotency.PARAMETER],
        request={"multipart/form-data": FileUploadSerializer},
        responses={200: FileSerializer, **OPENAI_ERRORS},
    )
    @idempotency.idempotent
    def post(self, request: Request) -> Response:
        """Accept a file and queue it for indexing. Uploading the same file again returns the
        existing one."""
        submission = _read_upload(request)
        namespace_id = caller_of(request).namespace_id
        try:
            receipt = intake.accept(namespace_id, submission)
        except IngestError as error:
            raise _refusal(error) from None
        with namespace(namespace_id):
            return Response(shown(files().get(pk=receipt.document_id)))


class FileView(OpenAIView):
    rate_class = BY_METHOD

    @extend_schema(
        operation_id="openai_files_get", responses={200: FileSerializer, **OPENAI_ERRORS}
    )
    @in_namespace
    def get(self, request: Request, file_id: str) -> Response:
        """Return one file."""
        check_query_parameters(request, frozenset())
        return Response(shown(find_file(file_id)))

    @extend_schema(
        operation_id="openai_files_delete",
        responses={200: FileDeletedSerializer, **OPENAI_ERRORS},
    )
    def delete(self, request: Request, file_id: str) -> Response:
        """Remove the document, its chunks, facts, jobs and stored files."""
        try:
            removal.remove(caller_of(request).namespace_id, read_id(FILE, file_id, "file_id"))
        except Document.DoesNotExist:
            raise missing(FILE, "file_id") from None
        return Response({"id": file_id, "object": "file", "deleted": True})


class FileContentView(OpenAIView):
    rate_class = BY_METHOD

    @extend_schema(
        operation_id="openai_files_content",
        responses={(200, "*/*"): OpenApiResponse(OpenApiTypes.BINARY), **OPENAI_ERRORS},
    )
    def get(self, request: Request, file_id: str) -> HttpResponseBase:
        """Return the file as it was uploaded, byte for byte."""
        check_query_parameters(request, frozenset())
        with namespace(caller_of(request).namespace_id):
            document = find_file(file_id)
            version = newest_versions(document.pk).get(number=document.document_version)
        return original_of(version, file_name_of(document))


# -- documents as files ------------------------------------------------------------------


def newest_versions(document_id: Any) -> QuerySet[DocumentVersion]:
    return DocumentVersion.objects.filter(document=document_id).defer("text", "outline")


def files() -> QuerySet[Document]:
    """Documents with the `file_name` of their newest version, for `shown`. Inside namespace()."""
    newest = newest_versions(OuterRef("pk")).filter(number=OuterRef("document_version"))
    name = Subquery(newest.values("file_name")[:1])
    return Document.objects.annotate(file_name=name).defer("metadata", "given")


def find_file(file_id: str, param: str = "file_id") -> Document:
    """Raises ApiError (404). Inside namespace()."""
    document = files().filter(pk=read_id(FILE, file_id, param)).first()
    if document is None:
        raise missing(FILE, param)
    return document


def shown(document: Document) -> dict[str, Any]:
    """A document of `files()` as OpenAI's file object."""
    return {
        "id": shown_id(FILE, document.pk),
        "object": "file",
        "bytes": document.byte_size,
        "created_at": int(document.created_at.timestamp()),
        "expires_at": None,
        "filename": file_name_of(document),
        "purpose": _purpose_of(document),
        "status": _STATUS.get(Document.Status(document.status), "uploaded"),
        "status_details": document.error_message or None,
    }


def file_name_of(document: Document) -> str:
    """For texts and web pages, which have no file name, return the last part of the source."""
    name = getattr(document, "file_name", "") or document.source_uri.rstrip("/").rpartition("/")[2]
    return str(name)


def _purpose_of(document: Document) -> str:
    for purpose in PURPOSES:
        if document.source_uri.startswith(_source_of(purpose)):
            return purpose
    return OTHER_DOORS_PURPOSE


def _source_of(purpose: str) -> str:
    return f"{_SOURCE}{purpose}/"


def _of_purpose(documents: QuerySet[Document], purpose: str | None) -> QuerySet[Document]:
    if purpose is None:
        return documents
    _check_purpose(purpose)
    if purpose != OTHER_DOORS_PURPOSE:
        return documents.filter(source_uri__startswith=_source_of(purpose))
    for other in PURPOSES:
        if other != purpose:
            documents = documents.exclude(source_uri__startswith=_source_of(other))
    return documents


def _check_purpose(purpose: str) -> None:
    if purpose not in PURPOSES:
        raise invalid_parameter("purpose", f"purpose is one of: {', '.join(PURPOSES)}.")


# -- an upload ---------------------------------------------------------------------------


def _read_upload(request: Request) -> intake.Submission:
    """Raises ApiError."""
    form = request.data
    if not isinstance(form, QueryDict):  # no body at all
        raise invalid_parameter("file", NO_FILE)
    for name in form:
        if name not in ("file", "purpose"):
            raise unsupported_parameter(name.partition("[")[0])
    purposes = form.getlist("purpose")
    if len(purposes) != 1:
        raise invalid_parameter("purpose", "Send one purpose.")
    _check_purpose(purposes[0])
    uploads = form.getlist("file")
    if len(uploads) != 1 or not isinstance(uploads[0], UploadedFile):
        raise invalid_parameter("file", NO_FILE)
    file = uploads[0]
    return intake.Submission(
        content=file,
        file_name=file.name or "",
        media_type=_media_type(file),
        source_uri=_source_uri(file, purposes[0]),
        on_duplicate="keep",
    )


def _media_type(file: UploadedFile) -> str:
    """Raises ApiError for a zip archive: it contains several files, but one id is one file here."""
    media_type = file.content_type or ""
    if is_archive(file.name or "", media_type):
        message = "A zip holds several files: send them one by one, or to POST /api/v1/ingest."
        raise ApiError("unsupported_type", message, details={"param": "file"})
    return f"{media_type}; charset={file.charset}" if file.charset else media_type


def _source_uri(file: UploadedFile, purpose: str) -> str:
    """Raises ApiError for a file that is too large, before reading all of it."""
    if (file.size or 0) > settings.INGEST_MAX_BYTES:
        message = f"A file may have {settings.INGEST_MAX_BYTES:,} bytes at most."
        raise ApiError("too_large", message, http_status=413, details={"param": "file"})
    file.seek(0)
    path = getattr(file, RELATIVE_PATH, "") or file.name
    return f"{_source_of(purpose)}{originals.digest_of(file)[:32]}/{path}"


def _refusal(error: IngestError) -> ApiError:
    details = {**(error.details or {}), "param": "file"}
    status = _HTTP_STATUS.get(error.code, 400)
    return ApiError(error.code, str(error), http_status=status, details=details)
