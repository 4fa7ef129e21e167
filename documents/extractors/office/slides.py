"""PPTX: each slide is a page with its title, its shapes in reading order, and its notes."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from pptx import Presentation

from documents.errors import NoText
from documents.extractors.base import FileExtractor
from documents.extractors.data.tables import (
    Table,
    office_metadata,
    office_title,
    open_office,
    reading,
    write_rows,
    write_table,
)
from documents.extractors.writer import MAX_TITLE_CHARACTERS, TextWriter
from documents.passages import Extracted, Page

WHAT = "presentation"
MAX_CELLS = 1_000_000
MAX_GROUP_DEPTH = 50
LINE_HEIGHT = 180_000  # EMU, half a centimetre: shapes this close in height are side by side
# Placeholders with the same text on every slide.
FURNITURE = frozenset({"DATE", "FOOTER", "SLIDE_NUMBER", "HEADER"})
LISTS = frozenset({"BODY", "OBJECT", "VERTICAL_BODY", "VERTICAL_OBJECT"})


class SlidesExtractor(FileExtractor):
    def extract_file(self, file: BinaryIO, *, name: str = "") -> Extracted:
        office = open_office(file, WHAT)
        deck = _Deck()
        with reading(WHAT):
            presentation = Presentation(office)
            for number, slide in enumerate(presentation.slides, start=1):
                deck.read(slide, number)
        if not deck.writer.blocks:
            raise NoText("The presentation holds no text, at most pictures.")
        return Extracted(
            text=deck.writer.text,
            blocks=tuple(deck.writer.blocks),
            pages=tuple(deck.pages),
            title=office_title(presentation) or deck.first_title,
            metadata=office_metadata(presentation),
            warnings=tuple(deck.warnings),
        )


@dataclass(slots=True)
class _Deck:
    writer: TextWriter = field(default_factory=TextWriter)
    pages: list[Page] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    first_title: str = ""

    def read(self, slide: Any, number: int) -> None:
        """Write one slide; a slide without text is no page, because it could not be cited."""
        content = TextWriter()
        title, title_id = _title(slide)
        for shape in _in_reading_order(_shapes(slide)):
            if title_id is None or shape.shape_id != title_id:
                self._shape(content, shape, number)
        notes = _notes(slide)
        if not (title or content.blocks or notes):
            return
        start = self.writer.position
        self.writer.add_heading(title or f"Slide {number}", level=1)
        for block in content.blocks:
            text = content.text[block.start : block.end]
            self.writer.add(block.kind, text, attributes=block.attributes)
        self.writer.add("text", notes, attributes={"notes": True})
        self.pages.append(Page(number, start, self.writer.blocks[-1].end))
        self.first_title = self.first_title or title

    def _shape(self, content: TextWriter, shape: Any, number: int, depth: int = 0) -> None:
        try:
            if hasattr(shape, "shapes") and depth < MAX_GROUP_DEPTH:
                for inner in _in_reading_order(shape.shapes):
                    self._shape(content, inner, number, depth + 1)
            else:
                _write_shape(content, shape)
        except (KeyError, ValueError, AttributeError, TypeError, NotImplementedError):
            # A broken shape must not prevent the other slides from being read.
            self.warnings.append(f"A shape on slide {number} is damaged and was left out.")


def _shapes(slide: Any) -> list[Any]:
    return [shape for shape in slide.shapes if _placeholder(shape) not in FURNITURE]


def _placeholder(shape: Any) -> str:
    """Return the placeholder type; "" for other shapes."""
    try:
        kind = shape.placeholder_format.type if shape.is_placeholder else None
    except (KeyError, ValueError, AttributeError):
        return ""
    return kind.name if kind is not None else ""


def _title(slide: Any) -> tuple[str, int | None]:
    """Return the title and the id of its shape."""
    try:
        shape = slide.shapes.title
        text = " ".join(shape.text_frame.text.split()) if shape is not None else ""
    except (KeyError, ValueError, AttributeError):
        return "", None
    return (text, shape.shape_id) if 0 < len(text) <= MAX_TITLE_CHARACTERS else ("", None)


def _in_reading_order(shapes: Iterable[Any]) -> list[Any]:
    """Order shapes by line, then from left to right; a line is shapes at about the same height."""
    placed = sorted(((*_corner(shape), index, shape) for index, shape in enumerate(shapes)))
    lines: list[list[Any]] = []
    top = 0
    for shape_top, left, index, shape in placed:
        if not lines or shape_top - top > LINE_HEIGHT:
            lines.append([])
            top = shape_top
        lines[-1].append((left, index, shape))
    return [shape for line in lines for *_, shape in sorted(line, key=lambda item: item[:2])]


def _corner(shape: Any) -> tuple[int, int]:
    try:
        return int(shape.top or 0), int(shape.left or 0)
    except (KeyError, ValueError, AttributeError, TypeError, NotImplementedError):
        return 0, 0


def _write_shape(content: TextWriter, shape: Any) -> None:
    if getattr(shape, "has_table", False):
        rows = [[_cell(cell) for cell in row.cells] for row in shape.table.rows]
        write_rows(content, rows, max_cells=MAX_CELLS)
    elif getattr(shape, "has_chart", False):
        _write_chart(content, shape.chart)
    elif getattr(shape, "has_text_frame", False):
        _write_paragraphs(content, shape)


def _cell(cell: Any) -> str:
    return " ".join(cell.text_frame.text.split())


def _write_paragraphs(content: TextWriter, shape: Any) -> None:
    paragraphs = [
        (paragraph.level, text)
        for paragraph in shape.text_frame.paragraphs
        if (text := paragraph.text.replace("\v", "\n").strip())
    ]
    if _placeholder(shape) in LISTS and len(paragraphs) > 1:
        items = (f"{'  ' * level}- {' '.join(text.split())}" for level, text in paragraphs)
        content.add("list", "\n".join(items))
    else:
        content.add("text", "\n".join(text for _, text in paragraphs))


def _write_chart(content: TextWriter, chart: Any) -> None:
    """Return the data of a chart: a row for each category, a column for each series."""
    if chart.has_title:
        content.add("text", chart.chart_title.text_frame.text)
    plot = next(iter(chart.plots), None)
    if plot is None:
        return
    series = list(plot.series)
    categories = [str(category) for category in plot.categories]
    columns = [[_figure(value) for value in one.values] for one in series]
    rows = list(_chart_rows(categories, columns))
    if rows:
        write_table(content, Table(["", *(str(one.name) for one in series)], rows))


def _chart_rows(categories: list[str], columns: list[list[str]]) -> Iterator[list[str]]:
    for index, category in enumerate(categories):
        yield [category, *(column[index] if index < len(column) else "" for column in columns)]


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.15g}"


def _notes(slide: Any) -> str:
    try:
        frame = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
    except (KeyError, ValueError, AttributeError):
        return ""
    return str(frame.text).replace("\v", "\n").strip() if frame is not None else ""
