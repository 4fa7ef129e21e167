"""Measure the effect of each part: one golden set, changing one option at a time."""

import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from django.conf import settings

from documents.chunking.methods import chunking_errors
from documents.models import IndexProfile, Namespace
from evaluation.errors import BadOptions
from evaluation.measures import metrics
from evaluation.models import EvaluationRun, GoldenSet
from evaluation.runs.comparison import compare
from evaluation.runs.options import RunOptions
from evaluation.runs.runner import ProgressCallback, measure_now
from ragsite.database.tenancy import operator
from retrieval.learned import learned_models

from .scratch import copied

MEASURES = ("ndcg@10", metrics.ANSWER, "mrr@10", "recall@10", "recall@100")
BASE = "hybrid, weighted 0.5"


@dataclass(frozen=True, slots=True)
class ChunkSize:
    """A chunk size and overlap, in the unit of the namespace's chunker."""

    size: int
    overlap: int

    @classmethod
    def parse(cls, text: str) -> "ChunkSize":
        size, _, overlap = text.partition("/")
        try:
            return cls(int(size), int(overlap or 0))
        except ValueError:
            raise BadOptions(f"Write SIZE/OVERLAP, e.g. 220/33, not {text!r}.") from None


@dataclass(frozen=True, slots=True)
class VariantResult:
    """A variant's run, and its gain in nDCG@10 over the first run of its table, with p-value."""

    name: str
    run: EvaluationRun
    gain: float | None = None
    p_value: float | None = None


def variants(
    weights: Sequence[float], rerankers: Iterable[str]
) -> Iterator[tuple[str, RunOptions]]:
    """Return the variants; first the base, which is the default without a reranker."""
    base = RunOptions(rerank="none")
    yield BASE, base
    yield "semantic", replace(base, mode="semantic")
    yield "lexical", replace(base, mode="lexical")
    yield "hybrid, rrf", replace(base, fusion="rrf")
    for weight in weights:
        if weight != base.semantic_weight:
            yield f"hybrid, weighted {weight:g}", replace(base, semantic_weight=weight)
    for reranker in rerankers:
        yield f"{BASE} + {reranker}", replace(base, rerank=reranker)


def ablate_retrieval(
    golden_set: GoldenSet,
    weights: Sequence[float],
    *,
    started: Callable[[str], ProgressCallback],
) -> list[VariantResult]:
    outcomes: list[VariantResult] = []
    for name, options in variants(weights, _rerankers(golden_set.namespace_id)):
        run = _succeeded(
            measure_now(golden_set, options, label=f"ablation: {name}", progress=started(name))
        )
        outcomes.append(_against(outcomes, name, run))
    return outcomes


def _rerankers(namespace_id: uuid.UUID) -> list[str]:
    """Return the configured rerankers; `learned` only if it was trained for the namespace."""
    is_trained = learned_models.find(namespace_id) is not None
    return [name for name in settings.RERANKERS if name != "learned" or is_trained]


def ablate_chunks(
    tenant: Namespace,
    golden_set: GoldenSet,
    cuts: Sequence[ChunkSize],
    *,
    started: Callable[[str], ProgressCallback],
) -> list[VariantResult]:
    """Measure the documents with their current chunks, then copies with each size and overlap."""
    current, base = tenant.active_profile, RunOptions(rerank="none")
    now = f"{current.chunker} {current.chunk_size}/{current.chunk_overlap}"
    run = measure_now(golden_set, base, label=f"ablation: {now}", progress=started(now))
    outcomes = [VariantResult(f"{now} (as it is)", _succeeded(run))]
    for cut in cuts:
        if (cut.size, cut.overlap) == (current.chunk_size, current.chunk_overlap):
            continue
        name = f"{current.chunker} {cut.size}/{cut.overlap}"
        with (
            _profile(tenant, cut) as profile,
            copied(tenant, profile, progress=started(f"indexing {name}")) as scratch,
        ):
            run = measure_now(
                golden_set,
                base,
                label=f"ablation: {name}",
                searched=scratch.namespace_id,
                own_ids=scratch.own_ids,
                progress=started(name),
            )
        outcomes.append(_against(outcomes, name, _succeeded(run)))
    return outcomes


@contextmanager
def _profile(tenant: Namespace, cut: ChunkSize) -> Iterator[IndexProfile]:
    """Create a profile with another chunk size and overlap, and delete it at the end of the
    block."""
    current = tenant.active_profile
    wrong = chunking_errors(
        current.chunker, size=cut.size, overlap=cut.overlap, options=current.chunker_options
    )
    if wrong:
        raise BadOptions(f"{cut.size}/{cut.overlap}: {wrong}")
    with operator():
        profile = IndexProfile.objects.create(
            name=f"ablation-{uuid.uuid4().hex[:12]}",
            namespace=tenant,
            chunker=current.chunker,
            chunker_options=current.chunker_options,
            chunk_size=cut.size,
            chunk_overlap=cut.overlap,
            contextual_header=current.contextual_header,
            embedder=current.embedder,
            dimensions=current.dimensions,
            ann_method=IndexProfile.Ann.EXACT,
            ingestion_version=current.ingestion_version,
        )
    try:
        yield profile
    finally:
        with operator():
            IndexProfile.objects.filter(pk=profile.pk).delete()


def _succeeded(run: EvaluationRun) -> EvaluationRun:
    if run.state != EvaluationRun.State.SUCCEEDED:
        raise BadOptions(f"{run.label} {run.state}: {run.error_message}")
    return run


def _against(outcomes: Sequence[VariantResult], name: str, run: EvaluationRun) -> VariantResult:
    if not outcomes:
        return VariantResult(name, run)
    with operator():
        figures = compare(outcomes[0].run, run).measures["ndcg@10"]
    return VariantResult(name, run, figures["gain"], figures["p_value"])
