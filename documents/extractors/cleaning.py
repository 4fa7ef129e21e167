"""Decode bytes into text that the database can store and that still matches the file verbatim."""

import codecs
import re

from documents.errors import EmptyFile, NoText
from documents.extractors.encodings import (
    SAMPLE_BYTES,
    WESTERN,
    Declared,
    encoding_named,
    guess,
    guess_wide,
)

# UTF-32 before UTF-16: its little-endian byte order mark starts with that of UTF-16.
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
SURROGATES = re.compile("[\ud800-\udfff]")
WELL_READ = re.compile("[^\x00-\x7f\ufffd]")
SEVEN_BIT = frozenset({"iso2022_jp", "iso2022_jp_1", "iso2022_jp_2", "iso2022_kr", "hz", "utf-7"})
JAPANESE_ESCAPES = (b"\x1b$B", b"\x1b$@", b"\x1b(J")

DECLARING_LINES = 2  # where editors and Python look for a declaration
# Python's and Emacs' coding lines, Vim's, an XML declaration, a style sheet's first rule.
DECLARATIONS = re.compile(
    rb"""-\*-[^\n]{0,200}?coding:\s*([-\w.]+)"""
    rb"""|^[ \t\f]*(?:\#|//|;|%|--)[^\n]{0,200}?coding[:=]\s*([-\w.]+)"""
    rb"""|\bfileencoding=([-\w.]+)|^\s*<\?xml[^>\n]{0,100}?encoding\s*=\s*["']([\w.:-]+)"""
    rb"""|^@charset\s+"([\w.:-]+)\"""",
    re.MULTILINE,
)


def read_text(data: bytes, *, declared: Declared | None = None) -> tuple[str, tuple[str, ...]]:
    """Return the file's text and any warnings."""
    if not data:
        raise EmptyFile("The file is empty: it has no bytes at all.")
    decoded, warnings = decode(data, declared=declared or declared_inside(data))
    text = clean(decoded)
    if not text.strip():
        raise NoText("The file holds no text, only blank space.")
    return text, warnings


def declared_inside(data: bytes) -> Declared | None:
    """Return the encoding declared in the first lines of a text."""
    head = b"\n".join(data[:1000].splitlines()[:DECLARING_LINES])
    found = DECLARATIONS.search(head)
    name = encoding_named(next(filter(None, found.groups())).decode()) if found else ""
    return Declared(name) if name else None


def clean(text: str) -> str:
    """Normalise line ends and remove what the database cannot store; nothing else changes."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    return SURROGATES.sub("\ufffd", text.replace("\x00", ""))


def decode(data: bytes, *, declared: Declared | None = None) -> tuple[str, tuple[str, ...]]:
    """Use the uploader's choice, a byte order mark, UTF-8 if valid, a declaration, or a guess."""
    if declared and declared.binding:
        return _decode_as(data, declared.encoding)
    if encoding := _marked_encoding(data):
        return _decode_as(data, encoding)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return _decode_declared(data, declared) or _guess(data, first_bad=error.start)
    if declared and declared.encoding in SEVEN_BIT:
        return _decode_declared(data, declared) or (text, ())
    if any(escape in data for escape in JAPANESE_ESCAPES):
        return _decode_declared(data, Declared("iso2022_jp")) or (text, ())
    # UTF-16 without its mark is often valid UTF-8, full of NULs.
    if b"\x00" in data and (wide := guess_wide(data[:SAMPLE_BYTES])):
        return _decode_as(data, wide, _read_as(wide))
    return text, ()


def _decode_declared(data: bytes, declared: Declared | None) -> tuple[str, tuple[str, ...]] | None:
    """Return None if nothing is declared or the bytes contradict it."""
    if declared is None or declared.encoding == "utf-8":
        return None
    is_western = declared.encoding == WESTERN  # five of its bytes are undefined, but do occur
    try:
        text = data.decode(declared.encoding, errors="replace" if is_western else "strict")
    except UnicodeError:
        return None
    return text, ()


def _marked_encoding(data: bytes) -> str:
    for mark, encoding in MARKS:
        wide = encoding.startswith("utf-32")
        if data.startswith(mark) and not (wide and len(data) % 4):
            return encoding
    return ""


def _decode_as(data: bytes, encoding: str, *warnings: str) -> tuple[str, tuple[str, ...]]:
    try:
        return data.decode(encoding), warnings
    except UnicodeError:
        lost = f"Some bytes are not valid {encoding} and were replaced by \ufffd."
        return data.decode(encoding, errors="replace"), (*warnings, lost)


def _guess(data: bytes, *, first_bad: int) -> tuple[str, tuple[str, ...]]:
    lenient = data.decode("utf-8", errors="replace")
    # A damaged UTF-8 file still decodes almost everywhere; another encoding does not.
    if lenient.count("\ufffd") * 10 <= len(WELL_READ.findall(lenient)):
        return _decode_as(data, "utf-8")
    start = max(0, first_bad - SAMPLE_BYTES // 2) // 4 * 4  # aligned with wide characters
    encoding = guess(data[start : start + SAMPLE_BYTES])
    return _decode_as(data, encoding, _read_as(encoding))


def _read_as(encoding: str) -> str:
    return f"The file is not UTF-8; it was read as {encoding}."
