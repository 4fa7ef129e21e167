"""The bodies that POST /ingest accepts, turned into submissions."""

from typing import Any

from django.conf import settings
from django.core.files.base import ContentFile
from rest_framework import serializers

from documents.api.fields import (
    Base64Field,
    ChunkingField,
    ContentField,
    FilesField,
    MetadataField,
    NamedChoiceField,
    OptionalBooleanField,
    TagsField,
)
from documents.api.serializers import StrictSerializer
from documents.errors import IngestError
from documents.intake.fetching import Fetcher
from documents.intake.intake import Submission
from documents.intake.media_types import UNINFORMATIVE_TYPES
from ragsite.platform.errors import describe
from ragsite.web.threads import release_connections

from .uploads import RELATIVE_PATH

MAX_URI_LENGTH = 2048
MAX_TAGS = 100
COMMON = ("on_duplicate", "rows_as_facts", "chunking", "collection")
PER_FILE = ("source_uri", "title", "encoding")


class InvalidItem(IngestError):
    code = "invalid_request"


def _title() -> serializers.CharField:
    return serializers.CharField(max_length=1000, required=False)


def _source_uri() -> serializers.CharField:
    return serializers.CharField(
        max_length=MAX_URI_LENGTH,
        required=False,
        help_text="The identity of the document: another upload with the same source is a new "
        "version.",
    )


def _encoding() -> serializers.CharField:
    return serializers.CharField(
        max_length=40,
        required=False,
        help_text="Encoding of the file's text, e.g. windows-1252; detected if omitted.",
    )


def _collection() -> serializers.CharField:
    return serializers.CharField(
        max_length=256,
        required=False,
        trim_whitespace=False,
        help_text="Name of the collection to add it to, which is created if necessary.",
    )


class _CommonFields(StrictSerializer):
    title = _title()
    source_uri = _source_uri()
    tags = TagsField(max_length=MAX_TAGS, required=False)
    metadata = MetadataField(required=False)
    collection = _collection()
    rows_as_facts = OptionalBooleanField(
        required=False,
        help_text="Store the rows of a CSV, TSV or XLSX file as facts. If omitted, "
        "unchanged; false for a new document.",
    )
    chunking = ChunkingField(
        required=False,
        help_text="How to chunk the document, instead of by the index profile's settings, e.g. "
        '{"method": "structure", "size": 300, "overlap": 50}. If omitted, as requested before; '
        "{} restores the profile's settings. Sizes that the namespace's embedding model cannot "
        "read are rejected (invalid_chunking).",
    )


class _OptionFields(serializers.Serializer):
    on_duplicate = NamedChoiceField(
        choices=["skip", "keep", "error"],
        default="skip",
        help_text="What to do if the content exists under another source: return that document, "
        "store it again, or refuse it.",
    )
    wait = serializers.FloatField(
        default=0, min_value=0, help_text="Seconds to wait for indexing to finish."
    )


class ItemSerializer(_CommonFields):
    content = ContentField(required=False)
    content_base64 = Base64Field(
        required=False, help_text="Bytes instead of text: a PDF, or text in another encoding."
    )
    media_type = serializers.CharField(max_length=200, required=False)
    encoding = _encoding()

    def validate(self, fields: dict[str, Any]) -> dict[str, Any]:
        if ("content" in fields) == ("content_base64" in fields):
            raise serializers.ValidationError({"content": "Give either content or content_base64."})
        if "content" in fields and "encoding" in fields:
            raise serializers.ValidationError(
                {"encoding": "Only content_base64 may have an encoding."}
            )
        return fields


class TextsSerializer(_OptionFields, StrictSerializer):
    documents = ItemSerializer(many=True)
    tags = TagsField(max_length=MAX_TAGS, required=False, help_text="Added to every document.")
    collection = _collection()
    rows_as_facts = OptionalBooleanField(
        required=False, help_text="For every document without its own value."
    )
    chunking = ChunkingField(required=False, help_text="For every document without its own value.")


class FileFieldsSerializer(_CommonFields):
    """The fields of one entry in `files`."""

    media_type = serializers.CharField(max_length=200, required=False)
    encoding = _encoding()


class UploadSerializer(_OptionFields, _CommonFields):
    file = serializers.ListField(child=serializers.FileField(allow_empty_file=True))
    title = serializers.ListField(  # type: ignore[assignment]
        child=_title(), required=False, help_text="One for each file, in order."
    )
    source_uri = serializers.ListField(  # type: ignore[assignment]
        child=_source_uri(),
        required=False,
        help_text="One for each file, in order: the identity of the document. The same "
        "source again is a new version.",
    )
    encoding = serializers.ListField(
        child=_encoding(),
        required=False,
        help_text="One value for all files, or one for each file.",
    )
    files = FilesField(
        required=False,
        help_text="JSON: a list with one object for each file, in order. Each may have "
        "source_uri, title, tags, metadata, collection, media_type, encoding, "
        "rows_as_facts and chunking.",
    )


