"""Convert an HTML tree to Markdown-like text with exact spans for its blocks.

Nothing here is recursive, because a page may be nested as deeply as the parser allows.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lxml import etree

from documents.extractors.cleaning import clean
from documents.extractors.writer import MAX_TITLE_CHARACTERS, TextWriter
from documents.passages import Block, BlockKind

MAX_CELL_CHARACTERS = 2000  # a table with a longer cell is page layout
MAX_REPEATED_CHARACTERS = 200  # a cell that spans rows is repeated in each, unless longer
MAX_SPAN = 50
PADDED_CELLS = 100_000  # a table that needs more padding is left ragged

HEADINGS = {f"h{level}": level for level in range(1, 7)}
LISTS = frozenset({"ul", "ol", "dl", "menu", "dir"})
ITEMS = frozenset({"li", "dt", "dd"})
BLOCKS = frozenset(
    {"address", "article", "aside", "blockquote", "body", "caption", "center", "details", "dialog"}
    | {"div", "fieldset", "figcaption", "figure", "footer", "form", "header", "hgroup", "hr"}
    | {"html", "legend", "main", "nav", "option", "p", "section", "summary"}
    | {"table", "tbody", "td", "tfoot", "th", "thead", "tr"}
)
SEPARATE = BLOCKS | LISTS | ITEMS | HEADINGS.keys() | {"pre", "br"}
UNREAD = frozenset(
    {"applet", "audio", "button", "canvas", "datalist", "embed", "frameset", "head", "iframe"}
    | {"input", "link", "map", "math", "meta", "noscript", "object", "script", "select", "style"}
    | {"svg", "template", "textarea", "title", "video"}
)
PERMALINKS = frozenset({"¶", "#", "§", "🔗", "⚓", "link", "permalink", "[edit]", "edit"})

NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
SPACES = re.compile(r"[ \t\n\r\f\v\xa0]+")
SPACES_ONLY = re.compile(" {2,}")
AROUND_BREAK = re.compile(r" *\n *")
EMPTY_LINE = re.compile(r"\n{2,}")
FENCE = re.compile(r"^ *(`{3,})", re.MULTILINE)
LANGUAGE = re.compile(
    r"(?:^|\s)(?:language|lang|highlight-source|highlight|brush:)[-\s]*([\w+#.-]+)", re.IGNORECASE
)
NO_LANGUAGE = frozenset({"default", "none", "text", "notranslate", "plaintext", "nohighlight"})


@dataclass(slots=True)
class BlockWriter(TextWriter):
    """A writer that marks headings and code as in Markdown, and can copy from another writer."""

    attributes: Mapping[str, Any] = field(default_factory=dict)  # of every block added from now on

    def add(
        self,
        kind: BlockKind,
        text: str,
        *,
        level: int = 0,
        title: str = "",
        language: str = "",
        attributes: Mapping[str, Any] | None = None,
    ) -> None:
        merged = {**self.attributes, **(attributes or {})}
        TextWriter.add(
            self, kind, text, level=level, title=title, language=language, attributes=merged
        )

    def copy(self, other: "BlockWriter", block: Block) -> None:
        """Add a block of another writer unchanged."""
        self.add(
            block.kind,
            other.read(block),
            level=block.level,
            title=block.title,
            language=block.language,
            attributes=block.attributes,
        )

    def add_heading(
        self, text: str, *, level: int, attributes: Mapping[str, Any] | None = None
    ) -> None:
        title = " ".join(clean(text).split())
        if len(title) > MAX_TITLE_CHARACTERS:
            self.add("text", title, attributes=attributes)
        elif title:
            marked = f"{'#' * level} {title}"
            self.add("heading", marked, level=level, title=title, attributes=attributes)

    def add_code(self, code: str, *, language: str = "") -> None:
        code = clean(code).strip("\n").rstrip()
        if code.strip():
            longest = max(map(len, FENCE.findall(code)), default=2)
            fence = "`" * max(3, longest + 1)
            self.add("code", f"{fence}{language}\n{code}\n{fence}", language=language)


def write_tree(root: etree._Element, writer: BlockWriter) -> None:
    _Walk(writer).through(root)


class _Walk:
    """Walks a tree once, collecting inline text until a block element begins or ends."""

    def __init__(self, writer: BlockWriter) -> None:
        self.writer = writer
        self.inline: list[str] = []
        self.lists: list[list[int]] = []  # open lists: [1 if ordered, items so far]
        self.lines: list[str] = []  # of the list being written
        self.marker = ""  # of an item whose first line is not written yet

    def through(self, root: etree._Element) -> None:
        walk = etree.iterwalk(root, events=("start", "end"))
        for event, element in walk:
            tag = tag_of(element)
            if event == "start":
                if self._begins(element, tag):
                    self._text(element.text)
                else:
                    walk.skip_subtree()
                continue
            if tag in SEPARATE and tag != "br":
                self._end_paragraph()
            if tag in LISTS and self.lists:
                self.lists.pop()
                if not self.lists:
                    self._end_list()
            if element is not root:
                self._text(element.tail)
        self._end_paragraph()
        self._end_list()

    def _begins(self, element: etree._Element, tag: str) -> bool:
        """Start an element; return whether to descend into it."""
        if tag in UNREAD:
            return False
        if tag == "br":
            self.inline.append("\n")
            return True
        if tag in SEPARATE:
            self._end_paragraph()
        if tag in LISTS:
            self.lists.append([int(tag == "ol"), 0])
        elif tag in ITEMS:
            self._begin_item(tag)
        elif tag in HEADINGS:
            self._end_list()
            fragment = clean(element.get("id", ""))
            attributes = {"url_fragment": fragment} if fragment else None
            self.writer.add_heading(flat_text(element), level=HEADINGS[tag], attributes=attributes)
            return False
        elif tag == "pre":
            self._end_list()
            self.writer.add_code(code_text(element), language=code_language(element))
            return False
        elif tag == "table" and is_data_table(element):
            self._end_list()
            for caption in element.iterchildren("caption", "{*}caption"):
                self.writer.add("text", flat_text(caption))
            self.writer.add("table", table_text(element))
            return False
        return True

    def _begin_item(self, tag: str) -> None:
        self.marker = ""
        if not self.lists or tag == "dd":  # an item without its list, or a term's explanation
            return
        ordered, count = self.lists[-1]
        self.lists[-1][1] = count + 1
        self.marker = f"{count + 1}. " if ordered else "- "

    def _text(self, text: str | None) -> None:
        if text:
            self.inline.append(SPACES.sub(" ", text))

    def _end_paragraph(self) -> None:
        if not self.inline:
            return
        text = AROUND_BREAK.sub("\n", SPACES_ONLY.sub(" ", "".join(self.inline))).strip()
        self.inline.clear()
        if not text:
            return
        if self.lists:
            self._add_lines(text)
            return
        for paragraph in EMPTY_LINE.split(text):
            self.writer.add("text", paragraph)

    def _add_lines(self, text: str) -> None:
        indent = "  " * (min(len(self.lists), 10) - 1)
        for line in EMPTY_LINE.sub("\n", text).split("\n"):
            self.lines.append(f"{indent}{self.marker or '  '}{line}")
            self.marker = ""

    def _end_list(self) -> None:
        if self.lines:
            self.writer.add("list", "\n".join(self.lines))
            self.lines.clear()


def storable(text: str) -> str:
    """Remove characters that lxml accepts from a page but not from us."""
    return NOT_IN_XML.sub("", text)


def tag_of(element: etree._Element) -> str:
    """Return the local name in lower case: XHTML elements have a namespace, HTML elements none."""
    tag = element.tag
    return tag.rpartition("}")[2].lower() if isinstance(tag, str) else ""


def _texts(element: etree._Element, *, separate: str) -> Iterator[str]:
    walk = etree.iterwalk(element, events=("start", "end"))
    for event, node in walk:
        tag = tag_of(node)
        if tag in SEPARATE and node is not element:
            yield "\n" if tag == "br" and event == "start" else separate
        if event == "end":
            if node is not element and node.tail:
                yield node.tail
        elif tag in UNREAD:
            walk.skip_subtree()
        elif node.text:
            yield node.text


def flat_text(element: etree._Element) -> str:
    """Return the element's text on one line."""
    if not len(element):  # most cells of large tables
        return " ".join((element.text or "").split()) if tag_of(element) not in UNREAD else ""
    return " ".join("".join(_texts(element, separate=" ")).split())


