"""Code, configuration, XML, RTF, OpenDocument, XLS, MSG, Org, notebooks: text, spans, sections."""

import base64
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from documents.errors import BadFile
from documents.extractors import extractor_for
from documents.extractors.plain.source_code import SUFFIXES
from documents.ingestion.extraction import Unreadable, extract
from documents.intake.media_types import BY_SUFFIX, type_of_name
from documents.passages import Extracted

from ..client import Api


def read(data: str | bytes, name: str) -> Extracted:
    raw = data.encode() if isinstance(data, str) else data
    extracted = extractor_for(type_of_name(name)).extract(raw, name=name)
    end = 0
    for block in extracted.blocks:  # in order, apart, and never blank
        assert end <= block.start < block.end <= len(extracted.text)
        assert extracted.text[block.start : block.end].strip()
        end = block.end
    return extracted


def headings(extracted: Extracted) -> list[tuple[int, str]]:
    return [(b.level, b.title) for b in extracted.blocks if b.kind == "heading"]


def pieces(extracted: Extracted, kind: str) -> list[str]:
    return [extracted.text[b.start : b.end] for b in extracted.blocks if b.kind == kind]


BODY = "    # " + "what it does, at length " * 15 + "\n"
PYTHON = f'''"""A module."""

import os


class Harbour:
{BODY}
    @property
    def lights(self) -> int:
{BODY}        return 12


async def main() -> None:
{BODY}    print("twelve")
'''


def test_code_is_verbatim_and_its_symbols_are_sections() -> None:
    extracted = read(PYTHON, "harbour.py")
    assert extracted.text == PYTHON
    assert headings(extracted) == [(1, "Harbour"), (2, "lights"), (1, "main")]
    assert "    @property\n    def lights" in pieces(extracted, "heading")[1]
    assert {b.language for b in extracted.blocks if b.kind == "code"} == {"python"}


@pytest.mark.parametrize(
    ("name", "line", "symbol"),
    [
        ("a.js", "export default async function go(a) {", "go"),
        ("a.ts", "export const go = async (a: string) => {", "go"),
        ("a.ts", "export interface Ship {", "Ship"),
        ("a.go", "func (s *Server) Handle(w http.ResponseWriter) {", "Handle"),
        ("a.rs", "pub(crate) fn handle(x: u8) -> u8 {", "handle"),
        ("a.java", "public final class Ship {", "Ship"),
        ("a.c", "static int handle(struct ship *s)", "handle"),
        ("a.cpp", "void Ship::sail(int knots) {", "Ship::sail"),
        ("a.cs", "    public async Task<int> Sail(int knots)", "Sail"),
        ("a.rb", "def sail", "sail"),
        ("a.php", "function sail($x) {", "sail"),
        ("a.sh", "sail() {", "sail"),
        ("a.sql", "CREATE OR REPLACE FUNCTION public.sail(x int)", "public.sail"),
        ("a.kt", "fun sail(x: Int): Int {", "sail"),
        ("Makefile", "build: clean", "build"),
        ("a.yaml", "services:", "services"),
        ("a.toml", "[tool.ruff]", "tool.ruff"),
        ("a.ini", "[section one]", "section one"),
    ],
)
def test_a_definition_opens_a_section(name: str, line: str, symbol: str) -> None:
    text = f"{'x ' * 200}\n\n{line}\n  body\n"
    extracted = read(text, name)
    assert [title for _, title in headings(extracted)] == [symbol]


def test_every_language_has_a_reader_and_a_definition_is_never_lost() -> None:
    for language in SUFFIXES:
        extracted = extractor_for(f"text/x-{language}").extract(PYTHON.encode())
        covered = "".join(extracted.text[b.start : b.end] for b in extracted.blocks)
        assert "".join(covered.split()) == "".join(PYTHON.split())


def test_xml_is_read_as_paths_and_values() -> None:
    text = read(
        '<?xml version="1.0" encoding="iso-8859-1"?><shop><title>Café</title>'
        '<item id="a"><name>Lamp</name></item><p>One <b>two</b> three</p></shop>'.encode("latin-1"),
        "a.xml",
    )
    assert text.title == "Café"
    for line in ("shop/title: Café", "shop/item@id: a", "shop/item/name: Lamp"):
        assert line in text.text
    assert "shop/p: One two three" in text.text


def test_rtf_is_read_with_its_code_page_and_title() -> None:
    source = (
        r"{\rtf1\ansi\ansicpg1250{\fonttbl{\f0 Arial;}}{\info{\title Ships}{\author Ada}}"
        r"\f0 D\'ec\'e8i \b bold\b0\par Second \u8364? line.\par}"
    )
    extracted = read(source, "a.rtf")
    assert pieces(extracted, "text") == ["Děči bold", "Second € line."]
    assert (extracted.title, extracted.metadata) == ("Ships", {"author": "Ada"})


