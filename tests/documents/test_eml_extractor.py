"""E-mails: subject, body, fields; broken ones never raise anything unforeseen."""

from contextlib import suppress
from email.message import EmailMessage

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from documents.errors import BadFile, EmptyFile, Encrypted, NoText, ParseError
from documents.extractors.mail.eml import EmlExtractor
from documents.passages import Extracted
from tests.documents.test_html_extractor import assert_blocks_are_exact

FIELDS = b"From: Ada <ada@example.org>\nTo: bob@example.org\nSubject: Tides\n"


def extract(data: bytes) -> Extracted:
    extracted = EmlExtractor().extract(data)
    assert_blocks_are_exact(extracted)
    return extracted


def letter() -> EmailMessage:
    message = EmailMessage()
    message["Subject"] = "Überfällige Rechnung"
    message["From"] = "Ada Byron <ada@example.org>"
    message["To"] = "bob@example.org"
    message["Cc"] = "carol@example.org"
    message["Date"] = "Tue, 05 Mar 2024 10:00:00 +0100"
    return message


def test_the_subject_heads_the_plain_text():
    message = letter()
    message.set_content("Dear Bob,\n\nplease pay.\nSoon.\n")
    message.add_alternative("<p>Dear <b>HTML</b></p>", subtype="html")
    message.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="bill.pdf")
    extracted = extract(bytes(message))
    assert extracted.text == "# Überfällige Rechnung\n\nDear Bob,\n\nplease pay.\nSoon."
    assert extracted.title == "Überfällige Rechnung"
    assert extracted.blocks[0].level == 1
    assert extracted.metadata == {
        "from": "Ada Byron <ada@example.org>",
        "to": "bob@example.org",
        "cc": "carol@example.org",
        "date": "2024-03-05T10:00:00+01:00",
        "attachments": [{"name": "bill.pdf", "type": "application/pdf", "size": 4}],
    }


def test_html_is_read_where_there_is_no_plain_text():
    message = letter()
    message.set_content(" \n")
    message.add_alternative("<h2>Due</h2><ul><li>one<li>two</ul>", subtype="html")
    extracted = extract(bytes(message))
    assert [block.kind for block in extracted.blocks] == ["heading", "heading", "list"]
    assert extracted.text.endswith("## Due\n\n- one\n- two")


def test_a_message_that_is_a_file_is_not_read_as_text():
    head = FIELDS + b"Content-Type: application/pdf; name=a.pdf\n\n"
    extracted = extract(head + b"%PDF-1.7 garbage")
    assert extracted.text == "# Tides"
    assert extracted.metadata["attachments"][0]["name"] == "a.pdf"


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        (b"text/plain; charset=iso-8859-1", "A “café” in the harbour".encode("cp1252")),
        (b"text/plain; charset=utf-8", "A “café” in the harbour".encode("cp1252")),  # it lies
        (b"text/plain; charset=no-such", "A “café” in the harbour".encode()),
        (b"text/plain", "A “café” in the harbour".encode()),
    ],
)
def test_any_encoding_is_read(content_type, body):
    head = FIELDS + b"Content-Type: " + content_type
    extracted = extract(head + b"\nContent-Transfer-Encoding: 8bit\n\n" + body)
    assert extracted.text == "# Tides\n\nA “café” in the harbour"


def test_a_file_saved_as_utf_16_is_still_an_e_mail():
    text = (FIELDS + b"\nHello").decode()
    for encoding in ("utf-16", "utf-16-le", "utf-16-be"):
        assert extract(text.encode(encoding)).text == "# Tides\n\nHello"


@pytest.mark.parametrize(
    "tail",
    [
        b"Date: yesterday\n\nHello",
        b"Date: Tue, 99 Foo 20244 99:99:99 +9999\n\nHello",
        b"Content-Transfer-Encoding: base64\n\n!!!!not base64",
        b"Content-Type: multipart/mixed; boundary=x\n\nno parts",
        b'Content-Type: multipart/mixed; boundary="x"\n\n--x\nContent-Type: text/plain\n\nHello',
        b"Content-Type: text/plain; charset*=utf-8''%ff%fe\n\nHello",
        b"Content-Disposition: attachment; filename*=broken'\n\nHello",
        b"Cc: =?utf-8?B?////?=, <<>>, @@\nCc: \xff\xfe\n\nHello \xff\x00",
    ],
)
def test_broken_e_mails_are_read_as_far_as_they_go(tail):
    assert extract(FIELDS + tail).title == "Tides"


def test_an_e_mail_without_a_body_is_its_subject():
    extracted = extract(FIELDS)
    assert extracted.text == "# Tides"
    assert "no body" in extracted.warnings[0]


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", EmptyFile),
        (b" \n\n ", NoText),
        (b"From: a@example.org\n\n", NoText),
        (b"just a line of text", ParseError),
        (b"\x89PNG\r\n\x1a\n" + bytes(100), ParseError),
        (b"From: a@b.c\nContent-Type: multipart/encrypted; boundary=x\n\n--x\n"
         b"Content-Type: application/octet-stream\n\nhidden\n--x--", Encrypted),
        (FIELDS + b"Content-Type: multipart/mixed; boundary=x\n\n" + b"--x\n\nhi\n" * 3000,
         ParseError),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused(data, error):
    with pytest.raises(error):
        extract(data)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=300), st.integers(0, 400))
def test_no_bytes_raise_anything_unforeseen(noise, place):
    message = letter()
    message.set_content("Hello")
    message.add_attachment(b"data", maintype="image", subtype="png", filename="é.png")
    data = bytes(message)
    for hostile in (noise, data[:place] + noise + data[place:]):
        with suppress(BadFile):
            extract(hostile)
