"""Load one window of files: take, read, split, embed and publish them together.

What needs a decision of its own goes the ordinary way: files whose source or bytes are known
already, archives, files that are refused, documents that cannot be read.
"""

import logging
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from documents.errors import IngestError
from documents.ingestion import terms
from documents.ingestion.pipeline import read_original, split, texts_of
from documents.intake.checking import check
from documents.intake.folders import FoundFile, readable
from documents.intake.media_types import is_archive
from documents.jobs import queue
from documents.jobs.leases import Lease
from documents.metering.embeddings import MeteredEmbedder
from documents.models import IndexProfile, IngestJob, Namespace
from documents.passages import Extracted, Passage
from documents.profiles import chunking_overrides, profiles
from ragsite.database.tenancy import namespace
from ragsite.platform import metrics

from .claims import WindowClaim
from .copying import IndexedDocument
from .embedding import embed_together
from .files import WINDOW_BYTES, FileOptions, opened
from .publishing import NotPublished, publish
from .taking import NewFile, TakenDocument, take

logger = logging.getLogger(__name__)

Stage = IngestJob.Stage
T = TypeVar("T")


@dataclass(slots=True)
class WindowResult:
    """What became of a window's files."""

    results: list[dict[str, Any]] = field(default_factory=list)  # of the files that were taken
    left: list[FoundFile] = field(default_factory=list)  # for the ordinary way
    files: int = 0
    chunks: int = 0


@dataclass(frozen=True, slots=True)
class _Split:
    extracted: Extracted
    passages: Sequence[Passage]
    texts: Sequence[str]


def load_window(
    namespace_id: uuid.UUID, files: Sequence[FoundFile], options: FileOptions
) -> WindowResult:
    """Return when every file that was taken is searchable, has failed, or is queued again."""
    outcome = WindowResult(files=len(files))
    try:
        warnings = chunking_overrides.check(namespace_id, options.chunking)
        new = {id(file): checked for file in files if (checked := _new_file(file, options))}
        taken = take(namespace_id, list(new.values()), collection=options.collection)
    except IngestError:  # such as a quota: the ordinary way finds out for which file
        outcome.left = list(files)
        return outcome
    sources = {each.document.source_uri: each for each in taken}
    for file in files:
        known = new.get(id(file))
        each = sources.get(known.checked.source_uri) if known else None
        if each is None or file.source_uri != each.document.source_uri:
            outcome.left.append(file)
        else:
            outcome.results.append(_result(file, each, warnings))
    if taken:
        outcome.chunks = _index(namespace_id, taken)
    return outcome


def _new_file(file: FoundFile, options: FileOptions) -> NewFile | None:
    """Return the checked file; None if it has to go the ordinary way."""
    try:
        if file.path.stat().st_size > WINDOW_BYTES:
            return None
        submission = opened(file, options)
        if is_archive(submission.file_name, submission.media_type):
            return None
        checked = check(submission)
    except (OSError, IngestError):
        return None
    if checked.has_rows and options.rows_as_facts:
        return None
    return NewFile(checked, file.path.resolve().as_uri())


def _result(file: FoundFile, taken: TakenDocument, warnings: tuple[str, ...]) -> dict[str, Any]:
    result = {
        "path": readable(file.path),
        "source_uri": file.source_uri,
        "document_id": str(taken.document.pk),
        "job_id": taken.job.pk,
        "status": "queued",
        "version": taken.version.number,
    }
    return result | ({"warnings": warnings} if warnings else {})


def _index(namespace_id: uuid.UUID, taken: Sequence[TakenDocument]) -> int:
    """Index what was taken; return the number of chunks."""
    claim = WindowClaim.of(taken)
    try:
        with namespace(namespace_id):
            tenant = Namespace.objects.select_related("active_profile").get(pk=namespace_id)
        profile = tenant.active_profile
        embedder = MeteredEmbedder(profiles.embedder_of(profile), namespace_id, None)
        with Lease(claim) as lease:
            with lease.stage(Stage.EXTRACT):
                read = _each(Stage.EXTRACT, taken, lambda each: read_original(each.version))
            with lease.stage(Stage.SPLIT):
                parts = _each(
                    Stage.SPLIT, read, lambda each: _split(each, read[each], profile, embedder)
                )
            with lease.stage(Stage.EMBED):
                texts = {each.document.pk: part.texts for each, part in parts.items()}
                vectors = embed_together(namespace_id, texts, embedder)
        indexed = [
            IndexedDocument(
                each.document,
                each.version,
                part.extracted,
                part.passages,
                vectors[each.document.pk],
            )
            for each, part in parts.items()
        ]
        times = {stage: round(ms / len(taken), 1) for stage, ms in lease.times_ms.items()}
        published, is_stale = publish(
            namespace_id, profile, indexed, token=claim.token, times_ms=times
        )
        if is_stale:
            terms.count(namespace_id, profile)
    except (IngestError, NotPublished) as error:  # one by one, with the right one's error
        logger.warning("load.not_together", extra={"error": type(error).__name__})
        queue.give_back(namespace_id, claim.token)
        return 0
    queue.give_back(namespace_id, claim.token)  # those that changed meanwhile
    chunks = sum(len(one.passages) for one in indexed if one.document.pk in published)
    _measured(len(published), chunks, lease.times_ms)
    return chunks


def _each(
    stage: IngestJob.Stage, taken: Iterable[TakenDocument], work: Callable[[TakenDocument], T]
) -> dict[TakenDocument, T]:
    """Do this for every document. One that cannot be read fails by itself; its job says why."""
    done = {}
    for each in taken:
        try:
            done[each] = work(each)
        except Exception as error:
            code = error.code if isinstance(error, IngestError) else "internal_error"
            metrics.INGEST_FAILURES.labels(code).inc()
            queue.fail(each.claim, error, at={"stage": stage})
            is_expected = isinstance(error, IngestError) and error.is_final
            logger.warning("load.failed", extra={"code": code}, exc_info=not is_expected)
    return done


def _split(
    taken: TakenDocument, extracted: Extracted, profile: IndexProfile, embedder: MeteredEmbedder
) -> _Split:
    requested = chunking_overrides.requested_by(taken.document)
    pieces = split(profile, requested, extracted, embedder, taken.document.namespace_id)
    texts = texts_of(profile, taken.document, extracted, pieces, embedder)
    read = replace(extracted, warnings=(*extracted.warnings, *pieces.warnings))
    return _Split(read, pieces.passages, texts)


def _measured(documents: int, chunks: int, times_ms: Mapping[str, float]) -> None:
    metrics.INGESTED_FILES.labels("ready").inc(documents)
    metrics.INGESTED_CHUNKS.inc(chunks)
    logger.info(
        "load.window",
        extra={"documents": documents, "chunks": chunks, "times_ms": dict(times_ms)},
    )
