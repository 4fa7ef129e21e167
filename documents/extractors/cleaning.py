"""From bytes to text that a database takes and that still quotes verbatim."""

import codecs
import re

import charset_normalizer

from documents.errors import EmptyFile, NoText

SAMPLE_BYTES = 64 * 1024  # charset-normalizer is slow, and this much is enough to guess from
FEW_CLUES = 8  # with fewer non-ASCII bytes its guess is wild: "naïve" comes out as Urdu
WESTERN = "cp1252"

# UTF-32 before UTF-16: the little-endian mark of the one begins with that of the other.
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
SURROGATES = re.compile("[\ud800-\udfff]")
WELL_READ = re.compile("[^\x00-\x7f\ufffd]")


def read_text(data: bytes) -> tuple[str, tuple[str, ...]]:
    """The file's text and what its reader should be warned of."""
    if not data:
        raise EmptyFile("The file is empty: it has no bytes at all.")
    decoded, warnings = decode(data)
    text = clean(decoded)
    if not text.strip():
        raise NoText("The file holds no text, only blank space.")
    return text, warnings


def clean(text: str) -> str:
    """Nothing but line ends and what a database cannot store is touched."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    return SURROGATES.sub("\ufffd", text.replace("\x00", ""))


def decode(data: bytes) -> tuple[str, tuple[str, ...]]:
    if encoding := _marked_encoding(data):
        return _decode_as(data, encoding)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return _guess(data, first_bad=error.start)
    # UTF-16 that lost its mark is often valid UTF-8, full of NULs.
    if data.count(0) * 5 > len(data) and (wide := _likely_encoding(data[:SAMPLE_BYTES])):
        return _decode_as(data, wide, _read_as(wide))
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
    # A damaged UTF-8 file still reads well nearly everywhere; another encoding does not.
    if lenient.count("\ufffd") * 10 <= len(WELL_READ.findall(lenient)):
        return _decode_as(data, "utf-8")
    start = max(0, first_bad - SAMPLE_BYTES // 2)
    sample = data[start : start + SAMPLE_BYTES]
    encoding = _likely_encoding(sample)
    if not encoding:
        warning = "The file's encoding is unknown; it was read as latin-1 and may look wrong."
        return data.decode("latin-1"), (warning,)
    return _decode_as(data, encoding, _read_as(encoding))


def _read_as(encoding: str) -> str:
    return f"The file is not UTF-8; it was read as {encoding}."


def _likely_encoding(sample: bytes) -> str:
    clues = sum(byte > 0x7F for byte in sample)
    if 0 < clues < FEW_CLUES and clues * 4 < len(sample):
        return WESTERN
    best = charset_normalizer.from_bytes(sample).best()
    return best.encoding if best else ""