def code_text(element: etree._Element) -> str:
    """Return the element's text with its spaces and line ends."""
    return "".join(_texts(element, separate="")).replace("\xa0", " ")


def code_language(element: etree._Element) -> str:
    """Return the language named by a class of the block, its <code>, or the two elements around."""
    parents = element.iterancestors()
    nodes = [element, *list(element)[:1], *(n for n, _ in zip(parents, range(2), strict=False))]
    for node in nodes:
        named = node.get("data-lang") or node.get("data-language") or ""
        match = LANGUAGE.search(node.get("class") or "")
        language = (named or (match[1] if match else "")).strip().lower()
        if language and language not in NO_LANGUAGE and re.fullmatch(r"[\w+#.-]{1,30}", language):
            return language
    return ""


def mark_headings(root: etree._Element) -> None:
    """Give each heading the id that links to it use, and remove permalink signs such as "¶"."""
    for heading in [e for e in root.iter() if tag_of(e) in HEADINGS]:
        if fragment := _fragment_of(heading):
            heading.set("id", storable(fragment))
        for link in [e for e in heading.iter() if tag_of(e) in {"a", "span", "button"}]:
            if link.getparent() is not None and flat_text(link).lower() in PERMALINKS:
                remove(link)


def _fragment_of(heading: etree._Element) -> str:
    """Return its id, that of an anchor inside or just before it, or that of its section."""
    inside = (_name(e) or _link_to_self(e) for e in heading.iter())
    if fragment := next(filter(None, inside), ""):
        return fragment
    before = heading.getprevious()
    if before is not None:
        is_anchor = tag_of(before) in {"a", "span"} and not flat_text(before)
        return _name(before) if is_anchor and not (before.tail or "").strip() else ""
    parent = heading.getparent()
    if parent is None or tag_of(parent) == "body" or (parent.text or "").strip():
        return ""
    return _name(parent)


