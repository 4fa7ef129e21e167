"""Texts in the encodings people really have: read right, short ones too, and as declared."""

import gettext
import random
from pathlib import Path

import django
import pytest

from documents.extractors import reader_for
from documents.extractors.cleaning import decode
from documents.extractors.encodings import encoding_named, guess

SENTENCES = {
    ("cp1252", "French"): [
        "Le magasin est fermé à midi.",
        "fermé à midi",
        "Déjà vu à l'école. Où êtes-vous allés cet été ? Ça coûte 5 €.",
    ],
    ("cp1252", "Italian"): ["La città è più bella di sera.", "Perché no? È così."],
    ("cp1252", "Portuguese"): ["A reunião começa às nove.", "Não há informação."],
    ("cp1252", "Swedish"): ["Vi träffas på kontoret.", "Den är öppen på måndag."],
    ("cp1252", "Danish"): ["Mødet er på mandag.", "Jeg bor i København og spiser rødgrød."],
    ("cp1252", "German"): [
        "Grüße aus München.",
        "Die Straße",
        "Dateiendung „x“ ist nicht erlaubt.",
    ],
    ("cp1252", "Spanish"): ["¿Dónde está el baño?", "El niño comió piñas."],
    ("cp1252", "Dutch"): ["Eén coöperatie met ideeën.", "De patiënten zagen twee zeeën."],
    ("cp1252", "Finnish"): ["Hyvää päivää, tämä on työ.", "Kesä on täällä."],
    ("cp1252", "Norwegian"): ["Møtet er på mandag.", "Blåbær og rømmegrøt smaker godt."],
    ("iso8859-1", "French"): ["La forêt était là, à côté."],
    ("cp1250", "Polish"): ["Sklep jest zamknięty w niedzielę.", "Dzień dobry, proszę o pomoc."],
    ("cp1250", "Czech"): ["Obchod je zavřený v neděli.", "Příliš žluťoučký kůň úpěl ďábelské ódy."],
    ("cp1250", "Hungarian"): ["Az üzlet vasárnap zárva tart, kérjük jöjjön később."],
    ("iso8859-2", "Polish"): ["Sklep jest zamknięty w niedzielę. Proszę przyjść później."],
    ("cp1251", "Russian"): ["Привет, мир.", "Магазин закрыт в воскресенье."],
    ("koi8-r", "Russian"): ["Привет, мир.", "Магазин закрыт в воскресенье."],
    ("shift_jis", "Japanese"): ["これは日本語の文章です。", "会議は月曜日に始まります。"],
    ("euc_jp", "Japanese"): ["これは日本語の文章です。"],
    ("iso2022_jp", "Japanese"): ["これは日本語の文章です。"],
    ("gb18030", "Chinese"): ["会议将于星期一开始。", "商店周日关门。"],
    ("big5", "Chinese"): ["會議將於星期一開始。", "商店週日關門。"],
    ("euc_kr", "Korean"): ["회의는 월요일에 시작합니다."],
    ("cp1253", "Greek"): ["Το κατάστημα είναι κλειστό την Κυριακή."],
    ("cp1254", "Turkish"): ["Mağaza pazar günü kapalıdır. Lütfen şimdi gelmeyin."],
    ("mac_roman", "French"): ["Le magasin est fermé à midi, où êtes-vous allés cet été ?"],
    ("cp850", "German"): ["Grüße aus München, schöne Tage."],
    ("utf-16", "Russian"): ["Магазин закрыт в воскресенье."],
    ("utf-16-le", "English"): ["Plain words here."],
    ("utf-16-be", "Russian"): ["Магазин закрыт в воскресенье."],
    ("utf-16-le", "Japanese"): ["これは日本語の文章です。会議は月曜日に始まります。"],
    ("utf-32-be", "German"): ["Grüße aus München."],
}
CASES = [(encoding, text) for (encoding, _), texts in SENTENCES.items() for text in texts]


@pytest.mark.parametrize(("encoding", "text"), CASES)
def test_a_sentence_is_read_in_its_encoding(encoding: str, text: str) -> None:
    assert decode(text.encode(encoding))[0].removeprefix("\ufeff") == text


