"""What kind of file is this? Its bytes and its name must agree."""

import re
from pathlib import PurePosixPath

from django.core.files.base import File

from .errors import BadFile, UnsupportedType

OFFICE = "application/vnd.openxmlformats-officedocument"
BY_SUFFIX = {
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".mdown": "text/markdown",
    ".mkd": "text/markdown",
    ".txt": "text/plain",
    ".text": "text/plain",
    ".log": "text/plain",
    ".rst": "text/x-rst",
    ".html": "text/html",
    ".htm": "text/html",
    ".xhtml": "application/xhtml+xml",
    ".pdf": "application/pdf",
    ".docx": f"{OFFICE}.wordprocessingml.document",
    ".pptx": f"{OFFICE}.presentationml.presentation",
    ".xlsx": f"{OFFICE}.spreadsheetml.sheet",
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".json": "application/json",
    ".jsonl": "application/x-ndjson",
    ".ndjson": "application/x-ndjson",
    ".epub": "application/epub+zip",
    ".eml": "message/rfc822",
    ".vtt": "text/vtt",
    ".srt": "application/x-subrip",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".tif": "image/tiff",
    ".tiff": "image/tiff",
    ".webp": "image/webp",
}
TAKEN = frozenset(BY_SUFFIX.values())
ALIASES = {
    "text/x-markdown": "text/markdown",
    "application/x-pdf": "application/pdf",
    "application/csv": "text/csv",
    "application/jsonl": "application/x-ndjson",
    "text/x-vtt": "text/vtt",
    "image/jpg": "image/jpeg",
}
SAID_WITHOUT_MEANING = {"", "application/octet-stream"}  # what clients send when they do not know

SNIFFED_BYTES = 4096
ZIP, OLE, PDF = b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"%PDF-"
UNICODE_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
PICTURES = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/tiff": (b"II*\x00", b"MM\x00*", b"II+\x00", b"MM\x00+"),  # "+": larger than 4 GB may be
    "image/webp": (b"RIFF",),
}
NOT_TEXT = (ZIP, OLE, PDF, b"\x89PNG", b"GIF8", b"\xff\xd8\xff", b"\x1f\x8b", b"\x7fELF", b"Rar!")


class TypeMismatch(BadFile):
    code = "type_mismatch"


def detect(content: File, *, file_name: str, declared: str) -> str:
    """The media type, by the name's suffix first, then by what the caller says."""
    path = re.split("[?#]", file_name)[0] if "://" in file_name else file_name
    suffix = PurePosixPath(path).suffix.lower()
    declared = declared.partition(";")[0].strip().lower()
    declared = ALIASES.get(declared, declared)
    media_type = BY_SUFFIX.get(suffix, "")
    if not media_type and declared not in SAID_WITHOUT_MEANING:
        media_type = declared
    if not media_type and not suffix and declared == "":
        media_type = "text/markdown"  # bare text: plain prose is Markdown, too
    if media_type not in TAKEN:
        known = ", ".join(sorted(suffix.lstrip(".") for suffix in BY_SUFFIX))
        what = media_type or f"{suffix or 'this kind of'} files"
        raise UnsupportedType(f"Cannot read {what}; these are taken: {known}.")
    content.seek(0)
    if not _looks_like(media_type, content.read(SNIFFED_BYTES)):
        raise TypeMismatch(f"The file calls itself {media_type}, but its bytes say otherwise.")
    return media_type


def _looks_like(media_type: str, head: bytes) -> bool:
    if media_type == "application/pdf":
        return PDF in head[:1024]  # some begin with a few bytes of their mailer's
    if media_type == "application/epub+zip":
        return head.startswith(ZIP)
    if media_type.startswith(OFFICE):
        return head.startswith((ZIP, OLE))  # OLE: encrypted, as its reader will say
    if media_type in PICTURES:
        named = media_type != "image/webp" or head[8:12] == b"WEBP"
        return named and head.startswith(PICTURES[media_type])
    if head.startswith(UNICODE_MARKS):
        return True
    return (b"\x00" not in head or _is_wide(head)) and not head.startswith(NOT_TEXT)


def _is_wide(head: bytes) -> bool:
    """UTF-16 or UTF-32 without a mark. It holds NULs only where it is mostly plain letters."""
    whole = head[: len(head) // 4 * 4]
    for codec in ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"):
        try:
            text = whole.decode(codec)
        except UnicodeDecodeError:
            continue
        plain = sum(character.isascii() for character in text)
        if 2 * plain > len(text) and all(c.isprintable() or c.isspace() for c in text):
            return True
    return False
