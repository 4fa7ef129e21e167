"""Jupyter notebooks: text cells as Markdown, code cells as code, printed results as text."""

import json
from typing import Any

from documents.errors import BadFile, NoText, ParseError
from documents.extractors.base import Extractor
from documents.extractors.cleaning import read_text
from documents.extractors.markup.markdown import MarkdownExtractor
from documents.extractors.writer import TextWriter, first_heading
from documents.passages import Extracted

MAX_OUTPUT = 2000  # characters of output per cell
MAX_CELLS = 10_000


class NotebookExtractor(Extractor):
    def extract(self, data: bytes, *, name: str = "") -> Extracted:
        text, warnings = read_text(data, declared=self.declared)
        try:
            notebook = json.loads(text)
            cells, language = _cells(notebook), _language(notebook)
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
            raise ParseError("The file is not a readable notebook.") from error
        writer = TextWriter()
        for number, cell in enumerate(cells[:MAX_CELLS], start=1):
            _write(writer, cell, language, {"cell": number})
        if not writer.blocks:
            raise NoText("The notebook's cells are empty.")
        return Extracted(
            text=writer.text,
            blocks=tuple(writer.blocks),
            title=first_heading(writer.blocks),
            metadata={"programming_language": language} if language else {},
            warnings=warnings,
        )


def _cells(notebook: Any) -> list[Any]:
    if "worksheets" in notebook:  # before version 4
        return [cell for sheet in notebook["worksheets"] for cell in sheet["cells"]]
    cells = notebook["cells"]
    if not isinstance(cells, list):
        raise TypeError("cells")
    return cells


def _language(notebook: Any) -> str:
    about = notebook.get("metadata", {})
    language = about.get("language_info", {}).get("name") or about.get("kernelspec", {}).get(
        "language"
    )
    return str(language or "")[:40]


def _write(writer: TextWriter, cell: Any, language: str, at: dict[str, Any]) -> None:
    if not isinstance(cell, dict):
        return
    source = _joined(cell.get("source", cell.get("input", "")))
    kind = cell.get("cell_type")
    if kind == "code":
        writer.add("code", source, language=language, attributes=at)
        for output in cell.get("outputs") or ():
            writer.add("text", _shown(output), attributes={**at, "output": True})
    elif kind == "heading":
        writer.add_heading(source, level=int(cell.get("level") or 1), attributes=at)
    else:
        _write_markdown(writer, source, at)


def _write_markdown(writer: TextWriter, source: str, at: dict[str, Any]) -> None:
    if not source.strip():
        return
    try:
        read = MarkdownExtractor().extract(source.encode(errors="replace"))
    except BadFile:
        return
    for block in read.blocks:
        writer.add(
            block.kind,
            read.text[block.start : block.end],
            level=block.level,
            title=block.title,
            language=block.language,
            attributes=at,
        )


def _shown(output: Any) -> str:
    """Return what a cell printed, without pictures and errors."""
    if not isinstance(output, dict):
        return ""
    data = output.get("data")
    plain = data.get("text/plain") if isinstance(data, dict) else None
    return _joined(plain if plain is not None else output.get("text", ""))[:MAX_OUTPUT]


def _joined(source: Any) -> str:
    return "".join(map(str, source)) if isinstance(source, list) else str(source or "")
