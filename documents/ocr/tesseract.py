"""Tesseract, if installed: runs the program and reads its table of words."""

import csv
import io
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from documents.extractors.cleaning import clean
from documents.extractors.limits import die_with_parent
from documents.extractors.lines import Line, boxed, tidy
from documents.ocr.base import OcrEngine, OcrUnavailable

if TYPE_CHECKING:
    from PIL.Image import Image

LINE = ("block_num", "par_num", "line_num")
MAX_MESSAGE_CHARACTERS = 200


class Tesseract(OcrEngine):
    name = "tesseract"
    runs_programs = True

    def __init__(
        self,
        *,
        command: str = "tesseract",
        languages: str = "eng",
        page_mode: int = 1,  # finds columns and orientation itself
        data_folder: str = "",
    ) -> None:
        path = shutil.which(command)
        if not path:
            raise OcrUnavailable(f"OCR is set to Tesseract, but there is no program {command!r}.")
        folder = ("--tessdata-dir", data_folder) if data_folder else ()
        self.command = (path, "stdin", "stdout", "-l", languages, *folder)
        self.page_mode = page_mode

    def read(self, picture: "Image") -> list[Line]:
        buffer = io.BytesIO()
        picture.save(buffer, "PNG", compress_level=1)
        process = subprocess.run(  # noqa: S603
            [*self.command, "--psm", str(self.page_mode), "tsv"],
            input=buffer.getvalue(),
            capture_output=True,
            check=False,
            env={**os.environ, "OMP_THREAD_LIMIT": "1"},
            preexec_fn=die_with_parent,
        )
        if process.returncode:
            message = process.stderr.decode(errors="replace").strip()[-MAX_MESSAGE_CHARACTERS:]
            raise OcrUnavailable(f"Tesseract ended with {process.returncode}: {message}")
        return list(lines_of(process.stdout.decode(errors="replace"), picture.size))


def lines_of(table: str, size: tuple[int, int]) -> Iterator[Line]:
    """Yield lines from a table with one word per row, in Tesseract's reading order."""
    rows = csv.DictReader(io.StringIO(table), delimiter="\t", quoting=csv.QUOTE_NONE)
    words = (row for row in rows if (row.get("text") or "").strip())
    for _, group in groupby(words, key=lambda row: [row[name] for name in LINE]):
        if line := _line(list(group), size):
            yield line


def _line(words: Sequence[dict[str, str]], size: tuple[int, int]) -> Line | None:
    text = tidy(clean(" ".join(word["text"] for word in words)))
    if not text:
        return None
    width, height = size
    left = min(float(word["left"]) for word in words)
    top = min(float(word["top"]) for word in words)
    right = max(float(word["left"]) + float(word["width"]) for word in words)
    bottom = max(float(word["top"]) + float(word["height"]) for word in words)
    characters = sum(len(word["text"]) for word in words)
    confidence = (
        sum(max(0.0, float(word["conf"])) * len(word["text"]) for word in words) / characters
    )
    box = (left / width, top / height, right / width, bottom / height)
    line = boxed(text, left, right, -bottom, -top)
    return line._replace(box=box, confidence=min(1.0, confidence / 100))
