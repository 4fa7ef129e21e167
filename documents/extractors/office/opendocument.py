"""ODT and ODP: headings, lists and tables from the archive's content.xml; a slide is a page."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO
from xml.etree.ElementTree import Element
from zipfile import ZipFile

from documents.errors import Encrypted, NoText, ParseError
from documents.extractors.archives import check_zip, parse_xml, read_member
from documents.extractors.base import FileExtractor
from documents.extractors.data.tables import write_rows
from documents.extractors.writer import MAX_TITLE_CHARACTERS, TextWriter, first_heading
from documents.passages import Extracted, Page

SPACE = "urn:oasis:names:tc:opendocument:xmlns:"
TEXT, TABLE, DRAW, OFFICE = (
    f"{{{SPACE}{name}:1.0}}" for name in ("text", "table", "drawing", "office")
)
DC = "{http://purl.org/dc/elements/1.1/}"
PRESENTATION = f"{{{SPACE}presentation:1.0}}"
META = f"{{{SPACE}meta:1.0}}"
MAX_CELLS = 200_000
MAX_REPEATED = 100  # cells; files declare more only for empty ones
LEFT_OUT = frozenset(
    (f"{TEXT}tracked-changes", f"{OFFICE}annotation", f"{TEXT}note-citation", f"{OFFICE}forms")
)


class OpenDocumentExtractor(FileExtractor):
    def extract_file(self, file: BinaryIO, *, name: str = "") -> Extracted:
        archive = check_zip(file)
        names = set(archive.namelist())
        if "content.xml" not in names:
            raise ParseError("The file is no OpenDocument file: it lacks its content.")
        if "META-INF/manifest.xml" in names and b"encryption-data" in read_member(
            archive, "META-INF/manifest.xml"
        ):
            raise Encrypted("The document is protected by a password.")
        body = parse_xml(read_member(archive, "content.xml")).find(f"{OFFICE}body")
        reader = _OpenDocumentReader()
        if body is not None:
            reader.read(body)
        if not reader.writer.blocks:
            raise NoText("The document holds no text.")
        title, metadata = _about(archive) if "meta.xml" in names else ("", {})
        return Extracted(
            text=reader.writer.text,
            blocks=tuple(reader.writer.blocks),
            pages=tuple(reader.pages),
            title=title or first_heading(reader.writer.blocks),
            metadata=metadata,
        )


@dataclass(slots=True)
class _OpenDocumentReader:
    writer: TextWriter = field(default_factory=TextWriter)
    pages: list[Page] = field(default_factory=list)
    slides: int = 0

    def read(self, parent: "Element") -> None:
        for element in parent:
            tag = element.tag
            if tag in LEFT_OUT:
                continue
            if tag == f"{TEXT}h":
                level = element.get(f"{TEXT}outline-level", "1")
                self.writer.add_heading(
                    _text(element), level=int(level) if level.isdecimal() else 1
                )
            elif tag == f"{TEXT}p":
                self.writer.add("text", _text(element))
                self._frames(element)
            elif tag == f"{TEXT}list":
                self.writer.add("list", "\n".join(_items(element, 0)))
            elif tag == f"{TABLE}table":
                write_rows(self.writer, list(_rows(element)), max_cells=MAX_CELLS)
            elif tag == f"{DRAW}page":
                self._slide(element)
            else:
                self.read(element)

    def _frames(self, paragraph: "Element") -> None:
        for box in paragraph.iter(f"{DRAW}text-box"):
            self.read(box)

    def _slide(self, page: "Element") -> None:
        self.slides += 1
        start, before = self.writer.position, len(self.writer.blocks)
        title = next(
            (f for f in page if f.get(f"{PRESENTATION}class") == "title" and _text(f).strip()),
            None,
        )
        if title is not None:
            self.writer.add_heading(_all_text(title), level=1)
        for shape in page:
            if shape is title:
                continue
            if shape.tag == f"{PRESENTATION}notes":
                if notes := _all_text(shape):
                    self.writer.add("text", f"Notes: {notes}")
            else:
                self.read(shape)
        if len(self.writer.blocks) > before:
            self.pages.append(Page(self.slides, start, self.writer.blocks[-1].end))


def _text(element: "Element") -> str:
    """Return the text of a paragraph. This format stores the number of spaces, not the spaces."""
    return "".join(_pieces(element))


def _pieces(element: "Element") -> Iterator[str]:
    yield element.text or ""
    for child in element:
        if child.tag == f"{TEXT}s":
            count = child.get(f"{TEXT}c", "1")
            yield " " * min(int(count) if count.isdecimal() else 1, 100)
        elif child.tag == f"{TEXT}tab":
            yield " "
        elif child.tag == f"{TEXT}line-break":
            yield "\n"
        elif child.tag == f"{TEXT}note":
            yield f" ({' '.join(''.join(child.itertext()).split())})"
        elif child.tag not in LEFT_OUT and not str(child.tag).startswith(DRAW):
            yield from _pieces(child)
        yield child.tail or ""


def _all_text(element: "Element") -> str:
    paragraphs = (_text(p) for p in element.iter() if p.tag in (f"{TEXT}p", f"{TEXT}h"))
    return " ".join(" ".join(paragraphs).split())


def _items(element: "Element", depth: int) -> Iterator[str]:
    for item in element:
        for part in item:
            if part.tag == f"{TEXT}list":
                yield from _items(part, depth + 1)
            elif words := " ".join(_text(part).split()):
                yield f"{'  ' * depth}- {words}"


def _rows(table: "Element") -> Iterator[list[str]]:
    for row in table.iter(f"{TABLE}table-row"):
        cells: list[str] = []
        for cell in row:
            if cell.tag not in (f"{TABLE}table-cell", f"{TABLE}covered-table-cell"):
                continue
            repeated = cell.get(f"{TABLE}number-columns-repeated", "1")
            times = min(int(repeated) if repeated.isdecimal() else 1, MAX_REPEATED)
            cells += [_all_text(cell)] * times
        yield cells


def _about(archive: "ZipFile") -> tuple[str, dict[str, str]]:
    meta = parse_xml(read_member(archive, "meta.xml"))
    found = {
        "title": meta.find(f".//{DC}title"),
        "author": meta.find(f".//{META}initial-creator"),
        "created": meta.find(f".//{META}creation-date"),
    }
    values = {
        name: " ".join((element.text or "").split())[:MAX_TITLE_CHARACTERS]
        for name, element in found.items()
        if element is not None
    }
    title = values.pop("title", "")
    return title, {name: value for name, value in values.items() if value}
