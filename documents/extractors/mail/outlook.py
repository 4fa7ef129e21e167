"""Outlook messages (MSG): subject, body, addresses and date; attachments are named, not opened."""

from datetime import UTC, datetime, timedelta
from typing import Any, BinaryIO

from olefile import OleFileIO

from documents.errors import NoText, ParseError
from documents.extractors.base import FileExtractor
from documents.extractors.cleaning import clean, decode
from documents.extractors.data.tables import reading
from documents.extractors.html.blocks import BlockWriter, mark_headings, write_tree
from documents.extractors.html.page_source import decode_page, drop_hidden, parse_page
from documents.passages import Extracted
from documents.text.boundaries import paragraph_spans

MAX_FIELD = 1000  # characters
MAX_BODY = 20 * 1024 * 1024  # bytes
MAX_ATTACHMENTS = 200
UNICODE, BYTES, BINARY = "001F", "001E", "0102"
SUBJECT, BODY, HTML = "0037", "1000", "1013"
FIELDS = {"from": "0C1A", "from_address": "5D01", "to": "0E04", "cc": "0E03", "message_id": "1035"}
FILE_NAMES = ("3707", "3704")
SENT, DELIVERED = 0x00390040, 0x0E060040
EPOCH = datetime(1601, 1, 1, tzinfo=UTC)


class OutlookExtractor(FileExtractor):
    def extract_file(self, file: BinaryIO, *, name: str = "") -> Extracted:
        with reading("Outlook message"), OleFileIO(file) as ole:
            if not ole.exists("__properties_version1.0"):
                raise ParseError("The file is not an Outlook message.")
            subject = _string(ole, SUBJECT)
            writer = BlockWriter()
            writer.add_heading(subject, level=1)
            headings = len(writer.blocks)
            _write_body(ole, writer)
            metadata = _metadata(ole)
        if not writer.blocks:
            raise NoText("The message has neither a subject nor a body to read.")
        only = ("The message has no body that can be read; only its subject was.",)
        return Extracted(
            text=writer.text,
            blocks=tuple(writer.blocks),
            title=subject,
            metadata=metadata,
            warnings=only if len(writer.blocks) == headings else (),
        )


def _write_body(ole: "OleFileIO", writer: "BlockWriter") -> None:
    if text := _string(ole, BODY, limit=MAX_BODY):
        for start, end in paragraph_spans(text, 0, len(text)):
            writer.add("text", text[start:end])
        return
    page = _stream(ole, f"__substg1.0_{HTML}{BINARY}", limit=MAX_BODY)
    if not page.strip():
        return
    try:
        tree, _ = parse_page(decode_page(page)[0])
    except NoText:
        return
    mark_headings(tree)
    drop_hidden(tree)
    write_tree(tree, writer)


def _string(ole: "OleFileIO", tag: str, *, folder: str = "", limit: int = MAX_FIELD * 4) -> str:
    wide = _stream(ole, f"{folder}__substg1.0_{tag}{UNICODE}", limit=limit)
    if wide:
        return clean(wide.decode("utf-16-le", errors="replace")).strip()
    narrow = _stream(ole, f"{folder}__substg1.0_{tag}{BYTES}", limit=limit)
    return clean(decode(narrow)[0]).strip() if narrow else ""


def _stream(ole: "OleFileIO", path: str, *, limit: int) -> bytes:
    if not ole.exists(path):
        return b""
    content: bytes = ole.openstream(path).read(limit)
    return content


def _metadata(ole: "OleFileIO") -> dict[str, Any]:
    metadata: dict[str, Any] = {
        name: value[:MAX_FIELD] for name, tag in FIELDS.items() if (value := _string(ole, tag))
    }
    if moment := _date(ole):
        metadata["date"] = moment.isoformat()
    folders = sorted({entry[0] for entry in ole.listdir() if entry[0].startswith("__attach")})
    names = [
        next(filter(None, (_string(ole, tag, folder=f"{folder}/") for tag in FILE_NAMES)), "")
        for folder in folders[:MAX_ATTACHMENTS]
    ]
    if names:
        metadata["attachments"] = [{"name": name[:255]} for name in names]
    return metadata


def _date(ole: "OleFileIO") -> datetime | None:
    """Read a date from the table of fixed-size properties: 16 bytes each, after a header of 32."""
    table = _stream(ole, "__properties_version1.0", limit=1024 * 1024)
    found = {
        int.from_bytes(table[at : at + 4], "little"): int.from_bytes(
            table[at + 8 : at + 16], "little"
        )
        for at in range(32, len(table) - 15, 16)
    }
    ticks = found.get(SENT) or found.get(DELIVERED)
    if not ticks:
        return None
    try:
        return (EPOCH + timedelta(microseconds=ticks // 10)).replace(microsecond=0)
    except OverflowError:
        return None
