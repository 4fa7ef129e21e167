"""Web pages: their readable part, found by trafilatura, with headings, lists, tables and code."""

import logging
import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from documents.errors import EmptyFile, NoText, ParseError
from documents.extractors.base import Extractor
from documents.extractors.cleaning import clean, decode
from documents.extractors.encodings import WESTERN, Declared, encoding_named
from documents.passages import Block, Extracted

if TYPE_CHECKING:
    from lxml.html import HtmlElement

    from documents.extractors.html.blocks import BlockWriter

MAX_ELEMENTS = 60_000  # trafilatura takes seconds for as many, and minutes for some more
MAX_FIELD_CHARACTERS = 1000  # of a title, a description, an author
# Times as much as is visible. Where more is hidden, it is the page itself, which waits for a script.
MAX_HIDDEN_RATIO = 4
SHORT_PAGE = 250  # characters; below it trafilatura gives up structure, too
FEW_LINKS = 50  # one character in so many
SNIFFED_BYTES = 4096
DECLARED = re.compile(
    rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]+)"""
    rb"""|^\s*<\?xml[^>]{0,100}?encoding\s*=\s*["']([\w.:-]+)""",
    re.IGNORECASE,
)
NOT_WORD = re.compile(r"\W+")
BEGINNING = 60  # letters by which a block is known again
# Guesses that differ from cp1252 in a few letters only; a short page cannot tell them apart.
LATIN_GUESS = re.compile(r"read as (cp125[02478]|latin_1|iso8859_(1|2|9|10|14|15|16))\.$")
PAGE_LANGUAGE = re.compile(rb"""<html[^>]{0,300}?\slang\s*=\s*["']?([a-z]{2,3})""", re.IGNORECASE)
OTHER_LANGUAGES = re.compile("pl|cs|sk|hu|sl|hr|bs|sr|ro|sq|tr|az|lt|lv|et|vi|cy")
READ_AS_WESTERN = f"The page declares no encoding; it was read as {WESTERN}."

LINE_NUMBERS = re.compile(r"(?:^|\s)(?:linenos?|linenodiv|gutter)(?:\s|$)")
DOCTYPE = re.compile(r"<!DOCTYPE[^>\[]*(?:\[[^\]]*\]\s*)?>", re.IGNORECASE)
HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
WHOLE_PAGE = "No main text stood out; the whole page was kept without its menus and footers."
TOO_DEEP = "The page nests its elements too deeply; what lies deeper was not read."


class HtmlExtractor(Extractor):
    media_types = frozenset({"text/html", "application/xhtml+xml"})
    source_type = "html"
    libraries = ("trafilatura", "trafilatura.metadata", "documents.extractors.html.blocks")

    def extract(self, data: bytes, *, name: str = "") -> Extracted:
        from documents.extractors.html.blocks import limit_spans, mark_headings

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


def decode_page(data: bytes, *, declared: Declared | None = None) -> tuple[str, tuple[str, ...]]:
    """The page's source. What came with it over HTTP counts more than what it says itself."""
    if not data:
        raise EmptyFile("The file is empty: it has no bytes at all.")
    stated = declared or page_encoding(data[:SNIFFED_BYTES])
    text, warnings = decode(data, declared=stated)
    if warnings and stated is None and _is_western(data, guess=warnings[0]):
        text, warnings = data.decode(WESTERN, errors="replace"), (READ_AS_WESTERN,)
    text = clean(text)
    if not text.strip():
        raise NoText("The file holds no text, only blank space.")
    return text, warnings


def _is_western(data: bytes, *, guess: str) -> bool:
    """A page that declares no encoding is read as browsers read it, where the guess is as near."""
    language = PAGE_LANGUAGE.search(data[:SNIFFED_BYTES])
    if not language or OTHER_LANGUAGES.fullmatch(language[1].decode("ascii").lower()):
        return False
    return bool(LATIN_GUESS.search(guess))


def page_encoding(head: bytes) -> Declared | None:
    match = DECLARED.search(head)
    name = encoding_named((match[1] or match[2]).decode("ascii")) if match else ""
    # A page that could be searched for this is in no wide encoding, whatever it says.
    return Declared(name) if name and not name.startswith(("utf-16", "utf-32")) else None


def parse_page(source: str) -> "tuple[HtmlElement, tuple[str, ...]]":
    """The tree, without comments, and a warning where the parser had to leave some out."""
    from lxml import etree
    from lxml import html as lxml_html

    parser = lxml_html.HTMLParser(
        encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=False, no_network=True
    )
    try:
        # A document type says nothing to us, and its entities would come out as text.
        plain = DOCTYPE.sub("", source, count=1)
        tree = lxml_html.document_fromstring(plain.encode(), parser=parser)
    except etree.ParserError as error:  # nothing but comments, say
        raise NoText("The page holds no readable text.") from error
    except (etree.LxmlError, ValueError, RecursionError, AssertionError) as error:
        raise ParseError("The page could not be read as HTML.") from error
    is_cut = any("depth" in entry.message.lower() for entry in parser.error_log)
    return tree, (TOO_DEEP,) if is_cut else ()


def page_facts(tree: "HtmlElement") -> tuple[str, dict[str, Any]]:
    """What the page says of itself: its title, and the rest as JSON-safe metadata."""
    from trafilatura.metadata import extract_metadata

    _silence()
    try:
        # A fixed last date, or the same page would be read differently tomorrow.
        dates = {"extensive_search": False, "original_date": True, "max_date": "2100-01-01"}
        found = extract_metadata(tree, date_config=dates).as_dict()
    except Exception:  # not our code: whatever it trips over, the text remains
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


