"""EPUB books: their chapters in reading order, each an XHTML page."""

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html.entities import html5
from typing import Any, BinaryIO
from urllib.parse import unquote
from xml.etree.ElementTree import Element
from zipfile import ZipFile

from lxml import etree

from documents.errors import EmptyFile, Encrypted, NoText, ParseError, XmlForbidden
from documents.extractors.archives import (
    MEGABYTE,
    check_zip,
    parse_xml,
    read_member,
)
from documents.extractors.base import FileExtractor
from documents.extractors.cleaning import clean
from documents.extractors.html.blocks import (
    HEADINGS,
    BlockWriter,
    mark_headings,
    tag_of,
    write_tree,
)
from documents.extractors.html.page_source import DOCTYPE, decode_page, parse_page
from documents.passages import Extracted

CONTAINER = "META-INF/container.xml"
ENCRYPTION = "META-INF/encryption.xml"
SMALL_FILE = 10 * MEGABYTE  # for the container, the package and the table of contents
MAX_CHAPTER_BYTES = 30 * MEGABYTE
MAX_FIELD_CHARACTERS = 1000
PAGES = frozenset({"application/xhtml+xml", "text/html", "text/x-oeb1-document"})

ENTITY_DECLARATION = re.compile(r"<!ENTITY", re.IGNORECASE)
DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")
NAMED_ENTITY = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);)([A-Za-z][A-Za-z0-9]*;)")


@dataclass(frozen=True, slots=True)
class Chapter:
    member: str  # its path in the archive
    title: str = ""  # from the table of contents


class EpubExtractor(FileExtractor):
    def extract_file(self, file: BinaryIO, *, name: str = "") -> Extracted:
        archive = check_zip(file)
        package_path = _package_path(archive)
        package = parse_xml(read_member(archive, package_path, SMALL_FILE), name=package_path)
        writer = BlockWriter()
        warnings = list(_write_chapters(archive, package, package_path, writer))
        if not writer.blocks:
            raise NoText("The book holds no readable text.")
        title, metadata = _facts(package)
        return Extracted(
            text=writer.text,
            blocks=tuple(writer.blocks),
            title=title,
            metadata=metadata,
            warnings=tuple(warnings),
        )


def _package_path(archive: ZipFile) -> str:
    container = parse_xml(read_member(archive, CONTAINER, SMALL_FILE), name=CONTAINER)
    for rootfile in _all(container, "rootfile"):
        if path := _inside("", rootfile.get("full-path", "")):
            return path
    raise ParseError("The book's container names no package.")


def _all(root: "Element", name: str) -> "Iterator[Element]":
    """Find elements by local name, because some books use the wrong namespaces."""
    return (e for e in root.iter() if isinstance(e.tag, str) and e.tag.rpartition("}")[2] == name)


def _inside(base: str, reference: str) -> str:
    """Resolve a reference to a path in the archive, which is never used as a path on disk."""
    path = unquote(reference.partition("#")[0])
    return posixpath.normpath(posixpath.join(posixpath.dirname(base), path)) if path else ""


def _facts(package: "Element") -> tuple[str, dict[str, Any]]:
    def texts_of(name: str) -> list[str]:
        texts = (" ".join(clean("".join(e.itertext())).split()) for e in _all(package, name))
        return [text[:MAX_FIELD_CHARACTERS] for text in texts if text]

    facts = {
        "author": ", ".join(texts_of("creator"))[:MAX_FIELD_CHARACTERS],
        "language": next(iter(texts_of("language")), ""),
        "date": next(iter(texts_of("date")), ""),
        "publisher": next(iter(texts_of("publisher")), ""),
        "identifier": next(iter(texts_of("identifier")), ""),
        "description": next(iter(texts_of("description")), ""),
    }
    return next(iter(texts_of("title")), ""), {key: value for key, value in facts.items() if value}


