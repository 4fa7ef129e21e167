"""Run every query of a golden set through the search, and measure the results."""

import hashlib
import json
import logging
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from django.conf import settings
from django.db.models import Count, Q
from django_q.exceptions import TimeoutException

from documents.errors import IngestError
from documents.jobs.claims import LeaseLost
from documents.models import Document, Namespace
from evaluation.errors import EvaluationError
from evaluation.golden.curating import by_source, live_text, read_filters
from evaluation.measures import metrics
from evaluation.measures.matching import Judged, as_qrels, as_run
from evaluation.measures.quotes import place_of
from evaluation.models import EvaluationRun, GoldenQuery, GoldenSet, Judgement, QueryScore
from ragsite.database.tenancy import namespace
from ragsite.platform.logs import current_request_id, request_id
from ragsite.platform.wording import plural
from retrieval.search import search

from . import lifecycle
from .answering import measure_answer
from .asking import Answered, PreparedQuery, ask
from .code_version import code_version
from .lifecycle import RunClaim
from .options import RunOptions

logger = logging.getLogger(__name__)

ProgressCallback = Callable[[int, int], None]
GONE: tuple[int, int] = (-1, -1)  # matches no passage, so it counts as not found
UNANSWERABLE = "unanswerable"  # tag of queries that should be refused
MEASURES = tuple(dict.fromkeys((*metrics.DEFAULT, *(f"recall@{k}" for k in metrics.CURVE))))


def measure_now(
    golden_set: GoldenSet,
    options: RunOptions,
    *,
    label: str = "",
    searched: uuid.UUID | None = None,
    own_ids: Mapping[uuid.UUID, uuid.UUID] | None = None,
    progress: ProgressCallback = lambda done, total: None,
) -> EvaluationRun:
    """Do a whole run in this process and return it; its state shows how it ended."""
    namespace_id = golden_set.namespace_id
    with namespace(namespace_id):
        run = lifecycle.create(golden_set, options, label=label, queue=False)
    if claim := lifecycle.claim(run.pk, namespace_id):
        evaluate(claim, searched=searched, own_ids=own_ids, progress=progress)
    with namespace(namespace_id):
        return EvaluationRun.objects.select_related("golden_set").get(pk=run.pk)


def evaluate(
    claim: RunClaim,
    *,
    searched: uuid.UUID | None = None,
    own_ids: Mapping[uuid.UUID, uuid.UUID] | None = None,
    progress: ProgressCallback = lambda done, total: None,
) -> None:
    """Do a claimed run, or the rest of it. `searched` is a namespace with copies of the documents,
    if not the run's own. In a worker its id takes the place of a request's."""
    try:
        with request_id(current_request_id() or str(claim.job_id)):
            _evaluate(claim, searched or claim.namespace_id, own_ids, progress)
    except LeaseLost:
        logger.info("evaluation.stopped", extra={"run_id": str(claim.job_id)})
    except TimeoutException:
        lifecycle.pause(claim)
    except (EvaluationError, IngestError) as error:
        lifecycle.fail(claim, error.code, str(error))
    except Exception as error:
        logger.exception("evaluation.failed", extra={"run_id": str(claim.job_id)})
        sentence = f"Something went wrong on our side ({type(error).__name__}); see the log."
        lifecycle.fail(claim, "internal_error", sentence)


def _evaluate(
    claim: RunClaim,
    searched: uuid.UUID,
    own_ids: Mapping[uuid.UUID, uuid.UUID] | None,
    progress: ProgressCallback,
) -> None:
    with namespace(claim.namespace_id):
        run = EvaluationRun.objects.select_related("golden_set").get(pk=claim.job_id)
        queries = list(run.golden_set.queries.prefetch_related("judgements"))
        done = set(run.scores.values_list("ordinal", flat=True))
    options = RunOptions.from_stored(run.options)
    questions, warnings = prepare(searched, queries, with_unanswerable=options.answers)
    if bounded := [f"recall@{cutoff}" for cutoff in (50, 100) if options.depth < cutoff]:
        warnings.append(f"{' and '.join(bounded)}: bounded by the depth of {options.depth}.")
    configuration = snapshot(searched, options, questions)
    with namespace(claim.namespace_id):
        claim.renew(
            queries_total=len(questions),
            code_version=code_version(),
            configuration=configuration,
            warnings=warnings,
        )
    if questions and len(done) < len(questions):
        # The first search of a process loads the model, which should not count as latency.
        search(searched, options.asked(questions[0].text, questions[0].filters))
    for ordinal, question in enumerate(questions):
        if ordinal not in done:
            score = _measure(searched, question, options, own_ids)
            with namespace(claim.namespace_id):
                claim.renew(queries_done=ordinal + 1)
                QueryScore.objects.create(
                    namespace_id=claim.namespace_id,
                    run_id=claim.job_id,
                    query_id=question.query_id,
                    ordinal=ordinal,
                    text=question.text,
                    **score,
                )
        progress(ordinal + 1, len(questions))
    with namespace(claim.namespace_id):
        scored = list(QueryScore.objects.filter(run=claim.job_id).defer("ranking"))
        lifecycle.succeed(claim, **summarise(scored, warnings))