def _canonical_url(tree: "HtmlElement") -> str:
    for link in tree.iter("link"):
        if "canonical" in (link.get("rel") or "").lower().split():
            return _web_url(link.get("href"))
    return ""


def _web_url(value: Any) -> str:
    url = _fact(value)
    return url if url.lower().startswith(("http://", "https://")) else ""


def _language(tree: "HtmlElement") -> str:
    spoken = tree.get("lang") or tree.get("xml:lang") or ""
    if not spoken:
        for meta in tree.iter("meta"):
            if (meta.get("http-equiv") or "").lower() == "content-language":
                spoken = meta.get("content") or ""
    spoken = spoken.strip().replace("_", "-")
    return spoken if re.fullmatch(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8}){0,3}", spoken) else ""


def drop_hidden(tree: "HtmlElement") -> None:
    """Take out what no reader sees, unless it is the page itself: a script may show it later."""
    from documents.extractors.html.blocks import flat_text, remove

    hidden = list(_hidden_elements(tree))
    unseen = sum(len(flat_text(element)) for element in hidden)
    if not hidden or len(flat_text(tree)) - unseen < max(SHORT_PAGE, unseen // MAX_HIDDEN_RATIO):
        return
    for element in hidden:
        remove(element)


def _hidden_elements(tree: "HtmlElement") -> "Iterator[HtmlElement]":
    from lxml import etree

    walk = etree.iterwalk(tree, events=("start",))
    for _, element in walk:
        if element.tag in {"html", "body", "head"}:
            continue
        is_styled = HIDDEN_STYLE.search(element.get("style") or "")
        is_margin = LINE_NUMBERS.search(element.get("class") or "")
        if "hidden" in element.attrib or is_styled or is_margin:
            walk.skip_subtree()
            yield element


def _readable(tree: "HtmlElement") -> "tuple[BlockWriter, tuple[str, ...]]":
    """The main text, or where there is none the whole page without its furniture."""
    from documents.extractors.html.blocks import BlockWriter, write_tree

    main, whole = BlockWriter(), BlockWriter()
    is_huge = sum(1 for _ in tree.iter()) > MAX_ELEMENTS
    body = None if is_huge else _main_part(tree)
    if body is not None:
        write_tree(body, main)
    write_tree(_without_furniture(tree), whole)
    if not whole.blocks:
        return main, ()
    # Where trafilatura falls back on bare text it loses the structure of what it found.
    is_bare = _is_flat(main) and len(whole.text) <= 2 * len(main.text)
    if len(main.text) < SHORT_PAGE or is_bare:
        return whole, (WHOLE_PAGE,)
    if _is_plain_document(tree):
        return whole, ()
    return _with_headings(main, whole), ()


def _with_headings(main: "BlockWriter", whole: "BlockWriter") -> "BlockWriter":
    """trafilatura drops some headings of what it keeps: put them back above their first block."""
    from documents.extractors.html.blocks import BlockWriter

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


def _beginning(writer: "BlockWriter", block: Block) -> str:
    return NOT_WORD.sub("", writer.read(block)[:MAX_FIELD_CHARACTERS])[:BEGINNING]


def _is_plain_document(tree: "HtmlElement") -> bool:
    """A report or a book saved as HTML has neither menus nor many links: all of it is content."""
    from documents.extractors.html.blocks import flat_text

    if any(True for _ in tree.iter("nav", "aside", "header", "footer", "form")):
        return False
    linked = sum(len(flat_text(link)) for link in tree.iter("a"))
    return linked * FEW_LINKS < len(flat_text(tree))


def _is_flat(writer: "BlockWriter") -> bool:
    return len(writer.blocks) == 1 and writer.blocks[0].kind == "text"


def _main_part(tree: "HtmlElement") -> Any:
    from trafilatura import bare_extraction

    _silence()
    try:
        found = bare_extraction(
            tree, include_comments=False, include_tables=True, favor_recall=True
        )
    except Exception:  # not our code: the whole page remains
        return None
    body = getattr(found, "body", None)
    return None if body is None else _as_html(body, tree)


def _silence() -> None:
    """trafilatura logs an error for each page it finds nothing on."""
    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)


def _as_html(body: Any, tree: "HtmlElement") -> Any:
    """trafilatura's own elements as HTML again, with the ids and the code it has dropped."""
    from documents.extractors.html.blocks import flat_text

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


def _fragments(tree: "HtmlElement") -> dict[str, deque[str]]:
    from documents.extractors.html.blocks import HEADINGS, flat_text, storable

    found: dict[str, deque[str]] = defaultdict(deque)
    for heading in tree.iter(*HEADINGS):
        if fragment := storable(heading.get("id") or ""):
            found[flat_text(heading)].append(fragment)
    return found


def _codes(tree: "HtmlElement") -> dict[str, tuple[str, str]]:
    """Each block of code by its characters alone: its text as written, and its language."""
    from documents.extractors.html.blocks import code_language, code_text, storable

    blocks = tree.iter("pre")
    return {
        _squeezed(pre.itertext()): (storable(code_text(pre)), code_language(pre)) for pre in blocks
    }


def _squeezed(texts: Iterable[str]) -> str:
    return "".join("".join(texts).split())


def _without_furniture(tree: "HtmlElement") -> "HtmlElement":
    """The body less menus, footers and page headers; a header with an <h1> may be an article's."""
    from documents.extractors.html.blocks import remove

    bodies = tree.findall(".//body")
    body = bodies[0] if bodies else tree
    before = len(body.text_content().strip())
    kept = deepcopy(body)
    for element in list(kept.iter("nav", "header", "footer")):
        has_heading = element.tag == "header" and element.find(".//h1") is not None
        if not has_heading:
            remove(element)
    return kept if kept.text_content().strip() or not before else body
