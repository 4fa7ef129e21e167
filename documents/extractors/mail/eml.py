"""E-mails: the subject as a heading, then the body; attachments are named but not opened."""

from collections.abc import Callable, Iterator
from datetime import datetime
from email import message_from_bytes, policy
from email.message import Message
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

from documents.errors import EmptyFile, Encrypted, NoText, ParseError
from documents.extractors.base import Extractor
from documents.extractors.cleaning import MARKS, clean, decode
from documents.extractors.encodings import Declared, encoding_named
from documents.extractors.html.blocks import BlockWriter, mark_headings, write_tree
from documents.extractors.html.page_source import (
    SNIFFED_BYTES,
    drop_hidden,
    page_encoding,
    parse_page,
)
from documents.passages import Extracted
from documents.text.boundaries import paragraph_spans

MAX_FIELD_CHARACTERS = 1000
MAX_ATTACHMENTS = 200
MAX_PARTS = 2000  # a message with more is not a letter
KNOWN_FIELDS = ("from", "to", "cc", "subject", "date", "message-id", "received", "mime-version")

SEALED = frozenset({"multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime"})

T = TypeVar("T")


class EmlExtractor(Extractor):
    def extract(self, data: bytes, *, name: str = "") -> Extracted:
        message = _read(data)
        subject = _field(message, "Subject")
        writer = BlockWriter()
        writer.add_heading(subject, level=1)
        headings = len(writer.blocks)
        attachments: list[dict[str, Any]] = []
        warnings: list[str] = []
        for part in _bodies(message, attachments):
            _write_body(part, writer, warnings)
        if len(writer.blocks) == headings:
            if _quietly(message.get_content_type, "") in SEALED:
                raise Encrypted("The e-mail is encrypted.")
            if not subject:
                raise NoText("The e-mail has neither a subject nor a body to read.")
            warnings.append("The e-mail has no body; only its subject was read.")
        return Extracted(
            text=writer.text,
            blocks=tuple(writer.blocks),
            title=subject,
            metadata=_metadata(message, attachments),
            warnings=tuple(dict.fromkeys(warnings)),
        )


def _read(data: bytes) -> Message:
    if not data:
        raise EmptyFile("The file is empty: it has no bytes at all.")
    data = _as_ascii(data)
    data = data.lstrip()
    if not data:
        raise NoText("The file holds no text, only blank space.")
    try:
        message = message_from_bytes(data, policy=policy.default)
    except Exception as error:  # the parser should never raise, but sometimes does
        raise ParseError("The file could not be read as an e-mail.") from error
    names = {name.lower() for name, _ in message.raw_items()}
    if names.isdisjoint(KNOWN_FIELDS):
        raise ParseError("The file has none of an e-mail's header fields.")
    return message


def _as_ascii(data: bytes) -> bytes:
    """Convert a file that an editor saved as UTF-16: mailers write header fields in ASCII."""
    if data.startswith(tuple(mark for mark, _ in MARKS)):
        return clean(decode(data)[0]).encode()
    if b"\x00" in data[:2]:
        encoding = "utf-16-be" if data[:1] == b"\x00" else "utf-16-le"
        return clean(data.decode(encoding, errors="replace")).encode()
    return data


def _quietly(read: Callable[[], T], otherwise: T) -> T:
    """Read a header field; broken ones may raise almost anything."""
    try:
        return read()
    except Exception:
        return otherwise


def _field(message: Message, name: str) -> str:
    value = _quietly(lambda: str(message.get(name) or ""), "")
    if not value:
        raw = [text for key, text in message.raw_items() if key.lower() == name.lower()]
        value = str(raw[0]) if raw else ""
    # Bytes that are not ASCII are surrogates here; most are UTF-8.
    value = value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return " ".join(clean(value).split())[:MAX_FIELD_CHARACTERS]


def _metadata(message: Message, attachments: list[dict[str, Any]]) -> dict[str, Any]:
    date = _field(message, "Date")
    fields = {
        "from": _field(message, "From"),
        "to": _field(message, "To"),
        "cc": _field(message, "Cc"),
        "date": _quietly(lambda: parsedate_to_datetime(date).isoformat(), "") or _iso(date),
        "message_id": _field(message, "Message-ID"),
    }
    metadata: dict[str, Any] = {key: value for key, value in fields.items() if value}
    if attachments:
        metadata["attachments"] = attachments
    return metadata


def _iso(date: str) -> str:
    return _quietly(lambda: datetime.fromisoformat(date).isoformat(), "")


def _bodies(message: Message, attachments: list[dict[str, Any]]) -> Iterator[Message]:
    """Collect the parts to read, one of each set of alternatives, and list the others."""
    waiting = [message]
    for _ in range(MAX_PARTS):
        if not waiting:
            return
        part = waiting.pop()
        kind = _quietly(part.get_content_type, "application/octet-stream")
        inner = part.get_payload() if part.is_multipart() else None
        is_attached = _quietly(part.get_content_disposition, None) == "attachment"
        is_named = bool(_quietly(part.get_filename, None))
        if part is not message and (is_attached or is_named):
            _list_attachment(part, kind, attachments)
        elif isinstance(inner, list):
            parts = [each for each in inner if isinstance(each, Message)]
            if kind == "multipart/alternative":
                parts = _preferred(parts, attachments)
            waiting.extend(reversed(parts))
        elif kind.startswith("text/"):
            yield part
        else:
            _list_attachment(part, kind, attachments)
    raise ParseError(f"The e-mail has more than {MAX_PARTS} parts.")


def _preferred(parts: list[Message], attachments: list[dict[str, Any]]) -> list[Message]:
    """Choose plain text if not empty, else HTML, else the first alternative."""
    for wanted in ("text/plain", "text/html"):
        for part in parts:
            if _quietly(part.get_content_type, "") == wanted and _text_of(part)[0].strip():
                return [part]
    return parts


def _list_attachment(part: Message, kind: str, attachments: list[dict[str, Any]]) -> None:
    if len(attachments) < MAX_ATTACHMENTS:
        name = clean(_quietly(lambda: str(part.get_filename() or ""), ""))
        size = len(_quietly(lambda: _payload(part), b""))
        attachments.append({"name": name[:255], "type": kind[:255], "size": size})


def _payload(part: Message) -> bytes:
    if part.is_multipart():  # an attached e-mail
        return b"".join(map(bytes, part.get_payload()))
    content = part.get_payload(decode=True)
    return content if isinstance(content, bytes) else b""


def _text_of(part: Message) -> tuple[str, tuple[str, ...]]:
    """Decode the part as it declares, otherwise by guessing from its bytes."""
    content = _quietly(lambda: _payload(part), b"")
    label = _quietly(lambda: str(part.get_content_charset() or ""), "")
    charset = "" if label.endswith("ascii") else encoding_named(label)
    declared = Declared(charset) if charset else page_encoding(content[:SNIFFED_BYTES])
    text, warnings = decode(content, declared=declared) if content else ("", ())
    return clean(text), warnings


def _write_body(part: Message, writer: BlockWriter, warnings: list[str]) -> None:
    text, trouble = _text_of(part)
    warnings.extend(trouble)
    if not text.strip():
        return
    if _quietly(part.get_content_type, "") in {"text/html", "application/xhtml+xml"}:
        try:
            tree, trouble = parse_page(text)
        except NoText:
            return
        warnings.extend(trouble)
        mark_headings(tree)
        drop_hidden(tree)
        write_tree(tree, writer)
        return
    for start, end in paragraph_spans(text, 0, len(text)):
        writer.add("text", text[start:end])