def _measure(
    searched: uuid.UUID,
    question: PreparedQuery,
    options: RunOptions,
    own_ids: Mapping[uuid.UUID, uuid.UUID] | None,
) -> dict[str, Any]:
    """Return the fields of a query's score: its ranking, and its answer if requested."""
    score: dict[str, Any] = {"metrics": {}, "times_ms": {}, "fallbacks": []}
    if question.is_answerable:
        asked = ask(searched, question, options, own_ids=own_ids)
        score = {
            "metrics": _scores(question, asked),
            "judged": asked.judged,
            "ranking": asked.ranking,
            "times_ms": dict(asked.times_ms),
            "tokens": asked.tokens,
            "fallbacks": asked.fallbacks,
        }
    if options.answers:
        answer = measure_answer(searched, question, options)
        score["metrics"] |= {name: round(value, 6) for name, value in answer.metrics.items()}
        score["times_ms"] |= answer.times_ms
        score["fallbacks"] = sorted({*score["fallbacks"], *answer.fallbacks})
    return score


def _scores(question: PreparedQuery, answered: Answered) -> dict[str, float]:
    scores = metrics.measure(
        {"q": as_qrels(question.judged)}, {"q": as_run(answered.units)}, MEASURES
    )["q"]
    scores[metrics.DOCUMENT] = float(answered.has_document)
    if answered.in_context is not None:
        scores[metrics.ANSWER] = answered.in_context
    return {name: round(value, 6) for name, value in scores.items()}


def prepare(
    searched: uuid.UUID, queries: Sequence[GoldenQuery], *, with_unanswerable: bool = False
) -> tuple[list[PreparedQuery], list[str]]:
    """Return the queries that can be measured, with current positions of judgements, and
    warnings."""
    with namespace(searched):
        judgements = [j for query in queries for j in query.judgements.all()]
        documents = dict(by_source(searched, {j.source_uri for j in judgements}))
        texts = {
            uri: live_text(document)
            for uri, document in documents.items()
            if any(j.quote and j.source_uri == uri for j in judgements)
        }
    questions, unmeasured, moved = [], 0, 0
    for query in queries:
        judged = []
        for judgement in query.judgements.all():
            place = _place_now(judgement, texts)
            moved += judgement.quote != "" and place is None
            start, end = place or (GONE if judgement.quote else (None, None))
            name = str(judgement.pk)
            judged.append(
                Judged(
                    name,
                    judgement.source_uri,
                    judgement.grade,
                    start,
                    end,
                    quote=judgement.quote,
                    part=judgement.part,
                )
            )
        if any(j.grade > 0 for j in judged):
            filters = read_filters(query.filters)
            questions.append(PreparedQuery(query.pk, query.text, filters, tuple(judged)))
        elif with_unanswerable and UNANSWERABLE in query.tags:
            filters = read_filters(query.filters)
            questions.append(PreparedQuery(query.pk, query.text, filters, (), is_answerable=False))
        else:
            unmeasured += 1
    missing = sum(j.source_uri not in documents for j in judgements)
    return questions, list(_warnings(unmeasured, moved, missing))


def _place_now(judgement: Judgement, texts: Mapping[str, str]) -> tuple[int, int] | None:
    if judgement.start is None or judgement.end is None:
        return None
    text = texts.get(judgement.source_uri, "")
    if text[judgement.start : judgement.end] == judgement.quote:
        return judgement.start, judgement.end
    return place_of(judgement.quote, text, near=judgement.start)


def _warnings(unmeasured: int, moved: int, missing: int) -> Iterator[str]:
    if unmeasured:
        yield f"Left out without a relevant judgement: {plural(unmeasured, 'query')}."
    if moved - missing > 0:
        yield f"No longer in their documents, counted as not found: {plural(moved, 'judged text')}."
    if missing:
        yield f"On missing documents, counted as not found: {plural(missing, 'judgement')}."