class UrlSerializer(_OptionFields, _CommonFields):
    encoding = _encoding()
    url = serializers.CharField(
        max_length=MAX_URI_LENGTH, help_text="A public web page or file, fetched once."
    )


class _RawTextsSerializer(TextsSerializer):
    """The same without checking items: each is checked, and may fail, separately."""

    documents = serializers.ListField(allow_empty=False)  # type: ignore[assignment]

    def validate_documents(self, items: list[Any]) -> list[Any]:
        return at_most(items, settings.INGEST_MAX_BATCH)


class _CheckedUploadSerializer(UploadSerializer):
    def validate(self, fields: dict[str, Any]) -> dict[str, Any]:
        at_most(fields["file"], settings.INGEST_MAX_BATCH)
        files = len(fields["file"])
        if len(fields.get("encoding", ())) == 1:
            fields["encoding"] *= files
        for name in ("source_uri", "title", "encoding", "files"):
            if name in fields and len(fields[name]) != files:
                raise serializers.ValidationError(
                    {name: f"Send one for each file: {files}, not {len(fields[name])}."}
                )
        fields["files"] = (
            [_read_file_fields(n, one) for n, one in enumerate(fields["files"])]
            if "files" in fields
            else [{}] * files
        )
        return fields


def _read_file_fields(number: int, data: Any) -> dict[str, Any]:
    form = FileFieldsSerializer(data=data)
    if not form.is_valid():
        raise serializers.ValidationError({"files": {str(number): form.errors}})
    return dict(form.validated_data)


def at_most(items: list[Any], limit: int) -> list[Any]:
    if len(items) > limit:
        raise serializers.ValidationError(f"At most {limit} documents at once.")
    return items


def read_upload(data: Any) -> tuple[list[Submission | IngestError], float]:
    form = _CheckedUploadSerializer(data=data)
    form.is_valid(raise_exception=True)
    fields = form.validated_data
    wait, files, own = fields.pop("wait"), fields.pop("file"), fields.pop("files")
    listed = {name: fields.pop(name) for name in PER_FILE if name in fields}
    return [
        _read_file(file, {**fields, **{k: values[n] for k, values in listed.items()}}, own[n])
        for n, file in enumerate(files)
    ], wait


def _read_file(file: Any, common: dict[str, Any], own: dict[str, Any]) -> Submission:
    media_type = file.content_type or ""
    if charset := file.charset:
        charset = charset.decode(errors="replace") if isinstance(charset, bytes) else charset
        media_type = f"{media_type}; charset={charset}"
    path = getattr(file, RELATIVE_PATH, "")
    named = {"media_type": media_type, **({"source_uri": f"upload:{path}"} if path else {})}
    if "tags" in common and "tags" in own:
        own = {**own, "tags": list(dict.fromkeys([*common["tags"], *own["tags"]]))}
    return Submission(content=file, file_name=file.name, **{**named, **common, **own})


def read_texts(data: Any) -> tuple[list[Submission | IngestError], float]:
    form = _RawTextsSerializer(data=data)
    form.is_valid(raise_exception=True)
    fields = form.validated_data
    common = {k: v for k, v in fields.items() if k in COMMON}
    return [
        _read_item(item, fields.get("tags", []), common) for item in fields["documents"]
    ], fields["wait"]


def read_url(data: Any) -> tuple[list[Submission | IngestError], float]:
    """Fetched within the request, so that the caller learns at once if that fails."""
    form = UrlSerializer(data=data)
    form.is_valid(raise_exception=True)
    fields = form.validated_data
    url, wait = fields.pop("url"), fields.pop("wait")
    release_connections()  # a web site may be slow
    try:
        fetched = fetcher().fetch(url)
    except IngestError as error:
        return [error], wait
    media_type = fetched.media_type
    if media_type.partition(";")[0].strip().lower() in UNINFORMATIVE_TYPES:
        media_type = ""
    content = ContentFile(fetched.content)
    return [Submission(content, media_type=media_type, **{"source_uri": url, **fields})], wait


def fetcher() -> Fetcher:
    return Fetcher(max_bytes=settings.INGEST_MAX_BYTES, **settings.FETCHING)


def _read_item(data: Any, tags: list[str], common: dict[str, Any]) -> Submission | IngestError:
    item = ItemSerializer(data=data)
    if not item.is_valid():
        return InvalidItem(describe(serializers.ValidationError(item.errors)))
    fields = item.validated_data
    if tags or "tags" in fields:
        fields["tags"] = list(dict.fromkeys([*tags, *fields.get("tags", [])]))
    if "content" in fields:
        fields["encoding"] = "utf-8"  # already decoded from JSON, whatever it declares
    data = fields.pop("content", None)
    content = ContentFile(fields.pop("content_base64") if data is None else data)
    return Submission(content=content, **{**common, **fields})
