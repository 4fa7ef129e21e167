"""What kind of file is this? Its bytes and its name must agree."""

import re
from pathlib import PurePosixPath

from django.core.files.base import File

from .errors import BadFile, UnsupportedType

BY_SUFFIX = {
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".mdown": "text/markdown",
    ".mkd": "text/markdown",
    ".txt": "text/plain",
    ".text": "text/plain",
    ".log": "text/plain",
}
SAID_WITHOUT_MEANING = {"", "application/octet-stream"}  # what clients send when they do not know
SNIFFED_BYTES = 4096
UNICODE_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")


class TypeMismatch(BadFile):
    code = "type_mismatch"


def detect(content: File, *, file_name: str, declared: str) -> str:
    """The media type, by the name's suffix first, then by what the caller says."""
    path = re.split("[?#]", file_name)[0] if "://" in file_name else file_name
    suffix = PurePosixPath(path).suffix
    declared = declared.partition(";")[0].strip().lower()
    if declared == "text/x-markdown":
        declared = "text/markdown"
    media_type = BY_SUFFIX.get(suffix.lower(), "")
    if not media_type and declared not in SAID_WITHOUT_MEANING:
        media_type = declared
    if not media_type and not suffix and declared == "":
        media_type = "text/markdown"  # bare text: plain prose is Markdown, too
    if media_type not in BY_SUFFIX.values():
        what = media_type or f"{suffix or 'this'} files"
        raise UnsupportedType(f"Cannot read {what}; Markdown and plain text are taken.")
    _must_be_text(content, media_type)
    return media_type


def _must_be_text(content: File, media_type: str) -> None:
    content.seek(0)
    head = content.read(SNIFFED_BYTES)
    if (b"\x00" in head and not head.startswith(UNICODE_MARKS)) or head.startswith(b"%PDF-"):
        raise TypeMismatch(f"The file calls itself {media_type}, but its bytes are not text.")
