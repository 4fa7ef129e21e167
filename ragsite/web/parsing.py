"""Parsers of request bodies: JSON, and uploaded files."""

from typing import Any

from django.core.files.uploadhandler import TemporaryFileUploadHandler
from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser


class ShallowJSONParser(JSONParser):
    """Rejects a body that is nested too deeply for Python as malformed."""

    def parse(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().parse(*args, **kwargs)
        except RecursionError:
            raise ParseError("The body is nested too deeply.") from None


class TidyUploadHandler(TemporaryFileUploadHandler):
    """Leaves no file behind when the disk is full, where Django only closes complete ones."""

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        try:
            super().receive_data_chunk(raw_data, start)
        except OSError:
            self.file.close()
            raise
