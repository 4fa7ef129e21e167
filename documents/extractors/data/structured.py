"""JSON and JSON Lines as readable text: a line for each value, a paragraph for each record."""

import json
from collections.abc import Iterator
from typing import Any

from documents.errors import NoText, ParseError
from documents.extractors.base import Extractor
from documents.extractors.cleaning import read_text
from documents.extractors.data.tables import reading
from documents.extractors.writer import TextWriter
from documents.passages import Extracted

MAX_DEPTH = 40  # levels written as paths; deeper ones stay JSON
MAX_PATH_CHARACTERS = 300  # because each line repeats its path
PARAGRAPH_CHARACTERS = 700
WORDS = {None: "null", True: "true", False: "false"}


class JsonExtractor(Extractor):
    def extract(self, data: bytes, *, name: str = "") -> Extracted:
        text, warnings = read_text(data, declared=self.declared)
        writer = TextWriter()
        with reading("JSON"):
            for record, value in _values(text, by_line=_has_lines(name)):
                attributes = {"record": record} if record else {}
                for paragraph in _paragraphs(value):
                    writer.add("text", paragraph, attributes=attributes)
        if not writer.blocks:
            raise NoText("The JSON holds no values.")
        return Extracted(text=writer.text, blocks=tuple(writer.blocks), warnings=warnings)


def _has_lines(name: str) -> bool:
    return name.lower().endswith((".jsonl", ".ndjson"))


def _values(text: str, *, by_line: bool) -> Iterator[tuple[int, Any]]:
    """Yield records with numbers from 1; a document that is not a list of records has number 0."""
    if not by_line:
        try:
            whole = _loads(text)
        except json.JSONDecodeError as error:
            # A second value after the first: JSON Lines in a file named JSON.
            if error.msg != "Extra data" or "\n" not in text.strip():
                raise _malformed(error, error.lineno) from error
        else:
            records = isinstance(whole, list) and any(isinstance(one, dict) for one in whole)
            yield from enumerate(whole, start=1) if records else [(0, whole)]
            return
    record = 0
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            record += 1
            try:
                yield record, _loads(line)
            except json.JSONDecodeError as error:
                raise _malformed(error, number) from error


def _loads(text: str) -> Any:
    """Parse JSON, keeping numbers as written: none is too long, none is rounded."""
    return json.loads(text, parse_int=str, parse_float=str, parse_constant=str)


def _malformed(error: json.JSONDecodeError, line: int) -> ParseError:
    return ParseError(f"The JSON is malformed in line {line}, column {error.colno}: {error.msg}.")


def _paragraphs(value: Any) -> Iterator[str]:
    """Group lines of the same object into paragraphs."""
    lines: list[str] = []
    length = 0
    group = ""
    for owner, line in _lines(value, path="", owner="", depth=0):
        if lines and (owner != group or length + len(line) > PARAGRAPH_CHARACTERS):
            yield "\n".join(lines)
            lines, length = [], 0
        group = owner
        lines.append(line)
        length += len(line) + 1
    yield "\n".join(lines)


def _lines(value: Any, *, path: str, owner: str, depth: int) -> Iterator[tuple[str, str]]:
    """Yield each value as "path: value", with the path of the list element it belongs to."""
    if not isinstance(value, dict | list) or depth == MAX_DEPTH:
        if shown := _shown(value):
            yield owner, f"{path}: {shown}" if path else shown
    elif isinstance(value, dict):
        for key, item in value.items():
            inner = _clipped(f"{path}.{_key(key)}" if path else _key(key))
            yield from _lines(item, path=inner, owner=owner, depth=depth + 1)
    elif any(isinstance(item, dict | list) for item in value):
        for index, item in enumerate(value):
            inner = _clipped(f"{path}[{index}]")
            yield from _lines(item, path=inner, owner=inner, depth=depth + 1)
    elif not path:  # a plain list: each value on its own line
        for item in value:
            if shown := _shown(item):
                yield owner, shown
    elif value:
        yield owner, f"{path}: {', '.join(map(_shown, value))}"


def _key(key: str) -> str:
    return " ".join(key.split())


def _clipped(path: str) -> str:
    return path if len(path) <= MAX_PATH_CHARACTERS else "…" + path[-MAX_PATH_CHARACTERS:]


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return value.strip()
    if value is None or isinstance(value, bool):
        return WORDS[value]
    return json.dumps(value, ensure_ascii=False)