def snapshot(
    searched: uuid.UUID, options: RunOptions, questions: Sequence[PreparedQuery]
) -> dict[str, Any]:
    """Return everything that determines the figures: options, settings, profile, model, content and
    questions."""
    with namespace(searched):
        tenant = Namespace.objects.select_related("active_profile").get(pk=searched)
        counted = Document.objects.aggregate(
            all=Count("pk"), live=Count("pk", filter=Q(live_version__isnull=False))
        )
    profile = tenant.active_profile
    asked = json.dumps(
        [
            [q.text, repr(q.filters), sorted(_identity(j), key=str)]
            for q in questions
            for j in q.judged
        ],
        default=str,
    )
    answers = {"model": options.model or tenant.answer_model or settings.ANSWERS["model"]}
    return {
        "options": options.stored(),
        **({"answers": answers | _answer_settings()} if options.answers else {}),
        "profile": {
            "name": profile.name,
            "chunker": profile.chunker,
            "chunker_options": profile.chunker_options,
            "chunk_size": profile.chunk_size,
            "chunk_overlap": profile.chunk_overlap,
            "contextual_header": profile.contextual_header,
            "model": profile.model_identity,
            "dimensions": profile.dimensions,
            "ann_method": profile.ann_method,
            "ann_options": profile.ann_options,
            "ingestion_version": profile.ingestion_version,
        },
        "settings": {
            "search": settings.SEARCH,
            "rerank": settings.RERANK,
            "rerankers": sorted(settings.RERANKERS),
        },
        "content": {
            "documents": counted["live"],
            "chunks": tenant.chunk_count,
            "revision": tenant.revision,
        },
        "questions": {
            "queries": len(questions),
            "judgements": sum(len(q.judged) for q in questions),
            "fingerprint": hashlib.sha256(asked.encode()).hexdigest()[:16],
        },
    }


def _answer_settings() -> dict[str, Any]:
    names = ("min_relevance", "max_tokens", "prompt_file", "verifier", "verifier_style")
    return {name: settings.ANSWERS[name] for name in names}


def _identity(judged: Judged) -> list[Any]:
    """Describe a judgement without its quotation, and with a part only if it has one, so that runs
    from before parts existed stay comparable."""
    whole = [judged.name, judged.source_uri, judged.grade, judged.start, judged.end]
    return [*whole, f"part {judged.part}"] if judged.part else whole


def _is_capped(row: Mapping[str, Any]) -> bool:
    return row["grade"] > 0 and not row["rank"] and "max_per_document" in row["fate"]


def summarise(scores: Sequence[QueryScore], warnings: Sequence[str]) -> dict[str, Any]:
    """Aggregate the figures of the queries into those of the run."""
    ranked = [score for score in scores if MEASURES[0] in score.metrics]
    names = [name for name in MEASURES if all(name in score.metrics for score in ranked)]
    stages = dict.fromkeys(stage for score in scores for stage in score.times_ms)
    tokens = [score.tokens for score in ranked]
    fell_back = sum(bool(score.fallbacks) for score in scores)
    notes = list(warnings)
    if capped := sum(any(map(_is_capped, score.judged)) for score in scores):
        notes.append(
            f"max_per_document left out relevant passages of {plural(capped, 'query')}: "
            "recall@50 is bounded by that cap; raise it to see what the ranking alone would find."
        )
    if fell_back:
        notes.append(f"Answered with a fallback: {plural(fell_back, 'query')}.")
    return {
        "queries_done": len(scores),
        "metrics": {name: _estimate([score.metrics[name] for score in ranked]) for name in names}
        | dict(_partial_measures(scores)),
        "latency_ms": {
            stage: metrics.percentiles([s.times_ms[stage] for s in scores if stage in s.times_ms])
            for stage in stages
        },
        "tokens": {**metrics.percentiles(tokens), "total": sum(tokens)} if tokens else {},
        "warnings": notes,
    }


def _partial_measures(scores: Sequence[QueryScore]) -> Iterator[tuple[str, dict[str, float]]]:
    """Average measures that not every query has, with the number of queries that have them."""
    also = (metrics.ANSWER, metrics.DOCUMENT)
    for name in (*also, *metrics.OF_ANSWERS, *metrics.AMOUNTS_OF_ANSWERS):
        if values := [score.metrics[name] for score in scores if name in score.metrics]:
            yield name, _estimate(values) | {"queries": len(values)}


def _estimate(values: Sequence[float]) -> dict[str, float]:
    figures = asdict(metrics.estimate(values))
    return {name: round(value, 6) for name, value in figures.items()}