def _name(element: etree._Element) -> str:
    name = element.get("id") or (element.get("name") if tag_of(element) == "a" else "") or ""
    return name.strip()[:MAX_TITLE_CHARACTERS]


def _link_to_self(element: etree._Element) -> str:
    target = element.get("href") or ""
    if tag_of(element) == "a" and target.startswith("#"):
        is_permalink = not flat_text(element) or flat_text(element).lower() in PERMALINKS
        return target[1:].strip()[:MAX_TITLE_CHARACTERS] if is_permalink else ""
    return ""


def remove(element: etree._Element) -> None:
    """Remove an element but keep the text after it."""
    parent, tail = element.getparent(), element.tail
    if parent is None:
        return
    if tail:
        previous = element.getprevious()
        if previous is not None:
            previous.tail = storable((previous.tail or "") + tail)
        else:
            parent.text = storable((parent.text or "") + tail)
        element.tail = None
    parent.remove(element)


def limit_spans(root: etree._Element) -> None:
    """Cap rowspan and colspan, so that one cell cannot become a million."""
    cells = [e for e in root.iter() if tag_of(e) in {"td", "th"}]
    for cell in cells:
        for name in ("colspan", "rowspan"):
            if name in cell.attrib:
                cell.set(name, str(_span(cell, name)))
    if sum(_span(c, "colspan") * _span(c, "rowspan") for c in cells) > PADDED_CELLS:
        etree.strip_attributes(root, "colspan", "rowspan")


def is_data_table(table: etree._Element) -> bool:
    """Whether this is a table of data, not of page layout."""
    if (table.get("role") or "").lower() in {"presentation", "none"}:
        return False
    inner = {tag_of(e) for e in table.iterdescendants()}
    if inner & {"table", "pre", *HEADINGS}:
        return False
    rows = [[c for c in row if tag_of(c) in {"td", "th"}] for row in _rows(table)]
    if len(rows) < 2 or max(map(len, rows)) < 2:
        return False
    return all(len(flat_text(cell)) <= MAX_CELL_CHARACTERS for row in rows for cell in row)


def _rows(table: etree._Element) -> Iterator[etree._Element]:
    return (element for element in table.iterdescendants() if tag_of(element) == "tr")


def table_text(table: etree._Element) -> str:
    """Return a Markdown table. Markdown requires a header, so the first row becomes one."""
    rows = [row for row in _grid(table) if any(row)]
    width = max(map(len, rows), default=0)
    if not width:
        return ""
    if width * len(rows) <= PADDED_CELLS:
        rows = [row + [""] * (width - len(row)) for row in rows]
        used = [any(column) for column in zip(*rows, strict=True)]
        rows = [[cell for cell, is_used in zip(row, used, strict=True) if is_used] for row in rows]
    header, *others = (f"| {' | '.join(row)} |" for row in rows)
    rule = f"|{' --- |' * len(rows[0])}"
    return "\n".join([header, rule, *others])


def _grid(table: etree._Element) -> Iterator[list[str]]:
    """Return the cells of all rows; a cell that spans rows is repeated in each."""
    pending: dict[int, tuple[int, str]] = {}  # column → rows still to fill, and the text
    written = 0
    for row in _rows(table):
        if written > PADDED_CELLS:  # limits spans within spans
            pending.clear()
        cells: list[str] = []
        for cell in (c for c in row if tag_of(c) in {"td", "th"}):
            _fill(cells, pending)
            text = flat_text(cell).replace("|", "\\|")
            for offset in range(_span(cell, "colspan") if written <= PADDED_CELLS else 1):
                if (down := _span(cell, "rowspan")) > 1:
                    again = text if not offset and len(text) <= MAX_REPEATED_CHARACTERS else ""
                    pending[len(cells)] = (down - 1, again)
                cells.append("" if offset else text)
        _fill(cells, pending)
        written += len(cells)
        yield cells


def _fill(cells: list[str], pending: dict[int, tuple[int, str]]) -> None:
    while len(cells) in pending:
        left, text = pending.pop(len(cells))
        if left > 1:
            pending[len(cells)] = (left - 1, text)
        cells.append(text)


def _span(cell: etree._Element, name: str) -> int:
    value = (cell.get(name) or "").strip()
    return min(max(int(value), 1), MAX_SPAN) if value.isascii() and value.isdigit() else 1
