"""Detect a file's media type; its name and its bytes must agree."""

import re
from pathlib import PurePosixPath

from django.core.files.base import File

from documents.errors import BadFile, UnsupportedType
from documents.extractors.encodings import guess_wide
from documents.extractors.plain import source_code

OFFICE = "application/vnd.openxmlformats-officedocument"
OPEN_DOCUMENT = "application/vnd.oasis.opendocument"
ARCHIVE = "application/zip"
BY_SUFFIX = {
    **source_code.BY_SUFFIX,
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
    ".org": "text/x-org",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
    ".toml": "application/toml",
    ".ini": "text/x-ini",
    ".cfg": "text/x-ini",
    ".conf": "text/x-ini",
    ".properties": "text/x-ini",
    ".xml": "application/xml",
    ".rtf": "application/rtf",
    ".odt": f"{OPEN_DOCUMENT}.text",
    ".odp": f"{OPEN_DOCUMENT}.presentation",
    ".ods": f"{OPEN_DOCUMENT}.spreadsheet",
    ".xls": "application/vnd.ms-excel",
    ".xlsm": "application/vnd.ms-excel",
    ".xlsb": "application/vnd.ms-excel",
    ".msg": "application/vnd.ms-outlook",
    ".ipynb": "application/x-ipynb+json",
}
# Common names without a suffix, in lower case.
BY_NAME = {
    **source_code.BY_NAME,
    **dict.fromkeys(("readme", "changelog", "contributing", "todo"), "text/markdown"),
    **dict.fromkeys(
        ("license", "licence", "copying", "notice", "authors", "install", "news", "codeowners"),
        "text/plain",
    ),
}
SUPPORTED = frozenset(BY_SUFFIX.values())
ALIASES = {
    **source_code.ALIASES,
    "text/yaml": "application/yaml",
    "text/x-yaml": "application/yaml",
    "application/x-yaml": "application/yaml",
    "text/toml": "application/toml",
    "text/xml": "application/xml",
    "text/rtf": "application/rtf",
    "text/org": "text/x-org",
    "application/x-zip-compressed": ARCHIVE,
    "application/vnd.ms-excel.sheet.macroenabled.12": "application/vnd.ms-excel",
    "application/vnd.ms-excel.sheet.binary.macroenabled.12": "application/vnd.ms-excel",
    "text/x-markdown": "text/markdown",
    "application/x-pdf": "application/pdf",
    "application/csv": "text/csv",
    "application/jsonl": "application/x-ndjson",
    "text/x-vtt": "text/vtt",
    "image/jpg": "image/jpeg",
}
UNINFORMATIVE_TYPES = {"", "application/octet-stream"}  # sent by clients that do not know the type

SNIFFED_BYTES = 4096
ZIP, OLE, PDF = b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"%PDF-"
UNICODE_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
PICTURES = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/tiff": (b"II*\x00", b"MM\x00*", b"II+\x00", b"MM\x00+"),  # "+": BigTIFF
    "image/webp": (b"RIFF",),
}
NOT_TEXT = (ZIP, OLE, PDF, b"\x89PNG", b"GIF8", b"\xff\xd8\xff", b"\x1f\x8b", b"\x7fELF", b"Rar!")


class TypeMismatch(BadFile):
    code = "type_mismatch"


def detect(content: File, *, file_name: str, declared: str) -> str:
    """Return the media type: from the file's name, else as declared, else from its bytes. Raises
    UnsupportedType and TypeMismatch."""
    declared = declared.partition(";")[0].strip().lower()
    declared = ALIASES.get(declared, declared)
    content.seek(0)
    head = content.read(SNIFFED_BYTES)
    media_type = type_of_name(file_name)
    if not media_type and declared not in UNINFORMATIVE_TYPES:
        media_type = declared
    if not media_type and _is_bare_text(file_name, declared, head):
        # Text without a name is read as Markdown; a file with a name but no suffix as plain text.
        media_type = "text/plain" if file_name else "text/markdown"
    if media_type not in SUPPORTED:
        known = ", ".join(sorted(suffix.lstrip(".") for suffix in (*BY_SUFFIX, ".zip")))
        what = media_type or f"{_suffix(file_name) or 'this kind of'} files"
        raise UnsupportedType(f"Cannot read {what}; supported are: {known}.")
    if not _looks_like(media_type, head):
        raise TypeMismatch(
            f"The file is named or declared as {media_type}, but its content is not."
        )
    return media_type


def is_archive(file_name: str, declared: str) -> bool:
    """Whether this is a zip of documents, by its name or as declared."""
    suffix = _suffix(file_name)
    declared = declared.partition(";")[0].strip().lower()
    return suffix == ".zip" or (not suffix and ALIASES.get(declared, declared) == ARCHIVE)


def type_of_name(file_name: str) -> str:
    """Return the type by suffix, or by the whole name for README and the like; "" if unknown."""
    name = PurePosixPath(file_name).name.lower()
    return BY_NAME.get(name) or BY_SUFFIX.get(_suffix(file_name), "")


def type_of_uri(source_uri: str) -> str:
    """Return the type by a URI's suffix. This is only a hint: .com and .1 are not file suffixes."""
    return BY_SUFFIX.get(_suffix(re.sub(r"^[a-z][a-z0-9+.-]*://[^/?#]*", "", source_uri)), "")


def _suffix(file_name: str) -> str:
    return PurePosixPath(re.split("[?#]", file_name)[0]).suffix.lower()


def _is_bare_text(file_name: str, declared: str, head: bytes) -> bool:
    """Whether this is text without a name, or a text file whose name has no suffix."""
    if _suffix(file_name) or (file_name == "" and declared != ""):
        return False
    return not file_name or _looks_like("text/plain", head)


def _looks_like(media_type: str, head: bytes) -> bool:
    if media_type == "application/pdf":
        return PDF in head[:1024]  # some mail programs put a few bytes in front of it
    if media_type == "application/epub+zip":
        return head.startswith(ZIP)
    if media_type.startswith((OFFICE, OPEN_DOCUMENT)) or media_type == "application/vnd.ms-excel":
        return head.startswith(
            (ZIP, OLE)
        )  # OLE: an old or encrypted file, which the extractor reports
    if media_type == "application/vnd.ms-outlook":
        return head.startswith(OLE)
    if media_type == "application/rtf":
        return head.lstrip().startswith(b"{\\rtf")
    if media_type in PICTURES:
        named = media_type != "image/webp" or head[8:12] == b"WEBP"
        return named and head.startswith(PICTURES[media_type])
    if head.startswith(UNICODE_MARKS):
        return True
    return (b"\x00" not in head or bool(guess_wide(head))) and not head.startswith(NOT_TEXT)


def looks_like_text(head: bytes) -> bool:
    return _looks_like("text/plain", head)