SPACES = " ".join(
    f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for short, name in [
        ("office", "office"),
        ("text", "text"),
        ("table", "table"),
        ("draw", "drawing"),
        ("presentation", "presentation"),
        ("manifest", "manifest"),
        ("meta", "meta"),
    ]
)


def opendocument(body: str, **members: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        content = f"<office:document-content {SPACES}><office:body>{body}</office:body>"
        archive.writestr("content.xml", f"{content}</office:document-content>")
        for name, text in members.items():
            archive.writestr(name.replace("__", "/") + ".xml", text)
    return packed.getvalue()


def test_odt_has_headings_lists_tables_and_a_title() -> None:
    meta = (
        f'<x {SPACES} xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Ships</dc:title>'
        "<meta:initial-creator>Ada</meta:initial-creator></x>"
    )
    row = "<table:table-row>{}</table:table-row>".format
    cell = "<table:table-cell><text:p>{}</text:p></table:table-cell>".format
    data = opendocument(
        '<office:text><text:h text:outline-level="2">Fees</text:h>'
        '<text:p>Due<text:s text:c="2"/>on <text:span>arrival</text:span>.</text:p>'
        "<text:list><text:list-item><text:p>one</text:p><text:list><text:list-item>"
        "<text:p>inner</text:p></text:list-item></text:list></text:list-item></text:list>"
        f"<table:table>{row(cell('ship') + cell('fee'))}{row(cell('Ada') + cell('12'))}"
        "</table:table></office:text>",
        meta=meta,
    )
    extracted = read(data, "a.odt")
    assert headings(extracted) == [(2, "Fees")]
    assert pieces(extracted, "text") == ["Due  on arrival."]
    assert pieces(extracted, "list") == ["- one\n  - inner"]
    assert "| Ada | 12 |" in pieces(extracted, "table")[0]
    assert (extracted.title, extracted.metadata) == ("Ships", {"author": "Ada"})


def test_odp_slides_are_pages() -> None:
    slide = (
        '<draw:page><draw:frame presentation:class="title"><draw:text-box><text:p>{0}</text:p>'
        "</draw:text-box></draw:frame><draw:frame><draw:text-box><text:p>About {0}.</text:p>"
        "</draw:text-box></draw:frame></draw:page>"
    )
    pages = slide.format("One") + "<draw:page/>" + slide.format("Two")
    extracted = read(opendocument(f"<office:presentation>{pages}</office:presentation>"), "a.odp")
    assert [page.number for page in extracted.pages] == [1, 3]
    shown = [extracted.text[page.start : page.end] for page in extracted.pages]
    assert shown == ["One\n\nAbout One.", "Two\n\nAbout Two."]


def test_an_encrypted_opendocument_and_one_with_entities_are_refused() -> None:
    sealed = opendocument("", **{"META-INF__manifest": "<x><encryption-data/></x>"})
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        bomb = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><x>&b;</x>'
        archive.writestr("content.xml", bomb)
    for data, code in ((sealed, "encrypted"), (packed.getvalue(), "xml_forbidden")):
        with pytest.raises(BadFile) as refused:
            read(data, "a.odt")
        assert refused.value.code == code


XLS = (
    "eNrtWE1oE0EU/maTzR9NmtRUaIUSClatvbRevNS1/vVkqXpQRNBNukJJmoQ0HlTQas1REDz5cyn04qXqxR/0oDcP"
    "QkUPgiAk6kV6EhQ8tFnfvN3UVIM0oEVlvmXevHnzvp3ZmTezO/tiPlaeudtZwQ/YAQ+qdhC+OpugFKwVoqB625Zq"
    "LQ9QshX+KQQDNJE+HY/Cz/1yDuV8V6DhjvcpSeAdpWPIYySXtRJriF3cB1PIPgySFLhJlgg6uFdtLFMs17G8zZ6P"
    "We5ky2WWg+RbFkcxb4z0bnej+IjWzXURyPveZ84btvSjHc9kFJ+/IhxfHUOFcTPzd1Z0eVswC5q3YStrFcxMGXGa"
    "wFl8sRPA59pKfZJQ9rW1C5D960q7v4H9quYFpmCf4AAvIYwPHlmj41Axl0ovUiTLRSkT2SfTp8g9a05YOpAvjKcs"
    "CtmhftqR91iT6UTGnMhLw0AI2G2e/JgomsmMFZJ7Nq/x6Io1HubYbyE5hlbWY7wCorSLL9769HJ/ctQ4zpYp3ted"
    "3X+j7DBsXJAMIke4xrMse5mxleVFvusG1jtZxunBKO8ZbXeVfdPsc4lre6idbYxXxqY6fTPppYUDD7pK740tpM8N"
    "V87E514bM+imt9EY8eU1jT7RJ65fk3ho1HLh7hRvWXb8tGsEtKjbd9t9xbViCSFWYyydkhwdsVzS3LGSbNGALZjt"
    "cf0Fs+W4ndNkSbIHXLbWgK0xW3fZzsz4XLbG7LM36P2steGedKUY+Y4QFBQUFBQUFBQUFH4Fwd+zzte7l48ezvnA"
    "7/7XWaJUVb9J/lscRI6uIh1M9yJLeQGnm4qf9dBF7V5ilZza/0KJw9R6AWkkuR/ppuOXznei/nlWTYz+viXUbPvV"
    "Zvr5h9v/Bnkn0Lw="
)


def test_an_old_spreadsheet_is_a_table() -> None:
    extracted = read(zlib.decompress(base64.b64decode(XLS)), "stock.xls")
    assert headings(extracted) == [(1, "Stock")]
    assert "| A2 | Café table | 99.5 |" in extracted.text


def compound_file(streams: dict[str, bytes]) -> bytes:
    """A small file of Microsoft's container format. Smaller streams than 4096 bytes would be kept
    in a place of their own, so they are filled up."""
    streams = {path: data.ljust(4096, b"\0") for path, data in streams.items()}
    folders = {path.partition("/")[0] for path in streams if "/" in path}
    entries: list[tuple[str, int, bytes, int]] = [("Root Entry", 5, b"", -1)]
    entries += [(folder, 1, b"", 0) for folder in sorted(folders)]
    index = {entry[0]: n for n, entry in enumerate(entries)}
    for path, data in streams.items():
        folder, _, name = path.rpartition("/")
        entries.append((name, 2, data, index[folder] if folder else 0))
    fat: list[int] = [0xFFFFFFFD]  # sector 0 is this table
    sectors: list[bytes] = []
    starts = []
    for _, _, data, _ in entries:
        count = -(-len(data) // 512)
        starts.append(len(fat) if count else 0xFFFFFFFE)
        sectors += [data[n * 512 : n * 512 + 512].ljust(512, b"\0") for n in range(count)]
        fat += [len(fat) + n + 1 for n in range(count - 1)] + [0xFFFFFFFE] * (count > 0)
    directory_start = len(fat)
    records = []
    for n, (name, kind, data, parent) in enumerate(entries):
        raw = name.encode("utf-16-le") + b"\0\0"
        siblings = [m for m in range(n + 1, len(entries)) if entries[m][3] == parent]
        children = [m for m in range(len(entries)) if entries[m][3] == n]
        links = (0xFFFFFFFF, siblings[0] if siblings else 0xFFFFFFFF)
        child = children[0] if children else 0xFFFFFFFF
        records.append(
            raw.ljust(64, b"\0")
            + struct.pack("<HBBIII", len(raw), kind, 1, *links, child)
            + b"\0" * 36
            + struct.pack("<IQ", starts[n], len(data))
        )
    table = b"".join(records).ljust(-(-len(records) // 4) * 512, b"\0")
    count = len(table) // 512
    fat += [directory_start + n + 1 for n in range(count - 1)] + [0xFFFFFFFE]
    fat += [0xFFFFFFFF] * (128 - len(fat))
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 16
    header += struct.pack(
        "<HHHHH6xIIIIIIIIII",
        0x3E,
        3,
        0xFFFE,
        9,
        6,
        0,
        1,
        directory_start,
        0,
        0,
        0xFFFFFFFE,
        0,
        0xFFFFFFFE,
        0,
        0,
    )
    header = header[:76] + struct.pack("<I", 0) + b"\xff" * 432
    assert len(fat) == 128
    return header + struct.pack("<128I", *fat) + b"".join(sectors) + table


def message(**more: bytes) -> bytes:
    ticks = 133_485_408_000_000_000  # 2024-01-01
    properties = b"\0" * 32 + struct.pack("<IIQ", 0x00390040, 6, ticks)
    streams = {
        "__properties_version1.0": properties,
        "__substg1.0_0037001F": "Invitation".encode("utf-16-le"),
        "__substg1.0_0C1A001F": "Ada".encode("utf-16-le"),
        "__attach_version1.0_#00000000/__substg1.0_3707001F": "plan.pdf".encode("utf-16-le"),
    }
    return compound_file(streams | more)


def test_an_outlook_message_is_read_with_its_date_and_attachments() -> None:
    body = {"__substg1.0_1000001F": "Dear all,\r\n\r\nthe café opens.".encode("utf-16-le")}
    extracted = read(message(**body), "a.msg")
    assert (extracted.title, headings(extracted)) == ("Invitation", [(1, "Invitation")])
    assert pieces(extracted, "text") == ["Dear all,", "the café opens."]
    assert extracted.metadata == {
        "from": "Ada",
        "date": "2024-01-01T00:00:00+00:00",
        "attachments": [{"name": "plan.pdf"}],
    }


def test_an_outlook_message_in_html_is_read_as_a_page() -> None:
    page = b"<html><meta charset=windows-1252><p>The caf\xe9 opens.</p></html>"
    page = page.ljust(4096)
    assert "The café opens." in read(message(**{"__substg1.0_10130102": page}), "a.msg").text


def test_org_headings_code_and_settings() -> None:
    text = (
        "#+TITLE: Ships\n#+FILETAGS: :sea:port:\n#+DATE: <2024-05-06 Mon>\n\n"
        "* TODO [#A] Fees :money:\nDue on arrival.\n\n- one\n- two\n\n"
        "#+BEGIN_SRC python\n* not a heading\nprint(12)\n#+END_SRC\n** Night\n| a | b |\n"
    )
    extracted = read(text, "a.org")
    assert extracted.text == text
    assert headings(extracted) == [(1, "Fees"), (2, "Night")]
    assert (extracted.title, extracted.tags) == ("Ships", ("sea", "port"))
    assert extracted.metadata == {"date": "2024-05-06"}
    assert pieces(extracted, "code")[0].startswith("#+BEGIN_SRC python")
    assert pieces(extracted, "list") == ["- one\n- two"]
    assert pieces(extracted, "table") == ["| a | b |"]


def test_a_notebook_has_text_code_and_what_it_printed() -> None:
    notebook = {
        "metadata": {"kernelspec": {"language": "python"}},
        "cells": [
            {"cell_type": "markdown", "source": ["# Ships\n", "\n", "About *them*."]},
            {
                "cell_type": "code",
                "source": "print(12)",
                "outputs": [
                    {"text": ["12\n"]},
                    {"data": {"text/plain": "<Figure>", "image/png": "iVBOR"}},
                ],
            },
        ],
    }
    extracted = read(json.dumps(notebook), "a.ipynb")
    assert headings(extracted) == [(1, "Ships")]
    assert pieces(extracted, "code") == ["print(12)"]
    assert pieces(extracted, "text") == ["About *them*.", "12", "<Figure>"]
    assert [block.attributes["cell"] for block in extracted.blocks] == [1, 1, 2, 2, 2]


@pytest.mark.parametrize(
    ("name", "data", "code"),
    [
        ("a.ipynb", b"[1]", "parse_error"),
        ("a.ipynb", b'{"cells": 3}', "parse_error"),
        ("a.xml", b"<a><b></a>", "parse_error"),
        ("a.xml", b'<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>', "xml_forbidden"),
        ("a.msg", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\xff" * 2000, "parse_error"),
        ("a.odt", b"PK\x03\x04 torn", "parse_error"),
        ("a.rtf", b"{\\rtf1 }", "no_text"),
        ("a.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600, "parse_error"),
    ],
)
def test_what_is_damaged_fails_with_a_code_in_the_cell(
    name: str, data: bytes, code: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(data)
    with (tmp_path / name).open("rb") as file, pytest.raises(Unreadable) as refused:
        extract(file, media_type=BY_SUFFIX[Path(name).suffix], name=name)
    assert refused.value.code == code


def test_they_are_searchable_with_exact_spans(api: Api, work: Callable[[], int]) -> None:
    files = [
        ("harbour.py", PYTHON),
        ("LICENSE", "You may use the harbour freely."),
        ("README", "# Harbour\n\nAll about it."),
        ("notes", "A note about the harbour without any suffix."),
        ("Dockerfile", "FROM harbour:12\nRUN make"),
        ("config.yml", "harbour:\n  lights: 12\n"),
    ]
    answer = api.upload(*files)
    assert answer.body["failed"] == 0
    work()
    documents = api.get("documents").body["results"]
    kinds = {d["source_uri"]: (d["status"], d["source_type"]) for d in documents}
    assert kinds == {
        "upload:harbour.py": ("ready", "code"),
        "upload:LICENSE": ("ready", "txt"),
        "upload:README": ("ready", "md"),
        "upload:notes": ("ready", "txt"),
        "upload:Dockerfile": ("ready", "code"),
        "upload:config.yml": ("ready", "config"),
    }
    for document in documents:
        path = f"documents/{document['id']}"
        text = api.get(f"{path}/text").body["text"]
        for chunk in api.get(f"{path}/chunks").body["results"]:
            assert text[chunk["span"]["start"] : chunk["span"]["end"]] == chunk["content"]
    code = api.query("lights", filters={"source_types": ["code"], "kind": ["code"]}).body
    assert any(hit["section"].endswith("lights") for hit in code["results"])
