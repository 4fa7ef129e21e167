"""Web pages: the main content as found by trafilatura, with headings, lists, tables and code."""

import logging
import re
from collections import defaultdict, deque
from collections.abc import Iterable
from copy import deepcopy
from typing import Any

from lxml.html import HtmlElement
from trafilatura import bare_extraction
from trafilatura.metadata import extract_metadata

from documents.errors import NoText, ParseError
from documents.extractors.base import Extractor
from documents.extractors.cleaning import clean
from documents.extractors.html.blocks import (
    HEADINGS,
    BlockWriter,
    code_language,
    code_text,
    flat_text,
    limit_spans,
    mark_headings,
    remove,
    storable,
    write_tree,
)
from documents.extractors.html.page_source import SHORT_PAGE, decode_page, drop_hidden, parse_page
from documents.passages import Block, Extracted

logging.getLogger("trafilatura").setLevel(logging.CRITICAL)  # it logs an error for each empty page

MAX_ELEMENTS = 60_000  # trafilatura takes seconds for this many, and minutes for a few more
MAX_FIELD_CHARACTERS = 1000  # for title, description and author
FEW_LINKS = 50  # at most one character in this many is in a link
NOT_WORD = re.compile(r"\W+")
BEGINNING = 60  # letters that identify a block

WHOLE_PAGE = "No main text was recognised; the whole page was kept without its menus and footers."


class HtmlExtractor(Extractor):
    def extract(self, data: bytes, *, name: str = "") -> Extracted:
        source, warnings = decode_page(data, declared=self.declared)
        tree, trouble = parse_page(source)
        title, metadata = page_facts(tree)
        mark_headings(tree)
        limit_spans(tree)
        drop_hidden(tree)
        writer, doubts = _readable(tree)
        if not writer.blocks:
            if trouble:
                raise ParseError("The page nests its elements too deeply to be read.")
            raise NoText("The page holds no readable text.")
        first_heading = next((b.title for b in writer.blocks if b.kind == "heading"), "")
        return Extracted(
            text=writer.text,
            blocks=tuple(writer.blocks),
            title=title or first_heading,
            metadata=metadata,
            warnings=(*warnings, *trouble, *doubts),
        )


def page_facts(tree: HtmlElement) -> tuple[str, dict[str, Any]]:
    """Return the page's title and its other metadata, as values that JSON can hold."""
    try:
        # A fixed last date, so that the same page is read the same tomorrow.
        dates = {"extensive_search": False, "original_date": True, "max_date": "2100-01-01"}
        found = extract_metadata(tree, date_config=dates).as_dict()
    except Exception:  # a library may raise anything; the text is kept
        found = {}
    titles = (found.get("title"), tree.findtext(".//title"))
    facts = {
        "canonical_url": _canonical_url(tree) or _web_url(found.get("url")),
        "author": found.get("author"),
        "date": found.get("date"),
        "language": _language(tree) or found.get("language"),
        "description": found.get("description"),
        "site_name": found.get("sitename"),
    }
    metadata = {key: fact for key, value in facts.items() if (fact := _fact(value))}
    return next(filter(None, map(_fact, titles)), ""), metadata


def _fact(value: Any) -> str:
    return " ".join(clean(value).split())[:MAX_FIELD_CHARACTERS] if isinstance(value, str) else ""


def _canonical_url(tree: HtmlElement) -> str:
    for link in tree.iter("link"):
        if "canonical" in (link.get("rel") or "").lower().split():
            return _web_url(link.get("href"))
    return ""


def _web_url(value: Any) -> str:
    url = _fact(value)
    return url if url.lower().startswith(("http://", "https://")) else ""


def _language(tree: HtmlElement) -> str:
    spoken = tree.get("lang") or tree.get("xml:lang") or ""
    if not spoken:
        for meta in tree.iter("meta"):
            if (meta.get("http-equiv") or "").lower() == "content-language":
                spoken = meta.get("content") or ""
    spoken = spoken.strip().replace("_", "-")
    return spoken if re.fullmatch(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8}){0,3}", spoken) else ""


def _readable(tree: HtmlElement) -> tuple[BlockWriter, tuple[str, ...]]:
    """Return the main text, or if there is none, the page without its menus and footers."""
    main, whole = BlockWriter(), BlockWriter()
    is_huge = sum(1 for _ in tree.iter()) > MAX_ELEMENTS
    body = None if is_huge else _main_part(tree)
    if body is not None:
        write_tree(body, main)
    write_tree(_without_furniture(tree), whole)
    if not whole.blocks:
        return main, ()
    # When trafilatura falls back to plain text, it loses the structure.
    is_bare = _is_flat(main) and len(whole.text) <= 2 * len(main.text)
    if len(main.text) < SHORT_PAGE or is_bare:
        return whole, (WHOLE_PAGE,)
    if _is_plain_document(tree):
        return whole, ()
    return _with_headings(main, whole), ()


