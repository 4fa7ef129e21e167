"""Read mutated files of every format in the sandbox worker: `make fuzz [SECONDS=60]`.

Each must come out as a text with exact spans or with a stable code, in time, and the sandbox
worker must stay alive.
"""

import argparse
import io
import random
import sys
import tempfile
import time
import zipfile
from collections import Counter
from contextlib import suppress
from pathlib import Path, PurePosixPath

from documents.extractors.archives import DAMAGE
from documents.passages import Extracted
from evaluation.benchmarks.data import samples
from evaluation.benchmarks.service import blind_ocr, stage

CRASH = "The file crashed its reader"  # has a code, but is worth a look
WALL_SECONDS = 20.0
LIMITS = {
    "memory_bytes": 1024 * stage.MEGABYTE,
    "output_bytes": 100 * stage.MEGABYTE,
    "cpu_seconds": 15,
    "wall_seconds": WALL_SECONDS,
}
# Loading a real engine takes two seconds per file, too long for thousands.
OCR = {
    "BACKEND": blind_ocr.BACKEND,
    "memory_bytes": LIMITS["memory_bytes"],
    "cpu_seconds": LIMITS["cpu_seconds"],
    "wall_seconds": 4.0,
    "max_pages": 20,
}
SPLICES = (
    b"\x00", b"\xff\xfe", b"<", b">", b"&", b"]]>", b"<!ENTITY x 'y'>", b"<!DOCTYPE x [", b"\r",
    b'"', b"'", b"%", b"9999999999", b"-1", b"0", b"endobj", b"stream", b"\n\n", b"[" * 200,
    b"{" * 200, b"(" * 200, b"<div>" * 300, b"> " * 300, b"\xed\xa0\x80", b"\xf0\x9f\x98\x80",
    "\u202e\u2028\ufffe".encode(), b"=?utf-8?b?////?=", b"--x\r\n", b"| " * 200, b"\t;\t", b"NaN",
)  # fmt: skip


class Mutator:
    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)  # noqa: S311

    def mutated(self, data: bytes) -> bytes:
        """Mutate a file, sometimes inside an archive's members, which a broken zip would hide."""
        if data[:2] == b"PK" and self.chance.random() < 0.8:
            with suppress(*DAMAGE, RuntimeError):  # a mutant of a mutant may no longer be a zip
                return self._member(data)
        return self._bytes(data)

    def _bytes(self, data: bytes) -> bytes:
        out = bytearray(data)
        for _ in range(self.chance.choice((1, 1, 2, 4, 16))):
            at = self.chance.randrange(len(out) + 1)
            reach = self.chance.choice((1, 2, 8, 64, 1024))
            match self.chance.randrange(6):
                case 0:
                    out[at : at + 1] = self.chance.randbytes(1)
                case 1:
                    out[at:at] = self.chance.choice(SPLICES)
                case 2:
                    del out[at : at + reach]
                case 3:
                    out[at:at] = out[at : at + reach] * self.chance.choice((1, 3, 50))
                case 4:
                    out[at : at + reach] = self.chance.choice(SPLICES)
                case 5:
                    other = self.chance.randrange(len(out) + 1)
                    out[at:at] = out[other : other + reach]
        if self.chance.random() < 0.05:
            del out[self.chance.randrange(len(out) + 1) :]
        return bytes(out)

    def _member(self, data: bytes) -> bytes:
        out = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
            chosen = self.chance.choice(old.namelist())
            for name in old.namelist():
                content = old.read(name)
                new.writestr(name, self._bytes(content) if name == chosen else content)
        return out.getvalue()


class Fuzzer:
    def __init__(self, seed: int, keep: Path) -> None:
        from documents.ingestion.extraction import SandboxWorker

        self.worker = SandboxWorker(**LIMITS)  # type: ignore[arg-type]
        self.mutator = Mutator(seed)
        self.keep = keep
        self.complaints: list[str] = []

    def run(self, name: str, seed: bytes, *, seconds: float) -> Counter[str]:
        ends: Counter[str] = Counter()
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            data = self.mutator.mutated(seed)
            if self.mutator.chance.random() < 0.3:
                data = self.mutator.mutated(data)
            end, complaint = self.read(name, data)
            ends[end] += 1
            if complaint:
                self._complain(name, data, complaint)
        return ends

    def read(self, name: str, data: bytes) -> tuple[str, str]:
        """Read a file; return the outcome, and the defect if there is one."""
        from documents.ingestion.extraction import SandboxWorkerFailed, Unreadable
        from documents.intake.media_types import BY_SUFFIX

        started = time.monotonic()
        try:
            with tempfile.TemporaryFile() as file:
                file.write(data)
                file.seek(0)
                media_type = BY_SUFFIX[PurePosixPath(name).suffix]
                extracted = self.worker.extract(file, media_type=media_type, name=name, ocr=OCR)
        except Unreadable as error:
            return error.code, self._about_refusal(error, time.monotonic() - started)
        except SandboxWorkerFailed:
            return "broken", "the sandbox worker died"
        return "ready", about_text(extracted)

    def _about_refusal(self, error: Exception, seconds: float) -> str:
        code = getattr(error, "code", "")
        if code not in stage.READING_CODES:
            return f"unknown code {code!r}"
        if str(error).startswith(CRASH):
            return "the reader crashed"
        return f"took {seconds:.0f} s" if seconds > WALL_SECONDS + 5 else ""

    def _complain(self, name: str, data: bytes, complaint: str) -> None:
        self.complaints.append(f"{name}: {complaint}")
        self.keep.mkdir(parents=True, exist_ok=True)
        number = len(self.complaints)
        (self.keep / f"{number}{PurePosixPath(name).suffix}").write_bytes(data)
        sys.stdout.write(f"{self.keep}/{number}: {self.complaints[-1]}\n")
        sys.stdout.flush()


def about_text(extracted: Extracted) -> str:
    """Return what is wrong with an extracted text; "" if nothing."""
    text = extracted.text
    if not text.strip():
        return "ready without a text"
    if "\x00" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        return "a character that no database takes"
    end = 0
    for block in extracted.blocks:
        if not end <= block.start < block.end <= len(text):
            return f"block {block.start}-{block.end} after {end} in {len(text)}"
        if not text[block.start : block.end].strip():
            return f"blank block at {block.start}"
        end = block.end
    pages = [(page.start, page.end) for page in extracted.pages]
    if any(not 0 <= start <= end <= len(text) for start, end in pages) or pages != sorted(pages):
        return "pages out of order"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="For each format.")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--only", default="", help="Suffixes, comma-separated: pdf,html")
    parser.add_argument(
        "--keep", type=Path, default=Path("var/fuzz"), help="Folder for files that reveal defects."
    )
    options = parser.parse_args()
    stage.set_up_settings()
    fuzzer = Fuzzer(options.seed, options.keep)
    only = set(filter(None, options.only.split(",")))
    total = 0
    for name, sample in samples.by_name().items():
        if only and name[2:] not in only:
            continue
        ends = fuzzer.run(name, sample, seconds=options.seconds)
        total += ends.total()
        shown = ", ".join(f"{count} {end}" for end, count in ends.most_common())
        sys.stdout.write(f"{name[2:]:>6}: {ends.total():>6} files: {shown}\n")
        sys.stdout.flush()
    wrong = len(fuzzer.complaints)
    sys.stdout.write(f"{total} files, {wrong} wrong (seed {options.seed})\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
