"""Estimate the time and cost of a reindex from a sample of the namespace's own documents."""

import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings

from documents.embedders import Embedder
from documents.errors import BadFile
from documents.ingestion import pipeline
from documents.models import DocumentVersion, IndexProfile
from documents.profiles import chunking_overrides, profiles
from ragsite.database.tenancy import namespace

from . import build

SAMPLED_DOCUMENTS = 8
SAMPLED_PASSAGES = 32
STORE_SECONDS = 0.002  # approximate size of a chunk with its words


@dataclass(frozen=True, slots=True)
class Estimate:
    """The remaining work. `cost` is None if the embedder has no price."""

    documents: int
    chunks: int
    tokens: int
    seconds: float
    cost: float | None


@dataclass(frozen=True, slots=True)
class _Sample:
    bytes: int
    chunks: int
    tokens: int
    seconds: float  # seconds to extract and split
    texts: tuple[str, ...]


def estimate(namespace_id: uuid.UUID, profile: IndexProfile) -> Estimate:
    """Extract and split a few documents and embed a few passages; nothing is stored."""
    embedder = profiles.embedder_of(profile)
    with namespace(namespace_id):
        versions = DocumentVersion.objects.filter(
            pk__in=build.missing(namespace_id, profile.pk)
        ).defer("text", "outline")
        todo = list(versions.select_related("document").order_by("pk"))
    total = sum(version.byte_size for version in todo)
    # Spread over all documents, because the first few may be of one kind.
    step = max(1, len(todo) // SAMPLED_DOCUMENTS)
    samples = [_read(profile, embedder, version) for version in todo[::step][:SAMPLED_DOCUMENTS]]
    seen = sum(sample.bytes for sample in samples)
    factor = total / seen if seen else 0.0
    chunks = round(factor * sum(sample.chunks for sample in samples))
    tokens = round(factor * sum(sample.tokens for sample in samples))
    reading = len(todo) / max(1, len(samples)) * sum(sample.seconds for sample in samples)
    worked = reading + tokens * _seconds_per_token(embedder, samples) + chunks * STORE_SECONDS
    return Estimate(
        documents=len(todo),
        chunks=chunks,
        tokens=tokens,
        seconds=round(worked / settings.REINDEX["share"], 1),
        cost=round(tokens / 1e6 * embedder.price, 4) if embedder.price else None,
    )


def _read(profile: IndexProfile, embedder: Embedder, version: DocumentVersion) -> _Sample:
    started = time.perf_counter()
    try:
        requested = chunking_overrides.requested_by(version.document)
        extracted = pipeline.read_original(version)
        passages = pipeline.split(profile, requested, extracted, embedder).passages
    except BadFile:
        passages = []
    return _Sample(
        bytes=version.byte_size,
        chunks=len(passages),
        tokens=sum(passage.tokens for passage in passages),
        seconds=time.perf_counter() - started,
        texts=tuple(passage.text for passage in passages),
    )


def _seconds_per_token(embedder: Embedder, samples: Sequence[_Sample]) -> float:
    texts = [text for sample in samples for text in sample.texts]
    some = texts[:: max(1, len(texts) // SAMPLED_PASSAGES)][:SAMPLED_PASSAGES]
    if not some:
        return 0.0
    embedder.warm()
    started = time.perf_counter()
    for _ in embedder.embed_documents(some):
        pass
    return (time.perf_counter() - started) / max(1, sum(embedder.count_tokens(some)))
