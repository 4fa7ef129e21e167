"""Multipart bodies: files keep the relative path that the client sent, made safe."""

import html
from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.http.multipartparser import MultiPartParser as DjangoMultiPartParser
from django.http.multipartparser import MultiPartParserError
from rest_framework.exceptions import ParseError
from rest_framework.parsers import DataAndFiles, MultiPartParser

from documents.intake.archives import safe_path

RELATIVE_PATH = "relative_path"  # the attribute of an uploaded file


class _PathKeepingParser(DjangoMultiPartParser):
    """Keeps the folder of a file, which Django removes from its name."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.paths: list[str] = []

    def sanitize_file_name(self, file_name: str) -> str | None:
        name: str | None = super().sanitize_file_name(file_name)
        if name:
            self.paths.append(safe_path(html.unescape(file_name)))
        return name


class UploadParser(MultiPartParser):
    """DRF's parser, with `relative_path` for each file: "" for a plain name."""

    def parse(
        self, stream: Any, media_type: str | None = None, parser_context: Any = None
    ) -> DataAndFiles:
        request = (parser_context or {})["request"]
        meta = {**request.META, "CONTENT_TYPE": media_type}
        encoding = (parser_context or {}).get("encoding", settings.DEFAULT_CHARSET)
        try:
            parser = _PathKeepingParser(meta, stream, request.upload_handlers, encoding)
            data, files = parser.parse()
        except MultiPartParserError as error:
            raise ParseError(f"Multipart form parse error - {error}") from None
        received: list[UploadedFile] = [f for name in files for f in files.getlist(name)]
        # The order between files of several fields is lost.
        if len(files) == 1 and len(received) == len(parser.paths):
            for file, path in zip(received, parser.paths, strict=True):
                setattr(file, RELATIVE_PATH, path if "/" in path else "")
        return DataAndFiles(data, files)
