"""What POST /ingest takes: the two shapes of its body, turned into submissions."""

from typing import Any

from django.conf import settings
from django.core.files.base import ContentFile
from rest_framework import serializers

from documents.errors import IngestError
from documents.fetching import Fetcher
from documents.intake import Submission
from documents.media_types import SAID_WITHOUT_MEANING
from ragsite.errors import describe
from ragsite.platform.threads import release_connections

from .fields import ContentField, MetadataField, NamedChoiceField, SaidOrNotField, TagsField
from .serializers import StrictSerializer

LONGEST_URI = 2048
MOST_TAGS = 100


class InvalidItem(IngestError):
    code = "invalid_request"


class _CommonFields(StrictSerializer):
    title = serializers.CharField(max_length=1000, required=False)
    source_uri = serializers.CharField(
        max_length=LONGEST_URI,
        required=False,
        help_text="What the document is known by: the same source again is a new version.",
    )
    tags = TagsField(max_length=MOST_TAGS, required=False)
    metadata = MetadataField(required=False)
    rows_as_facts = SaidOrNotField(
        required=False,
        help_text="Keep what the rows of a CSV, TSV or XLSX file say as facts. If left out, as "
        "said before; at first false.",
    )


class _OptionFields(serializers.Serializer):
    on_duplicate = NamedChoiceField(
        choices=["skip", "keep", "error"],
        default="skip",
        help_text="Same content under another source: point to it, index it again, or refuse.",
    )
    wait = serializers.FloatField(
        default=0, min_value=0, help_text="Seconds to wait for indexing to finish."
    )


class ItemSerializer(_CommonFields):
    content = ContentField()
    media_type = serializers.CharField(max_length=200, required=False)


class TextsSerializer(_OptionFields, StrictSerializer):
    documents = ItemSerializer(many=True)
    tags = TagsField(max_length=MOST_TAGS, required=False, help_text="Added to every document.")
    rows_as_facts = SaidOrNotField(
        required=False, help_text="For every document that does not say it itself."
    )


class UploadSerializer(_OptionFields, _CommonFields):
    file = serializers.ListField(child=serializers.FileField(allow_empty_file=True))


class UrlSerializer(_OptionFields, _CommonFields):
    url = serializers.CharField(
        max_length=LONGEST_URI, help_text="A public web page or file, fetched once."
    )


class _RawTextsSerializer(TextsSerializer):
    """The same, its items left unchecked: each is checked, and fails, on its own."""

    documents = serializers.ListField(allow_empty=False)  # type: ignore[assignment]

    def validate_documents(self, items: list[Any]) -> list[Any]:
        return at_most(items, settings.INGEST_MAX_BATCH)


class _CheckedUploadSerializer(UploadSerializer):
    def validate(self, fields: dict[str, Any]) -> dict[str, Any]:
        at_most(fields["file"], settings.INGEST_MAX_BATCH)
        for name in ("source_uri", "title"):
            if name in fields and len(fields["file"]) > 1:
                raise serializers.ValidationError({name: "Only one file can have it: send one."})
        return fields


def at_most(items: list[Any], limit: int) -> list[Any]:
    if len(items) > limit:
        raise serializers.ValidationError(f"At most {limit} documents at once.")
    return items


def read_upload(data: Any) -> tuple[list[Submission | IngestError], float]:
    form = _CheckedUploadSerializer(data=data)
    form.is_valid(raise_exception=True)
    fields = form.validated_data
    wait, said = fields.pop("wait"), {k: v for k, v in fields.items() if k != "file"}
    return [
        Submission(content=f, file_name=f.name, media_type=f.content_type or "", **said)
        for f in fields["file"]
    ], wait


def read_texts(data: Any) -> tuple[list[Submission | IngestError], float]:
    form = _RawTextsSerializer(data=data)
    form.is_valid(raise_exception=True)
    fields = form.validated_data
    common = {k: v for k, v in fields.items() if k in ("on_duplicate", "rows_as_facts")}
    return [
        _read_item(item, fields.get("tags", []), common) for item in fields["documents"]
    ], fields["wait"]


def read_url(data: Any) -> tuple[list[Submission | IngestError], float]:
    """Fetched here and now, so that the caller hears at once if there is nothing to be had."""
    form = UrlSerializer(data=data)
    form.is_valid(raise_exception=True)
    said = form.validated_data
    url, wait = said.pop("url"), said.pop("wait")
    release_connections()  # a web site may take its time
    try:
        fetched = fetcher().fetch(url)
    except IngestError as error:
        return [error], wait
    media_type = fetched.media_type.partition(";")[0].strip().lower()
    if media_type in SAID_WITHOUT_MEANING:
        media_type = ""
    content = ContentFile(fetched.content)
    return [Submission(content, media_type=media_type, **{"source_uri": url, **said})], wait


def fetcher() -> Fetcher:
    return Fetcher(max_bytes=settings.INGEST_MAX_BYTES, **settings.FETCHING)


def _read_item(data: Any, tags: list[str], common: dict[str, Any]) -> Submission | IngestError:
    item = ItemSerializer(data=data)
    if not item.is_valid():
        return InvalidItem(describe(serializers.ValidationError(item.errors)))
    fields = item.validated_data
    if tags or "tags" in fields:
        fields["tags"] = list(dict.fromkeys([*tags, *fields.get("tags", [])]))
    content = ContentFile(fields.pop("content"))
    return Submission(content=content, **{**common, **fields})
