"""Measure speed and memory of ingestion as ratios in one run: `make bench-ingest [SMALL=10000]`.

On generated data, with vectors by hashing, so that no model's time counts: reading relative to the
bare parsing libraries, memory relative to the size of the file, and whether a folder of many small
files becomes slower over time.
"""

import argparse
import gc
import io
import resource
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from evaluation.benchmarks.data import samples
from evaluation.benchmarks.service import stage

PAGES = 200
ROUNDS = 7
TARGET = 0.70


def say(line: str = "") -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and its children, which exclude other load."""
    own, children = (resource.getrusage(who) for who in (0, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def compare(ways: dict[str, Callable[[], object]], rounds: int = ROUNDS) -> dict[str, float]:
    """Return the median CPU seconds of each function, measured in turns."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            started = cpu_seconds()
            way()
            times[name].append(cpu_seconds() - started)
    return {name: statistics.median(taken) for name, taken in times.items()}


def bare_pdfium(data: bytes) -> list[str]:
    import pypdfium2

    texts = []
    with pypdfium2.PdfDocument(data) as document:
        for page in document:
            textpage = page.get_textpage()
            texts.append(textpage.get_text_range())
            textpage.close()
            page.close()
    return texts


def bare_pypdf(data: bytes) -> list[str]:
    from pypdf import PdfReader

    return [page.extract_text() for page in PdfReader(io.BytesIO(data)).pages]


def bare_markdown(texts: Sequence[str]) -> None:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    for text in texts:
        parser.parse(text)


def reading_a_pdf() -> bool:
    from documents.extractors.pdf.extractor import PdfExtractor

    data = samples.pdf(pages=PAGES)
    extractor = PdfExtractor()
    gc.freeze()  # as in the sandbox worker, so that garbage collection ignores Django
    times = compare(
        {
            "PDFium": lambda: bare_pdfium(data),
            "reader": lambda: extractor.extract(data),
        }
    )
    times |= compare({"pypdf": lambda: bare_pypdf(data)}, rounds=1)
    whole = pipeline([(f"{PAGES}.pdf", data)])
    return table(f"a PDF of {PAGES} pages", times, whole)


def reading_markdown(count: int) -> bool:
    from documents.extractors.markup.markdown import MarkdownExtractor

    texts = [samples.markdown(number) for number in range(count)]
    files = [text.encode() for text in texts]
    extractor = MarkdownExtractor()
    times = compare(
        {
            "markdown-it-py": lambda: bare_markdown(texts),
            "reader": lambda: [extractor.extract(data) for data in files],
        }
    )
    whole = pipeline([(f"{number}.md", data) for number, data in enumerate(files)])
    return table(f"{count:,} Markdown files", times, whole)


def pipeline(files: Sequence[tuple[str, bytes]]) -> dict[str, float]:
    """Return the CPU seconds of the intake, and from there to ready."""
    namespace_id = stage.new_namespace().pk
    started = cpu_seconds()
    for name, data in files:
        take(namespace_id, name, data)
    taken = cpu_seconds() - started
    stage.work()
    whole = cpu_seconds() - started
    return {"intake": taken, "intake to ready": whole}


def take(namespace_id: uuid.UUID, name: str, data: bytes) -> Any:
    from django.core.files.base import ContentFile

    from documents.intake import intake

    return intake.accept(namespace_id, intake.Submission(ContentFile(data), file_name=name))


def table(what: str, times: dict[str, float], whole: dict[str, float]) -> bool:
    ours = times["reader"]
    bare = next(iter(times.values()))
    say(f"\n{what}: CPU seconds\n")
    say("| | seconds | speed of our reader against it |\n|---|--:|--:|")
    for name, seconds in times.items():
        say(f"| {name} | {seconds:.3f} | {seconds / ours:.0%} |")
    for name, seconds in whole.items():
        say(f"| {name} (this process, without sandbox and database) | {seconds:.3f} | |")
    return bare / ours >= TARGET


def memory() -> bool:
    """Measure the memory of the reader and of this process for files of 5 and of 45 MB."""
    from documents.ingestion.extraction import shared_sandbox_worker
    from documents.intake.media_types import BY_SUFFIX

    say("\nmemory: the same text in a small and in a large file\n")
    say("| file | read in (peak) | worker (peak) |\n|---|--:|--:|")
    grown = []
    for suffix, make in ((".pdf", samples.pdf), (".docx", samples.docx), (".pptx", samples.pptx)):
        peaks = []
        for size in (5, 45):
            with tempfile.TemporaryFile() as file:
                file.write(make(ballast=size * stage.MEGABYTE))
                file.seek(0)
                gc.collect()  # memory used to generate the file
                stage.reset_peak()
                shared_sandbox_worker().extract(
                    file, media_type=BY_SUFFIX[suffix], name=f"a{suffix}"
                )
            peaks.append(shared_sandbox_worker().peak_bytes)
            read, worker = (n / stage.MEGABYTE for n in (peaks[-1], stage.peak_bytes()))
            say(f"| {suffix} of {size} MB | {read:.0f} MB | {worker:.0f} MB |")
        grown.append(peaks[1] - peaks[0])
    return max(grown) < 5 * stage.MEGABYTE


def many_small_files(count: int) -> bool:
    """Measure wall time, including the database, and compare the first and the last tenth."""
    namespace_id = stage.new_namespace().pk
    text = samples.prose(600)
    part = count // 10
    started = time.perf_counter()
    for number in range(count):
        take(namespace_id, f"{number}.md", f"# Note {number}\n\n{text} {number}\n".encode())
    taken = time.perf_counter() - started
    say(f"\na folder of {count:,} small files: taken at {count / taken:.0f} documents a second;")
    say("indexed, tenth by tenth, documents a second (and CPU milliseconds of each here):")
    moments = [(time.perf_counter(), cpu_seconds())]
    rates: list[float] = []

    def each() -> None:
        moments.append((time.perf_counter(), cpu_seconds()))
        if len(moments) % part == 1:
            (began, used), (now, used_now) = moments[-part - 1], moments[-1]
            rates.append(part / (now - began))
            say(f"{rates[-1]:.1f} ({1000 * (used_now - used) / part:.0f} ms)")

    stage.work(each)
    return min(rates[-1], rates[-2]) >= TARGET * min(rates[0], rates[1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", type=int, default=10_000, help="Files in the folder.")
    parser.add_argument("--notes", type=int, default=1000, help="Markdown files to compare.")
    options = parser.parse_args()
    stage.set_up()
    say(stage.machine())
    results = {
        f"a PDF at {TARGET:.0%} of bare PDFium": reading_a_pdf(),
        f"Markdown at {TARGET:.0%} of bare markdown-it-py": reading_markdown(options.notes),
        "memory does not grow with the file": memory(),
        "many files do not slow it down": many_small_files(options.small),
    }
    say()
    for name, reached in results.items():
        say(f"{'yes' if reached else 'NO'}: {name}")
    return 0 if all(results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
