"""Compare two profiles of a namespace on a golden set."""

from statistics import fmean
from typing import Any

from django.db.models import Count

from documents.models import IndexProfile, Reindex
from evaluation.measures import metrics
from evaluation.measures.matching import RankedPassage, as_qrels, as_run, units_of
from evaluation.models import GoldenSet
from evaluation.runs.asking import PreparedQuery
from evaluation.runs.options import RunOptions
from evaluation.runs.runner import prepare
from ragsite.database.tenancy import namespace
from retrieval.inspection.parity import report_on
from retrieval.search import search_under

MEASURES = ("ndcg@10", "recall@10", "hit@1")
DEPTH = 50


def on_golden_set(reindex: Reindex) -> dict[str, Any] | None:
    """Compare on the namespace's largest golden set; None without a usable one."""
    with namespace(reindex.namespace_id):
        sets = GoldenSet.objects.annotate(size=Count("queries")).order_by("-size", "name")
        golden_set = sets.first()
        if golden_set is None:
            return None
        queries = list(golden_set.queries.prefetch_related("judgements"))
    questions, _ = prepare(reindex.namespace_id, queries)
    if not questions:
        return None
    before = [_measured(reindex, reindex.replaces, question) for question in questions]
    after = [_measured(reindex, reindex.profile, question) for question in questions]
    return {
        **report_on(reindex, [question.text for question in questions]),
        "by": f"golden set {golden_set.name!r}",
        "measures": {
            name: {
                "before": round(fmean(scores[name] for scores in before), 4),
                "after": round(fmean(scores[name] for scores in after), 4),
            }
            for name in MEASURES
        },
    }


def _measured(reindex: Reindex, profile: IndexProfile, question: PreparedQuery) -> dict[str, float]:
    options = RunOptions(depth=DEPTH, rerank="none")
    request = options.ranked(question.text, question.filters, by_document=question.by_document)
    found = search_under(reindex.namespace_id, profile, request)
    passages = [RankedPassage(hit.source_uri, hit.start, hit.end) for hit in found.hits]
    run = as_run(units_of(passages, question.judged))
    return metrics.measure({"q": as_qrels(question.judged)}, {"q": run}, MEASURES)["q"]
