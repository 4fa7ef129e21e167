"""Zip archives that promise too much, or lie about what they hold."""

import io
import struct
import zipfile

import pytest

from documents.errors import EmptyFile, ParseError
from documents.extractors.archives import (
    DecompressionBomb,
    Encrypted,
    XmlForbidden,
    parse_xml,
    read_member,
)
from documents.extractors.archives import check_zip as check_zip_file


def zipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def check_zip(data: bytes, **limits: int) -> zipfile.ZipFile:
    return check_zip_file(io.BytesIO(data), **limits)


def test_an_honest_archive_opens_and_reads():
    archive = check_zip(zipped({"a.txt": b"hello"}))
    assert read_member(archive, "a.txt", 5) == b"hello"


def test_too_many_members_are_refused():
    with pytest.raises(DecompressionBomb):
        check_zip(zipped({str(n): b"" for n in range(11)}), max_members=10)


def test_a_huge_directory_is_refused_before_it_is_read():
    data = bytearray(zipped({"a": b""}))
    end = data.rfind(b"PK\x05\x06")
    struct.pack_into("<I", data, end + 12, 3_000_000)
    with pytest.raises(DecompressionBomb):
        check_zip(bytes(data))


def test_too_much_in_total_is_refused():
    with pytest.raises(DecompressionBomb):
        check_zip(zipped({"a": b"x" * 600, "b": b"y" * 600}), max_total=1000)


def test_a_ratio_beyond_reason_is_refused():
    data = zipped({"zeros": bytes(4 * 1024 * 1024)})
    with pytest.raises(DecompressionBomb) as caught:
        check_zip(data)
    assert caught.value.code == "decompression_bomb"
    assert check_zip(zipped({"few zeros": bytes(100_000)}))


def test_a_member_larger_than_its_limit_is_not_read():
    archive = check_zip(zipped({"a": b"x" * 1000}))
    with pytest.raises(DecompressionBomb):
        read_member(archive, "a", 999)


def test_a_directory_that_lies_about_a_size_gains_nothing():
    data = bytearray(zipped({"a": bytes(2_000_000)}))
    entry = data.rfind(b"PK\x01\x02")
    struct.pack_into("<I", data, entry + 24, 10)  # "only ten bytes"
    archive = check_zip(bytes(data))
    with pytest.raises((DecompressionBomb, ParseError)):
        read_member(archive, "a", 1000)


def test_overlapping_members_are_refused():
    data = bytearray(zipped({"a": bytes(range(256)) * 50, "b": b"tiny"}))
    entry = data.rfind(b"PK\x01\x02")
    struct.pack_into("<I", data, entry + 20, len(data))
    with pytest.raises(DecompressionBomb):
        check_zip(bytes(data))


def test_an_encrypted_member_says_so():
    data = bytearray(zipped({"a": b"secret"}))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.find(mark) + offset] |= 1
    with pytest.raises(Encrypted):
        read_member(check_zip(bytes(data)), "a", 100)


def test_damage_is_a_parse_error():
    data = zipped({"a": b"hello world, hello world"})
    with pytest.raises(ParseError):
        read_member(check_zip(data), "missing", 10)
    with pytest.raises(ParseError):
        read_member(check_zip(data.replace(data[31:40], b"\xff" * 9, 1)), "a", 100)
    for broken in (b"PK\x03\x04 not a zip", data[: len(data) // 2], b"plain text"):
        with pytest.raises(ParseError):
            check_zip(broken)
    with pytest.raises(EmptyFile):
        check_zip(b"")


@pytest.mark.parametrize(
    "document_type",
    ['<!ENTITY a "b">', '<!ENTITY x SYSTEM "file:///etc/passwd">', '<!ENTITY % p "q">'],
)
def test_xml_entities_are_forbidden(document_type):
    with pytest.raises(XmlForbidden) as caught:
        parse_xml(f"<!DOCTYPE r [{document_type}]><r>text</r>".encode())
    assert caught.value.code == "xml_forbidden"


def test_broken_xml_is_a_parse_error():
    for broken in (b"", b"<a>", b"\xff\xfe\x00", b'<?xml version="1.0" encoding="nope"?><a/>'):
        with pytest.raises(ParseError):
            parse_xml(broken)
    assert parse_xml(b"<a><b/></a>").tag == "a"