def _write_chapters(
    archive: ZipFile, package: "Element", package_path: str, writer: "BlockWriter"
) -> Iterator[str]:
    """Write each chapter, and yield a warning for each that was left out."""
    members = set(archive.namelist())
    locked = _encrypted_members(archive)
    chapters = list(_chapters(archive, package, package_path))
    if chapters and all(chapter.member in locked for chapter in chapters):
        raise Encrypted("The book's chapters are encrypted.")
    for chapter in chapters:
        if chapter.member not in members or chapter.member in locked:
            yield f"The chapter {chapter.member[:200]!r} is missing or encrypted."
            continue
        try:
            body = _parse_chapter(read_member(archive, chapter.member, MAX_CHAPTER_BYTES))
        except ParseError:
            yield f"The chapter {chapter.member[:200]!r} could not be read."
            continue
        except (EmptyFile, NoText):  # a cover that is a single picture
            continue
        mark_headings(body)
        writer.attributes = {"file": clean(chapter.member)}
        if chapter.title and not _has_heading(body):
            writer.add_heading(chapter.title, level=1)
        write_tree(body, writer)


def _encrypted_members(archive: ZipFile) -> frozenset[str]:
    """Return the encrypted members, which are listed in one file together with scrambled fonts."""
    if ENCRYPTION not in archive.namelist():
        return frozenset()
    listed = parse_xml(read_member(archive, ENCRYPTION, SMALL_FILE), name=ENCRYPTION)
    uris = (e.get("URI", "") for e in _all(listed, "CipherReference"))
    return frozenset(_inside("", uri) for uri in uris)


def _chapters(archive: ZipFile, package: "Element", package_path: str) -> Iterator[Chapter]:
    items = {item.get("id", ""): item for item in _all(package, "item")}
    titles = _contents(archive, items, package_path)
    seen: set[str] = set()
    for reference in _all(package, "itemref"):
        item = items.get(reference.get("idref", ""))
        if item is None or item.get("media-type", "").lower() not in PAGES:
            continue
        member = _inside(package_path, item.get("href", ""))
        if not member or member in seen or "nav" in item.get("properties", "").split():
            continue  # otherwise a bomb could list one page many times
        seen.add(member)
        yield Chapter(member, titles.get(member, ""))


def _contents(archive: ZipFile, items: "dict[str, Element]", package_path: str) -> dict[str, str]:
    """Return the chapters' names in an EPUB 2 or 3 table of contents; the first name counts."""
    titles: dict[str, str] = {}
    for item in items.values():
        is_nav = "nav" in item.get("properties", "").split()
        if not is_nav and item.get("media-type") != "application/x-dtbncx+xml":
            continue
        path = _inside(package_path, item.get("href", ""))
        try:
            root = parse_xml(read_member(archive, path, SMALL_FILE), name=path)
        except ParseError:
            continue  # chapters can be read without it
        entries = _nav_entries(root) if is_nav else _ncx_entries(root)
        for reference, words in entries:
            title = " ".join(clean(words).split())
            if title:
                titles.setdefault(_inside(path, reference), title)
    return titles


def _nav_entries(root: "Element") -> Iterator[tuple[str, str]]:
    return ((link.get("href", ""), "".join(link.itertext())) for link in _all(root, "a"))


def _ncx_entries(root: "Element") -> Iterator[tuple[str, str]]:
    for point in _all(root, "navPoint"):
        label = next(_all(point, "text"), None)
        target = next(_all(point, "content"), None)
        if label is not None and target is not None:
            yield target.get("src", ""), label.text or ""


def _has_heading(body: Any) -> bool:
    return any(tag_of(element) in HEADINGS for element in body.iter())


def _parse_chapter(content: bytes) -> Any:
    """Return the chapter's body, parsed as XML, or as HTML if it is not well-formed."""
    source, _ = decode_page(content)
    if ENTITY_DECLARATION.search(source):
        raise XmlForbidden("A chapter declares XML entities; they are not read.")
    plain = NAMED_ENTITY.sub(_character, DOCTYPE.sub("", DECLARATION.sub("", source), count=1))
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        root = etree.fromstring(plain.strip().encode(), parser=parser)
    except (etree.LxmlError, ValueError):
        root, _ = parse_page(source)
    return next((e for e in root.iter("{*}body")), root)


def _character(entity: re.Match[str]) -> str:
    return html5.get(entity[1], entity[0])
