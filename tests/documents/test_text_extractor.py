"""Plain text: any encoding in, clean text and its paragraphs out."""

import pytest

from documents.errors import EmptyFile, NoText, UnsupportedType
from documents.extractors import extractor_for, format_of
from documents.passages import Extracted

GERMAN = "Grüße aus München, schön dass Sie da sind. Öl und Äpfel kosten fünf Euro."
RUSSIAN = "Это обычный русский текст для проверки кодировки файла."


def extract(data: bytes) -> Extracted:
    return extractor_for("text/plain").extract(data)


def paragraphs(data: bytes) -> list[str]:
    extracted = extract(data)
    return [extracted.text[block.start : block.end] for block in extracted.blocks]


def test_paragraphs_are_what_blank_lines_separate() -> None:
    data = b"\n\none\nstill one\n \t\ntwo\n\n\n\n  three  \n"
    assert paragraphs(data) == ["one\nstill one", "two", "three"]


def test_only_the_line_feed_ends_a_line() -> None:
    text = "one\x0b\x0btwo\x0c\x85\u2028\u2029three"
    assert paragraphs(text.encode()) == [text]


def test_a_text_has_no_title() -> None:
    assert extract(b"# not a title").title == ""


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "utf-16-le", "utf-16-be", "cp1252"]
)
def test_german_is_read_in_many_encodings(encoding: str) -> None:
    assert extract(GERMAN.encode(encoding)).text == GERMAN


def test_utf_16_that_lost_its_mark_is_not_taken_for_utf_8() -> None:
    data = "Don’t stop: it’s plain text – mostly.".encode("utf-16-le")
    assert data.decode("utf-8")
    assert extract(data).text == data.decode("utf-16-le")


@pytest.mark.parametrize("encoding", ["cp1251", "koi8-r"])
def test_another_alphabet_is_guessed_with_a_warning(encoding: str) -> None:
    extracted = extract(RUSSIAN.encode(encoding))
    assert extracted.text == RUSSIAN
    assert "not UTF-8" in extracted.warnings[0]


def test_a_single_accent_is_western() -> None:
    assert extract("naïve".encode("latin-1")).text == "naïve"


def test_a_bad_byte_after_the_sample_is_found() -> None:
    data = b"plain words. " * 20_000 + GERMAN.encode("cp1252")
    assert extract(data).text.endswith(GERMAN)


def test_one_damaged_byte_does_not_change_the_encoding() -> None:
    extracted = extract(GERMAN.encode() * 3 + b"\xff")
    assert extracted.text == GERMAN * 3 + "\ufffd"
    assert "replaced" in extracted.warnings[0]


def test_bytes_of_no_encoding_are_still_read() -> None:
    extracted = extract(bytes(range(128, 256)) * 20 + b" words")
    assert extracted.text.endswith(" words")
    assert extracted.warnings


def test_a_torn_utf_16_file_is_read_with_a_warning() -> None:
    extracted = extract("\ufeffwords".encode("utf-16-le") + b"\x00")
    assert extracted.text.startswith("words")
    assert extracted.warnings


def test_line_ends_marks_and_nul_are_cleaned_and_nothing_else() -> None:
    text = "\ufeffa\r\nb\rc\x00d\u00a0“e”\u200bﬁ\t \x1f\ufeff."
    assert extract(text.encode()).text == "a\nb\ncd\u00a0“e”\u200bﬁ\t \x1f\ufeff."


def test_a_lone_surrogate_is_replaced() -> None:
    assert extract(b"\xff\xfea\x00\x00\xd8b\x00").text == "a\ufffdb"


def test_no_bytes_and_no_text_are_told_apart() -> None:
    with pytest.raises(EmptyFile) as empty:
        extract(b"")
    with pytest.raises(NoText) as blank:
        extract(b"\xef\xbb\xbf \r\n\x00\t\n")
    assert (empty.value.code, blank.value.code) == ("empty_file", "no_text")


def test_the_first_extractor_that_accepts_wins() -> None:
    assert format_of("text/markdown; charset=utf-8").source_type == "md"
    assert format_of("TEXT/PLAIN").source_type == "txt"
    with pytest.raises(UnsupportedType, match="application/x-foo cannot be read"):
        extractor_for("application/x-foo")
