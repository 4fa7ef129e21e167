"""XML as readable text: a line for each value with its path, a paragraph for each element."""

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from documents.errors import EmptyFile, NoText
from documents.extractors.archives import parse_xml
from documents.extractors.base import Extractor
from documents.extractors.cleaning import clean, declared_inside, decode
from documents.extractors.writer import TextWriter
from documents.passages import Extracted

PARAGRAPH_CHARACTERS = 700
MAX_PATH = 300
MAX_DEPTH = 200


class XmlExtractor(Extractor):
    def extract(self, data: bytes, *, name: str = "") -> Extracted:
        if not data.strip():
            raise EmptyFile("The file is empty: it has no bytes at all.")
        root = parse_xml(self._transcoded(data), name="The file")
        writer = TextWriter()
        for paragraph in _paragraphs(root):
            writer.add("text", paragraph)
        if not writer.blocks:
            raise NoText("The XML holds no text.")
        title = next((_inline(e) for e in root.iter() if _name(e) == "title"), "")
        return Extracted(text=writer.text, blocks=tuple(writer.blocks), title=title[:300])

    def _transcoded(self, data: bytes) -> bytes:
        """Parse by the declared encoding; without a valid declaration, decode the text first."""
        declared = self.declared or declared_inside(data)
        text = clean(decode(data, declared=declared)[0]).lstrip()
        if text.startswith("<?xml") and "?>" in text:
            text = text.partition("?>")[2]
        return text.encode()


def _paragraphs(root: "Element") -> Iterator[str]:
    lines: list[str] = []
    length = 0
    owner = ""
    for parent, line in _lines(root, _name(root), depth=0):
        if lines and (parent != owner or length + len(line) > PARAGRAPH_CHARACTERS):
            yield "\n".join(lines)
            lines, length = [], 0
        owner = parent
        lines.append(line)
        length += len(line) + 1
    yield "\n".join(lines)


def _lines(element: "Element", path: str, *, depth: int) -> Iterator[tuple[str, str]]:
    path = path if len(path) <= MAX_PATH else "…" + path[-MAX_PATH:]
    for name, value in element.attrib.items():
        if value.strip():
            yield path, f"{path}@{name.rpartition('}')[2]}: {' '.join(value.split())}"
    if depth == MAX_DEPTH or not len(element) or _is_mixed(element):
        if text := _inline(element):
            yield path.rpartition("/")[0], f"{path}: {text}"
        return
    for child in element:
        if isinstance(child.tag, str):
            yield from _lines(child, f"{path}/{_name(child)}", depth=depth + 1)


def _is_mixed(element: "Element") -> bool:
    """Whether the element is text with markup in it, which is read as one value."""
    return bool((element.text or "").strip()) or any((c.tail or "").strip() for c in element)


def _inline(element: "Element") -> str:
    return " ".join("".join(element.itertext()).split())


def _name(element: "Element") -> str:
    return str(element.tag).rpartition("}")[2]
