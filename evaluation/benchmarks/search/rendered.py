"""Compare retrieval from PDFs with that from plain text: `make bench-rendered DATA=FOLDER`.

Every article of a test collection is uploaded twice by POST /ingest: as a text file, and as a PDF
in one of several layouts. Both are searched with the same questions.
"""

import argparse
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evaluation.benchmarks.data.beir import Article, BeirCollection
from evaluation.benchmarks.data.rendering import LAYOUTS, Layout, as_pdf
from evaluation.benchmarks.search.quality import MEASURES, interval, judge
from evaluation.benchmarks.service import stage
from evaluation.benchmarks.service.client import Service, open_service, say

BATCH = 50
MAX_LOSS = 0.01  # fraction of nDCG@10 that PDFs may lose
PACKAGES = ("Django", "pypdfium2", "pypdf", "reportlab", "ir-measures")


def as_text(article: Article) -> bytes:
    return f"{article.title}\n\n{article.text}".strip().encode()


def take_in(
    service: Service, collection: BeirCollection, suffix: str, layouts: Sequence[Layout] = ()
) -> None:
    """Upload articles as text files, or as PDFs in these layouts in turn."""
    from django.core.files.uploadedfile import SimpleUploadedFile

    from documents.ingestion import terms

    numbered = list(enumerate(collection.articles))
    for start in range(0, len(numbered), BATCH):
        files = [
            SimpleUploadedFile(
                f"{article.name}.{suffix}",
                as_pdf(article, layouts[number % len(layouts)]) if layouts else as_text(article),
            )
            for number, article in numbered[start : start + BATCH]
        ]
        answer = service.client.post(
            "/api/v1/ingest",
            {"file": files, "on_duplicate": "keep"},
            headers={"Authorization": f"Bearer {service.key}"},
        )
        if answer.status_code >= 300:
            raise SystemExit(f"{answer.status_code} {answer.content[:500]!r}")
        stage.work()
    terms.count(service.namespace_id, service.profile)


def found_by(service: Service, collection: BeirCollection, suffix: str) -> Any:
    run = service.ask(collection, {})
    ending = f".{suffix}"
    return judge(
        collection,
        {
            query: [uri.removeprefix("upload:").removesuffix(ending) for uri in uris]
            for query, uris in run.items()
        },
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--data", type=Path, required=True, help="Folder with the test collections."
    )
    parser.add_argument("--sets", nargs="+", default=["cisi", "cacm"])
    parser.add_argument(
        "--layouts",
        nargs="+",
        type=int,
        choices=range(len(LAYOUTS)),
        default=list(range(len(LAYOUTS))),
        help="By their numbers in rendering.py (default: all, in turns).",
    )
    parser.add_argument("--home", type=Path, help="Keep the database here for the next run.")
    options = parser.parse_args(arguments)
    os.environ |= {
        "CACHE_RESULTS_SECONDS": "0",
        "RAGSITE_PG_FSYNC": "off",
        "EMBEDDING_THREADS": "1",
    }
    stage.set_up(options.home)
    from django.conf import settings

    logging.getLogger("bm25s").setLevel(logging.WARNING)
    embedders: dict[str, Any] = settings.EMBEDDERS
    embedders["default"]["BACKEND"] = "evaluation.benchmarks.data.vectors.KeptEmbedder"
    say(stage.machine(PACKAGES))
    layouts = [LAYOUTS[number] for number in options.layouts]
    say(f"PDFs in layouts {options.layouts} in turn\n")
    say("| | " + " | ".join(f"{measure}, text → PDF" for measure in MEASURES) + " | ratio |")
    say("|---|" + "--:|" * (len(MEASURES) + 1))
    kept = True
    for name in options.sets:
        collection = BeirCollection(options.data / name)
        scores = {}
        for suffix, wanted in (("txt", []), ("pdf", layouts)):
            service = open_service(f"{name}-{suffix}")
            take_in(service, collection, suffix, wanted)
            scores[suffix] = found_by(service, collection, suffix)
        first = str(MEASURES[0])
        low, high = interval(scores["pdf"][first], scores["txt"][first])
        means = {suffix: scores[suffix][first].mean() for suffix in scores}
        pairs = " | ".join(
            f"{scores['txt'][str(m)].mean():.4f} → {scores['pdf'][str(m)].mean():.4f}"
            for m in MEASURES
        )
        ratio = means["pdf"] / means["txt"]
        say(f"| {name} | {pairs} | {ratio:.3f}, difference 95 % [{low:+.4f}, {high:+.4f}] |")
        kept = kept and ratio >= 1 - MAX_LOSS
    say(f"\n{'yes' if kept else 'NO'}: PDFs lose at most {MAX_LOSS:.0%} of nDCG@10")
    return 0 if kept else 1


if __name__ == "__main__":
    raise SystemExit(main())