def _with_headings(main: BlockWriter, whole: BlockWriter) -> BlockWriter:
    """Restore headings that trafilatura dropped above blocks that it kept."""
    kept = {block.title for block in main.blocks if block.kind == "heading"}
    above: dict[str, list[Block]] = {}
    waiting: list[Block] = []
    for block in whole.blocks:
        if block.kind == "heading":
            waiting.append(block)
        elif waiting:
            above.setdefault(_beginning(whole, block), waiting)
            waiting = []
    merged = BlockWriter()
    for block in main.blocks:
        if block.kind != "heading":
            for heading in above.pop(_beginning(main, block), []):
                if heading.title not in kept:
                    merged.copy(whole, heading)
        merged.copy(main, block)
    return merged


def _beginning(writer: BlockWriter, block: Block) -> str:
    return NOT_WORD.sub("", writer.read(block)[:MAX_FIELD_CHARACTERS])[:BEGINNING]


def _is_plain_document(tree: HtmlElement) -> bool:
    """Whether all of it is content: a report or book as HTML has no menus and few links."""
    if any(True for _ in tree.iter("nav", "aside", "header", "footer", "form")):
        return False
    linked = sum(len(flat_text(link)) for link in tree.iter("a"))
    return linked * FEW_LINKS < len(flat_text(tree))


def _is_flat(writer: BlockWriter) -> bool:
    return len(writer.blocks) == 1 and writer.blocks[0].kind == "text"


def _main_part(tree: HtmlElement) -> Any:
    try:
        found = bare_extraction(
            tree, include_comments=False, include_tables=True, favor_recall=True
        )
    except Exception:  # a library may raise anything; the whole page is kept
        return None
    body = getattr(found, "body", None)
    return None if body is None else _as_html(body, tree)


def _as_html(body: Any, tree: HtmlElement) -> Any:
    """Convert trafilatura's elements back to HTML, with the ids and code that it dropped."""
    fragments, codes = _fragments(tree), _codes(tree)
    for element in list(body.iter("head", "code", "quote", *PLAIN)):
        match element.tag:
            case "head":
                level = element.get("rend", "")
                element.tag = level if re.fullmatch("h[1-6]", level) else "h3"
                if waiting := fragments.get(flat_text(element)):
                    element.set("id", waiting.popleft())
            case "code" | "quote":
                _restore_code(element, codes)
            case "item":
                element.tag = element.get("rend", "li")[:2]
            case "list":
                element.tag = element.get("rend", "ul")
            case "cell":
                element.tag = "th" if element.get("role") == "head" else "td"
            case tag:
                element.tag = PLAIN[tag]
    return body


PLAIN = {"list": "ul", "item": "li", "row": "tr", "cell": "td", "lb": "br"}


def _restore_code(element: Any, codes: dict[str, tuple[str, str]]) -> None:
    parent = element.getparent()
    is_inline = parent is not None and parent.tag not in {"body", "div", "code", "section"}
    code, language = codes.get(_squeezed(element.itertext()), ("", ""))
    if code and ("\n" in code or not is_inline):
        element.clear(keep_tail=True)
        element.tag, element.text = "pre", code
        element.set("data-lang", language)
    elif element.tag == "code" and not is_inline and "\n" in "".join(element.itertext()).strip():
        element.tag = "pre"
    elif element.tag == "quote":
        element.tag = "blockquote"


def _fragments(tree: HtmlElement) -> dict[str, deque[str]]:
    found: dict[str, deque[str]] = defaultdict(deque)
    for heading in tree.iter(*HEADINGS):
        if fragment := storable(heading.get("id") or ""):
            found[flat_text(heading)].append(fragment)
    return found


def _codes(tree: HtmlElement) -> dict[str, tuple[str, str]]:
    """Map each code block, by its non-space characters, to its original text and language."""
    blocks = tree.iter("pre")
    return {
        _squeezed(pre.itertext()): (storable(code_text(pre)), code_language(pre)) for pre in blocks
    }


def _squeezed(texts: Iterable[str]) -> str:
    return "".join("".join(texts).split())


def _without_furniture(tree: HtmlElement) -> HtmlElement:
    """Return the body without menus, footers and page headers. A header with an <h1> is kept, as it
    may be an article's."""
    bodies = tree.findall(".//body")
    body = bodies[0] if bodies else tree
    before = len(body.text_content().strip())
    kept = deepcopy(body)
    for element in list(kept.iter("nav", "header", "footer")):
        has_heading = element.tag == "header" and element.find(".//h1") is not None
        if not has_heading:
            remove(element)
    return kept if kept.text_content().strip() or not before else body
