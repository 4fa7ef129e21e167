"""A folder of files in a separate service: uploaded by POST /ingest, indexed by the pipeline."""

import argparse
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evaluation.benchmarks.service import stage
from evaluation.benchmarks.service.client import Service, describe, open_service, say

PACKAGES = ("Django", "pgvector", "sentence-transformers", "pypdfium2", "pypdf")


def arguments_for(description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--data", type=Path, required=True, help="The folder; see docs.")
    parser.add_argument("--home", type=Path, help="Keep the database here for the next run.")
    return parser


def set_up(home: Path | None) -> Any:
    """Set up the service with a separate database; the embedder keeps vectors between runs."""
    os.environ |= {
        "CACHE_RESULTS_SECONDS": "0",
        "RAGSITE_PG_FSYNC": "off",
        "EMBEDDING_THREADS": "1",
    }
    stage.set_up(home)
    from django.conf import settings

    from evaluation.benchmarks.data.vectors import KeptEmbedder

    embedders: dict[str, Any] = settings.EMBEDDERS
    embedders["default"]["BACKEND"] = "evaluation.benchmarks.data.vectors.KeptEmbedder"
    say(stage.machine(PACKAGES))
    return KeptEmbedder(threads=1).model


def open_with(name: str, paths: Sequence[Path]) -> Service:
    """Return a namespace with these files, searchable; files from an earlier run are kept."""
    from django.core.files.uploadedfile import SimpleUploadedFile

    from documents.ingestion import terms
    from documents.jobs import queue
    from documents.jobs.drain import run_until_done
    from documents.models import IngestJob
    from ragsite.database.tenancy import namespace

    service = open_service(name)
    queue.requeue_stalled()
    started = time.monotonic()
    for path in paths:
        answer = service.client.post(
            "/api/v1/ingest",
            {"file": SimpleUploadedFile(path.name, path.read_bytes()), "on_duplicate": "keep"},
            headers={"Authorization": f"Bearer {service.key}"},
        )
        if answer.status_code >= 300:
            raise SystemExit(f"{path.name}: {answer.status_code} {answer.content[:500]!r}")
    with namespace(service.namespace_id):
        job_ids = queue.still_open(
            service.namespace_id, list(IngestJob.objects.values_list("pk", flat=True))
        )
    run_until_done(service.namespace_id, job_ids)
    terms.count(service.namespace_id, service.profile)
    say(f"{len(job_ids)} files indexed in {time.monotonic() - started:.0f} s; {describe(service)}")
    for line in unread(service):
        say(line)
    return service


def unread(service: Service) -> list[str]:
    """List documents that cannot be searched, and why, because the figures are then incomplete."""
    from documents.models import Document
    from ragsite.database.tenancy import namespace

    with namespace(service.namespace_id):
        documents = list(Document.objects.exclude(status=Document.Status.READY))
    return [f"{d.source_uri}: {d.status} {d.error_code} {d.error_message}" for d in documents]


def documents_by_name(service: Service) -> dict[str, str]:
    """Map file names to document ids."""
    from documents.models import DocumentVersion
    from ragsite.database.tenancy import namespace

    with namespace(service.namespace_id):
        live = DocumentVersion.objects.filter(state=DocumentVersion.State.LIVE)
        return {name: str(pk) for name, pk in live.values_list("file_name", "document_id")}
