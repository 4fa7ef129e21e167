"""Decode and parse the source of a web page, and remove what readers do not see."""

import re
from collections.abc import Iterator

from lxml import etree
from lxml import html as lxml_html
from lxml.html import HtmlElement

from documents.errors import EmptyFile, NoText, ParseError
from documents.extractors.cleaning import clean, decode
from documents.extractors.encodings import WESTERN, Declared, encoding_named
from documents.extractors.html.blocks import flat_text, remove

SHORT_PAGE = 250  # characters; in shorter pages trafilatura also loses the structure
# Ratio to the visible text. If more is hidden, it is the page itself, waiting for a script.
MAX_HIDDEN_RATIO = 4
SNIFFED_BYTES = 4096
DECLARED = re.compile(
    rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]+)"""
    rb"""|^\s*<\?xml[^>]{0,100}?encoding\s*=\s*["']([\w.:-]+)""",
    re.IGNORECASE,
)
# Guesses that differ from cp1252 in only a few letters; too few for a short page.
LATIN_GUESS = re.compile(r"read as (cp125[02478]|latin_1|iso8859_(1|2|9|10|14|15|16))\.$")
PAGE_LANGUAGE = re.compile(rb"""<html[^>]{0,300}?\slang\s*=\s*["']?([a-z]{2,3})""", re.IGNORECASE)
OTHER_LANGUAGES = re.compile("pl|cs|sk|hu|sl|hr|bs|sr|ro|sq|tr|az|lt|lv|et|vi|cy")
READ_AS_WESTERN = f"The page declares no encoding; it was read as {WESTERN}."
LINE_NUMBERS = re.compile(r"(?:^|\s)(?:linenos?|linenodiv|gutter)(?:\s|$)")
DOCTYPE = re.compile(r"<!DOCTYPE[^>\[]*(?:\[[^\]]*\]\s*)?>", re.IGNORECASE)
HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
TOO_DEEP = "The page nests its elements too deeply; what lies deeper was not read."


def decode_page(data: bytes, *, declared: Declared | None = None) -> tuple[str, tuple[str, ...]]:
    """Decode the page. An HTTP header takes precedence over a declaration in the page."""
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
    """Whether to read a page without a declared encoding as browsers do, ignoring the guess."""
    language = PAGE_LANGUAGE.search(data[:SNIFFED_BYTES])
    if not language or OTHER_LANGUAGES.fullmatch(language[1].decode("ascii").lower()):
        return False
    return bool(LATIN_GUESS.search(guess))


def page_encoding(head: bytes) -> Declared | None:
    match = DECLARED.search(head)
    name = encoding_named((match[1] or match[2]).decode("ascii")) if match else ""
    # If this was found, the page is not in a wide encoding, whatever it declares.
    return Declared(name) if name and not name.startswith(("utf-16", "utf-32")) else None


def parse_page(source: str) -> tuple[HtmlElement, tuple[str, ...]]:
    """Parse into a tree without comments; also return a warning if the parser left anything out."""
    parser = lxml_html.HTMLParser(
        encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=False, no_network=True
    )
    try:
        # The document type is not needed, and its entities would come out as text.
        plain = DOCTYPE.sub("", source, count=1)
        tree = lxml_html.document_fromstring(plain.encode(), parser=parser)
    except etree.ParserError as error:  # for example only comments
        raise NoText("The page holds no readable text.") from error
    except (etree.LxmlError, ValueError, RecursionError, AssertionError) as error:
        if getattr(error, "code", None) == etree.ErrorTypes.ERR_NO_MEMORY:
            raise MemoryError from error
        raise ParseError("The page could not be read as HTML.") from error
    is_cut = any("depth" in entry.message.lower() for entry in parser.error_log)
    return tree, (TOO_DEEP,) if is_cut else ()


def drop_hidden(tree: HtmlElement) -> None:
    """Remove hidden elements, unless they are most of the page: a script may show them later."""
    hidden = list(_hidden_elements(tree))
    unseen = sum(len(flat_text(element)) for element in hidden)
    if not hidden or len(flat_text(tree)) - unseen < max(SHORT_PAGE, unseen // MAX_HIDDEN_RATIO):
        return
    for element in hidden:
        remove(element)


def _hidden_elements(tree: HtmlElement) -> Iterator[HtmlElement]:
    walk = etree.iterwalk(tree, events=("start",))
    for _, element in walk:
        if element.tag in {"html", "body", "head"}:
            continue
        is_styled = HIDDEN_STYLE.search(element.get("style") or "")
        is_margin = LINE_NUMBERS.search(element.get("class") or "")
        if "hidden" in element.attrib or is_styled or is_margin:
            walk.skip_subtree()
            yield element