def messages(language: str) -> list[str]:
    """Sentences from Django's own translations: hundreds in each language, all of them short."""
    root = Path(django.__file__).parent
    found: set[str] = set()
    for path in sorted(root.glob(f"**/locale/{language}/LC_MESSAGES/django.mo")):
        with path.open("rb") as file:
            catalog = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
        found.update(text for text in catalog.values() if isinstance(text, str) and len(text) > 30)
    return random.Random(7).sample(sorted(found), 60)


@pytest.mark.parametrize(
    ("language", "encoding"),
    [
        (language, "cp1252")
        for language in ["fr", "it", "pt", "sv", "da", "nb", "nl", "fi", "de", "es"]
    ]
    + [("pl", "cp1250"), ("cs", "cp1250"), ("ru", "cp1251"), ("ru", "koi8-r")],
)
def test_nearly_all_short_messages_are_read_right(language: str, encoding: str) -> None:
    texts = [
        text
        for text in messages(language)
        if text.encode(encoding, "replace").decode(encoding) == text
    ]
    beyond_ascii = [text for text in texts if not text.isascii()]
    wrong = [text for text in beyond_ascii if decode(text.encode(encoding))[0] != text]
    assert len(beyond_ascii) >= 5
    assert len(wrong) * 20 <= len(beyond_ascii), wrong


def text_of(data: bytes, media_type: str, encoding: str = "") -> str:
    return reader_for(media_type, encoding=encoding).extract(data).text


AMBIGUOUS = "Žluťoučký kůň"


def test_a_charset_in_the_media_type_is_honoured() -> None:
    data = "naïve café".encode("cp850")
    assert text_of(data, "text/plain; charset=cp850") == "naïve café"
    assert text_of(data, 'text/plain; charset="IBM850"') == "naïve café"


def test_a_declared_charset_that_the_bytes_contradict_is_not_believed() -> None:
    assert text_of("naïve café".encode(), "text/plain; charset=iso-8859-1") == "naïve café"
    assert text_of("Привет, мир.".encode("cp1251"), "text/plain; charset=utf-8") == "Привет, мир."


def test_what_the_uploader_chose_is_used_whatever_the_bytes_look_like() -> None:
    assert text_of("é".encode(), "text/plain", "latin-1") == "Ã©"
    extracted = reader_for("text/plain", encoding="utf-8").extract(b"caf\xe9 au lait")
    assert extracted.text == "caf\ufffd au lait"
    assert "not valid utf-8" in extracted.warnings[0]


@pytest.mark.parametrize(
    "head",
    [
        "# -*- coding: cp850 -*-\n",
        "#!/usr/bin/python\n# vim: set fileencoding=cp850 :\n",
        "# coding=cp850\n",
        '<?xml version="1.0" encoding="cp850"?>\n',
        '@charset "cp850";\n',
    ],
)
def test_a_declaration_in_the_first_lines_is_honoured(head: str) -> None:
    text = head + "# naïve café"
    assert text_of(text.encode("cp850"), "text/plain") == text


def test_a_page_is_read_as_http_or_its_meta_element_says() -> None:
    body = f"<p>{AMBIGUOUS} je velmi starý a stále žije na louce.</p>"
    data = f"<html><meta charset=iso-8859-2>{body}</html>".encode("iso-8859-2")
    assert AMBIGUOUS in text_of(data, "text/html")
    wrong = f"<html><meta charset=koi8-r>{body}</html>".encode("iso-8859-2")
    assert AMBIGUOUS in text_of(wrong, "text/html; charset=iso-8859-2")


def test_an_email_part_is_read_as_it_declares() -> None:
    mail = (
        "From: a@example.com\nSubject: x\nMIME-Version: 1.0\n"
        'Content-Type: text/plain; charset="cp850"\nContent-Transfer-Encoding: 8bit\n\n'
    )
    assert "naïve café" in text_of(mail.encode() + "naïve café".encode("cp850"), "message/rfc822")


def test_labels_are_taken_as_browsers_take_them() -> None:
    names = ["latin1", "ISO-8859-1", "us-ascii", "GB2312", "shift_jis", "base64", "no-such", "zip"]
    expected = ["cp1252", "cp1252", "cp1252", "gb18030", "cp932", "", "", ""]
    assert [encoding_named(name) for name in names] == expected


def test_a_guess_never_fails() -> None:
    random_bytes = random.Random(3)
    for length in (1, 2, 3, 7, 100, 1001):
        data = random_bytes.randbytes(length)
        assert encoding_named(guess(data))
