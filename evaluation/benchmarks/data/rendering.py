"""Render a collection's articles as PDF files in several layouts."""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import matplotlib
from reportlab.lib.pagesizes import A4, LETTER
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas

from evaluation.golden.formats import Article

MARGIN, GUTTER = 56.0, 18.0  # points
FONTS = "DejaVuSerif", "DejaVuSans", "DejaVuSans-Bold"


@dataclass(frozen=True, slots=True)
class Layout:
    font: str
    size: float = 10
    title_size: float = 15
    title_font: str = ""
    page: tuple[float, float] = A4
    columns: int = 1
    is_hyphenated: bool = False
    is_justified: bool = False
    running_head: str = ""  # on every page, with the page's number below


LAYOUTS = (
    Layout("DejaVuSerif"),
    Layout("DejaVuSerif", 9, columns=2, is_hyphenated=True, is_justified=True),
    Layout("DejaVuSans", 11, 11, "DejaVuSans-Bold", page=LETTER),
    Layout("DejaVuSans", 9, 18, page=LETTER, columns=2, is_hyphenated=True),
    Layout("DejaVuSerif", 12, 16, is_justified=True, running_head="Collected Abstracts"),
)


def as_pdf(article: Article, layout: Layout) -> bytes:
    """Render a PDF without document information, like many real files."""
    _load_fonts()
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=layout.page, invariant=True)
    width, height = layout.page
    across = width - 2 * MARGIN
    column = (across - GUTTER * (layout.columns - 1)) / layout.columns
    top = height - MARGIN
    if article.title:
        font = layout.title_font or layout.font
        for line, _ in _lines(article.title, font, layout.title_size, across):
            top -= layout.title_size * 1.2
            _write(canvas, line, MARGIN, top, font, layout.title_size)
        top -= layout.title_size
    rows = list(_lines(article.text, layout.font, layout.size, column, layout.is_hyphenated))
    leading = layout.size * 1.25
    while True:
        _frame(canvas, layout)
        for nth in range(layout.columns):
            left = MARGIN + nth * (column + GUTTER)
            at = top
            while rows and at - leading > MARGIN:
                at -= leading
                line, is_last = rows.pop(0)
                stretch = column if layout.is_justified and not is_last else 0.0
                _write(canvas, line, left, at, layout.font, layout.size, stretch)
        canvas.showPage()
        top = height - MARGIN
        if not rows:
            break
    canvas.save()
    return buffer.getvalue()


def _lines(
    text: str, font: str, size: float, width: float, is_hyphenated: bool = False
) -> Iterator[tuple[str, bool]]:
    """Yield each line, and whether it is the last of its paragraph."""
    words, line = text.split(), ""
    for word in words:
        longer = f"{line} {word}" if line else word
        if pdfmetrics.stringWidth(longer, font, size) <= width:
            line = longer
            continue
        head = _head(word, line, font, size, width) if is_hyphenated else ""
        yield (f"{line} {head}-" if head else line), False
        line = word[len(head) :]
    yield line, True


def _head(word: str, line: str, font: str, size: float, width: float) -> str:
    """Hyphenate a long word so that its start fits on the line, at least three letters each."""
    if not word.isalpha() or len(word) < 8:
        return ""
    for cut in range(len(word) - 3, 2, -1):
        if pdfmetrics.stringWidth(f"{line} {word[:cut]}-", font, size) <= width:
            return word[:cut]
    return ""


def _write(
    canvas: Canvas, line: str, x: float, y: float, font: str, size: float, stretch: float = 0.0
) -> None:
    text = canvas.beginText(x, y)
    text.setFont(font, size)
    gaps = line.count(" ")
    if stretch and gaps:
        # Fonts with multi-byte characters have no word spacing, so each word is placed separately.
        space = (stretch - pdfmetrics.stringWidth(line.replace(" ", ""), font, size)) / gaps
        for word in line.split(" "):
            text.setTextOrigin(x, y)
            text.textOut(word)
            x += pdfmetrics.stringWidth(word, font, size) + space
    else:
        text.textOut(line)
    canvas.drawText(text)


def _frame(canvas: Canvas, layout: Layout) -> None:
    if layout.running_head:
        width, height = layout.page
        _write(canvas, layout.running_head, MARGIN, height - MARGIN / 2, layout.font, 8)
        _write(canvas, str(canvas.getPageNumber()), width / 2, MARGIN / 2, layout.font, 8)


@cache
def _load_fonts() -> None:
    """Return matplotlib's fonts, which have Greek letters, unlike the standard PDF fonts."""
    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    for name in FONTS:
        pdfmetrics.registerFont(TTFont(name, folder / f"{name}.ttf"))
