"""DOCX: the body in order; styles define headings, numbering defines lists."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from docx import Document
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml.parser import parse_xml

from documents.errors import NoText, TooComplex
from documents.extractors.base import FileExtractor
from documents.extractors.data.tables import (
    office_metadata,
    office_title,
    open_office,
    reading,
    write_rows,
)
from documents.extractors.writer import TextWriter, first_heading
from documents.passages import Extracted

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
WHAT = "Word document"
MAX_CELLS = 1_000_000
MAX_STYLE_DEPTH = 20  # styles based on styles; some files contain cycles
MAX_SPAN = 100  # cells; a larger declared span is a mistake or an attack


class WordExtractor(FileExtractor):
    def extract_file(self, file: BinaryIO, *, name: str = "") -> Extracted:
        office = open_office(file, WHAT)
        with reading(WHAT):
            document = Document(office)
            body = _Body(_Styles(document), _Numbering(document))
            body.read(document.element.body)
            notes = list(_footnotes(document))
        for number, note in notes:
            if number in body.references:
                body.writer.add("text", f"[^{number}]: {note}", attributes={"footnote": number})
        if not body.writer.blocks:
            raise NoText("The Word document holds no text.")
        blocks = body.writer.blocks
        return Extracted(
            text=body.writer.text,
            blocks=tuple(blocks),
            title=office_title(document) or first_heading(blocks),
            metadata=office_metadata(document),
        )


@dataclass(slots=True)
class _Body:
    """Reads blocks in order; list items are collected until the list ends."""

    styles: "_Styles"
    numbering: "_Numbering"
    writer: TextWriter = field(default_factory=TextWriter)
    items: list[str] = field(default_factory=list)
    references: set[str] = field(default_factory=set)

    def read(self, parent: Any) -> None:
        for element in _blocks(parent):
            if element.tag == W + "tbl":
                self._table(element)
            else:
                self._paragraph(element)
        self._end_list()

    def _paragraph(self, element: Any) -> None:
        text = _paragraph_text(element, self.references)
        if text.strip():
            self._written(element, text)
        for box in _text_boxes(element):
            self.read(box)

    def _written(self, element: Any, text: str) -> None:
        look = self.styles.look_of(element)
        if look.level:
            self._end_list()
            self.writer.add_heading(text, level=look.level)
        elif (marker := self.numbering.marker(look)) is not None:
            indent = "  " * look.depth
            lines = text.strip().split("\n")
            self.items.append(f"{indent}{marker} " + f"\n{indent}  ".join(lines))
        else:
            self._end_list()
            self.writer.add("text", text)

    def _end_list(self) -> None:
        if self.items:
            items, self.items = self.items, []
            self.writer.add("list", "\n".join(items))

    def _table(self, element: Any) -> None:
        self._end_list()
        cells = [list(_cells(row)) for row in _children(element, "tr") if not _is_deleted(row)]
        if sum(map(len, cells)) == 1:  # a frame around text
            self.read(next(cell for row in cells for cell in row))
            return
        write_rows(self.writer, list(self._rows(cells)), max_cells=MAX_CELLS)

    def _rows(self, cells: Iterable[list[Any]]) -> Iterator[list[str]]:
        above: list[str] = []
        count = 0
        for row in cells:
            texts: list[str] = []
            for cell in row:
                column = len(texts)
                if _continues(cell) and column < len(above):
                    texts.append(above[column])  # each row must make sense alone
                else:
                    texts.append(" ".join(self._cell_text(cell).split()))
                texts += [""] * (_span(cell) - 1)
            above = texts
            count += len(texts)
            if count > MAX_CELLS:
                raise TooComplex(f"A table of the document has more than {MAX_CELLS} cells.")
            yield texts

    def _cell_text(self, cell: Any) -> str:
        """Return a cell's text. Tables inside it become text: semicolons between cells, full stops
        between rows."""
        parts: list[str] = []
        for element in _blocks(cell):
            if element.tag == W + "tbl":
                for row in _children(element, "tr"):
                    inner = (self._cell_text(inner).strip() for inner in _cells(row))
                    parts.append("; ".join(filter(None, inner)))
            else:
                parts.append(_paragraph_text(element, self.references))
                parts += (self._cell_text(box) for box in _text_boxes(element))
        return "\n".join(filter(None, parts))


def _blocks(parent: Any) -> Iterator[Any]:
    """Yield paragraphs and tables, including those in content controls and tracked insertions."""
    return _children(parent, "p", "tbl")


def _cells(row: Any) -> Iterator[Any]:
    return _children(row, "tc")


def _text_boxes(paragraph: Any) -> Iterator[Any]:
    """Yield text boxes; one written twice, for new and old readers, counts once."""
    for box in paragraph.iter(W + "txbxContent"):
        outer = next(box.iterancestors(W + "txbxContent", W + "p"), None)
        owner = next((p for p in box.iterancestors(W + "p")), None)
        if owner is paragraph and outer is paragraph and not _is_fallback(box):
            yield box


def _is_fallback(element: Any) -> bool:
    return any(str(a.tag).endswith("}Fallback") for a in element.iterancestors())


def _is_deleted(row: Any) -> bool:
    return row.find(f"{W}trPr/{W}del") is not None


def _continues(cell: Any) -> bool:
    merge = cell.find(f"{W}tcPr/{W}vMerge")
    return merge is not None and _value(merge) in {"", "continue"}


def _span(cell: Any) -> int:
    span = _value(cell.find(f"{W}tcPr/{W}gridSpan"))
    return min(int(span), MAX_SPAN) if span.isdecimal() and int(span) else 1


def _value(element: Any) -> str:
    return "" if element is None else str(element.get(W + "val") or "")


# Elements allowed between a parent and its children: content controls, insertions, custom tags.
WRAPPERS = frozenset(
    W + name for name in ("sdt", "sdtContent", "ins", "moveTo", "customXml", "smartTag")
)
LEFT_OUT = frozenset(
    W + name for name in ("del", "moveFrom", "txbxContent", "pPr", "rPr", "instrText", "delText")
)
CHARACTERS = {
    W + "tab": " ",
    W + "ptab": " ",
    W + "br": "\n",
    W + "cr": "\n",
    W + "noBreakHyphen": "-",
}


def _children(parent: Any, *names: str) -> Iterator[Any]:
    wanted = {W + name for name in names}
    for element in parent:
        if element.tag in wanted:
            yield element
        elif element.tag in WRAPPERS:
            yield from _children(element, *names)


def _paragraph_text(parent: Any, references: set[str]) -> str:
    return "".join(_pieces(parent, references))


def _pieces(parent: Any, references: set[str]) -> Iterator[str]:
    for element in parent:
        tag = element.tag
        if tag == W + "t":
            yield element.text or ""
        elif tag in CHARACTERS:
            yield CHARACTERS[tag]
        elif tag == W + "footnoteReference":
            number = str(element.get(W + "id") or "")
            references.add(number)
            yield f"[^{number}]"
        elif tag not in LEFT_OUT and not str(tag).endswith("}Fallback"):
            yield from _pieces(element, references)


def _footnotes(document: Any) -> Iterator[tuple[str, str]]:
    for relation in document.part.rels.values():
        if relation.reltype == RELATIONSHIP_TYPE.FOOTNOTES and not relation.is_external:
            for note in _children(parse_xml(relation.target_part.blob), "footnote"):
                lines = (_paragraph_text(p, set()) for p in _children(note, "p"))
                yield str(note.get(W + "id") or ""), " ".join(" ".join(lines).split())


@dataclass(frozen=True, slots=True)
class _Look:
    """The role of a paragraph, from its own properties and its styles."""

    level: int = 0  # heading level
    style: str = ""
    list_id: str = ""  # id of its numbering; "0" for none
    depth: int = 0  # level in a nested list


class _Styles:
    def __init__(self, document: Any) -> None:
        self.by_id: dict[str, Any] = {}
        self.looks: dict[str, _Look] = {}
        with suppress(KeyError):  # a file may have no styles
            for style in document.styles.element.iter(W + "style"):
                self.by_id[str(style.get(W + "styleId") or "")] = style

    def look_of(self, paragraph: Any) -> _Look:
        properties = paragraph.find(W + "pPr")
        if properties is None:
            return _Look()
        look = self._look(_value(properties.find(W + "pStyle")))
        outline = _value(properties.find(W + "outlineLvl"))
        return _Look(
            level=_outline_level(outline) if outline.isdecimal() else look.level,
            style=look.style,
            list_id=_value(properties.find(f"{W}numPr/{W}numId")) or look.list_id,
            depth=_depth(_value(properties.find(f"{W}numPr/{W}ilvl"))) or look.depth,
        )

    def _look(self, style_id: str) -> _Look:
        if style_id not in self.looks:
            self.looks[style_id] = self._inherited(style_id)
        return self.looks[style_id]

    def _inherited(self, style_id: str) -> _Look:
        """Return the property from the first style in the chain that defines it."""
        name = outline = list_id = depth = ""
        level = 0
        for _ in range(MAX_STYLE_DEPTH):
            style = self.by_id.get(style_id)
            if style is None:
                break
            own = _value(style.find(W + "name"))
            name = name or own
            level = level or _named_level(own)
            outline = outline or _value(style.find(f"{W}pPr/{W}outlineLvl"))
            list_id = list_id or _value(style.find(f"{W}pPr/{W}numPr/{W}numId"))
            depth = depth or _value(style.find(f"{W}pPr/{W}numPr/{W}ilvl"))
            style_id = _value(style.find(W + "basedOn"))
        return _Look(
            level=_outline_level(outline) if outline.isdecimal() else level,
            style=name.lower(),
            list_id=list_id,
            depth=_depth(depth) or _named_depth(name),
        )


def _named_level(name: str) -> int:
    words = name.lower().split()
    if words == ["title"]:
        return 1
    is_heading = len(words) == 2 and words[0] == "heading" and words[1] in "123456789"
    return int(words[1]) if is_heading else 0


def _named_depth(name: str) -> int:
    """Return the depth of a list style: "List Bullet 3" is two levels in."""
    last = name[-1:]
    return int(last) - 1 if name.lower().startswith("list ") and last in tuple("2345") else 0


def _outline_level(outline: str) -> int:
    return int(outline) + 1 if len(outline) == 1 and outline != "9" else 0  # 9 is body text


def _depth(level: str) -> int:
    return int(level) if level in tuple("12345678") else 0


class _Numbering:
    """Numbers the items of lists as Word does, by list and depth."""

    def __init__(self, document: Any) -> None:
        self.formats: dict[tuple[str, int], str] = {}
        self.counts: dict[str, list[int]] = {}
        with suppress(KeyError, NotImplementedError):  # a file may have no numbering
            self._load(document.part.numbering_part.element)

    def _load(self, numbering: Any) -> None:
        abstract = {
            str(item.get(W + "abstractNumId")): {
                _depth(str(level.get(W + "ilvl"))): _value(level.find(W + "numFmt"))
                for level in item.iter(W + "lvl")
            }
            for item in numbering.iter(W + "abstractNum")
        }
        for item in numbering.iter(W + "num"):
            levels = abstract.get(_value(item.find(W + "abstractNumId")), {})
            for depth, number_format in levels.items():
                self.formats[str(item.get(W + "numId")), depth] = number_format

    def marker(self, look: _Look) -> str | None:
        """Return "-" or "3."; None for a paragraph that is not a list item."""
        named = look.style.startswith(("list bullet", "list number"))
        if look.list_id == "0" or not (look.list_id or named):
            return None
        default = "decimal" if look.style.startswith("list number") else "bullet"
        number_format = self.formats.get((look.list_id, look.depth)) or default
        if number_format in {"bullet", "none"}:
            return "-"
        counts = self.counts.setdefault(look.list_id, [])
        counts += [0] * (look.depth + 1 - len(counts))
        del counts[look.depth + 1 :]  # lists inside this one start again
        counts[-1] += 1
        return f"{counts[-1]}."
