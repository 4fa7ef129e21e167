"""The reranker `learned`: fitted to judgements, measured on held-out questions, and used only if
it is better there."""

import json
import random
import uuid
from io import StringIO
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from documents.models import AuditEvent, Document, Namespace
from evaluation.golden.curating import add_query, judge
from evaluation.golden.feedback import record_feedback
from evaluation.learning.fitting import PairedRows, fit
from evaluation.learning.training import collect
from evaluation.models import GoldenSet
from ragsite.database.tenancy import namespace
from retrieval.learned import learned_models
from retrieval.models import LearnedModel
from retrieval.requests import SearchRequest
from retrieval.rerankers.linear import FEATURES, LinearModel
from retrieval.search import search

from ..client import Api

TOPICS = (
    *("anchor", "barrel", "candle", "dagger", "engine", "feather", "garden", "hammer"),
    *("island", "jacket", "kettle", "ladder", "mirror", "needle", "orchard", "pepper"),
    *("quarry", "ribbon", "saddle", "timber", "umbrella", "velvet", "window", "yarrow"),
)
FILLER = "with much that is said at length about its making and its use by people of every trade. "


def library_of(tenant: Namespace, api: Api, work: Any, *, learnable: bool) -> GoldenSet:
    """For each topic a short and a long document. The fused order prefers the short one. If
    `learnable`, the long one is always right; otherwise it is left to chance."""
    chance = random.Random(7)
    files = []
    for topic in TOPICS:
        files.append((f"{topic}-long.md", f"The {topic} is described here, {FILLER * 3}"))
        files.append((f"{topic}-short.md", f"The {topic}, the {topic}."))
    assert api.upload(*files).status == 202
    assert work() == len(files)
    with namespace(tenant.pk):
        golden = GoldenSet.objects.create(namespace=tenant, name="topics")
        documents = {d.source_uri: d for d in Document.objects.all()}
        for topic in TOPICS:
            kinds = ["long", "short"]
            if not learnable:
                chance.shuffle(kinds)
            query = add_query(golden, f"what is the {topic}?")
            judge(query, documents[f"upload:{topic}-{kinds[0]}.md"], grade=1)
            judge(query, documents[f"upload:{topic}-{kinds[1]}.md"], grade=0)
    return golden


def train(tenant: Namespace, *options: str) -> tuple[dict[str, Any], int]:
    out, code = StringIO(), 0
    arguments = [f"--namespace={tenant.slug}", "--golden-set=topics", "--json", *options]
    try:
        call_command("train_reranker", *arguments, stdout=out)
    except SystemExit as stop:
        code = int(stop.code or 0)
    return json.loads(out.getvalue()), code


def installed(tenant: Namespace) -> list[LearnedModel]:
    with namespace(tenant.pk):
        return list(LearnedModel.objects.all())


def first_source(tenant: Namespace, question: str, rerank: str) -> str:
    return search(tenant.pk, SearchRequest(query=question, k=2, rerank=rerank)).hits[0].source_uri


def test_what_judgements_teach_is_installed_and_used(
    tenant: Namespace, other_tenant: Namespace, api: Api, work: Any
):
    library_of(tenant, api, work, learnable=True)
    question = "what is the anchor?"
    assert first_source(tenant, question, "none") == "upload:anchor-short.md"
    dry, code = train(tenant, "--dry-run")
    assert (code, dry["installed"], installed(tenant)) == (0, False, [])
    told, code = train(tenant)
    assert (code, told["installed"]) == (0, True)
    assert told["metrics"]["learned"] > told["metrics"]["fused"]
    assert told["metrics"]["p_value"] < 0.05
    assert told["metrics"]["low"] > 0
    assert told["weights"]["length"] > 0
    assert told["training"] == dry["training"]  # the same data, the same model
    assert told["weights"] == pytest.approx(dry["weights"], abs=0.01)
    (row,) = installed(tenant)
    assert row.metrics == told["metrics"]
    assert row.training["sha256"] == told["training"]["sha256"]
    # Cached results of before are outdated; the other namespace has no model.
    assert first_source(tenant, question, "learned") == "upload:anchor-long.md"
    answer = api.query(question, rerank="learned", explain=True).body
    assert answer["diagnostics"]["reranker"] == "learned"
    assert installed(other_tenant) == []
    with namespace(tenant.pk):
        assert AuditEvent.objects.filter(action="reranker.install").count() == 1
    call_command("train_reranker", f"--namespace={tenant.slug}", "--remove", stdout=StringIO())
    assert installed(tenant) == []
    result = search(tenant.pk, SearchRequest(query=question, k=2, rerank="learned"))
    assert result.hits[0].source_uri == "upload:anchor-short.md"
    assert result.diagnostics.fallbacks == ("fused_order: rerank_unavailable",)


def test_what_is_no_better_than_chance_is_refused(tenant: Namespace, api: Api, work: Any):
    library_of(tenant, api, work, learnable=False)
    told, code = train(tenant)
    assert (code, told["installed"], installed(tenant)) == (2, False, [])
    assert told["metrics"]["questions"] == len(TOPICS)
    errors = StringIO()
    with pytest.raises(SystemExit):
        call_command(
            "train_reranker",
            f"--namespace={tenant.slug}",
            "--golden-set=topics",
            stdout=StringIO(),
            stderr=errors,
        )
    assert "not significantly better" in errors.getvalue()


def test_too_few_questions_cannot_be_judged(golden_set: GoldenSet, tenant: Namespace):
    for options in (["--golden-set=trade"], ["--golden-set=nothing"], []):
        with pytest.raises(CommandError, match=r"20 are needed|no golden set"):
            call_command("train_reranker", f"--namespace={tenant.slug}", *options)


def test_feedback_is_trained_on_and_never_measured(
    golden_set: GoldenSet, tenant: Namespace, api: Api
):
    answer = api.query("twelve crowns for the harbour master", k=5).body
    chosen = uuid.UUID(answer["results"][1]["chunk_id"])
    record_feedback(tenant.pk, query_id=uuid.UUID(answer["query_id"]), selected_chunk_ids=[chosen])
    questions = collect(golden_set)
    (of_feedback,) = [question for question in questions if not question.is_measured]
    assert len(questions) == 4
    assert len(of_feedback.group.pairs) == 1  # the one selected, and the one above it
    better, worse = of_feedback.group.pairs[0]
    assert of_feedback.places[better] != of_feedback.places[worse]


def test_fitting_finds_the_feature_that_decides_and_leaves_the_rest():
    draw = np.random.default_rng(3)
    title = FEATURES.index("title")
    groups = []
    for _ in range(60):
        rows = draw.normal(size=(10, len(FEATURES)))
        order = np.argsort(-rows[:, title]).tolist()
        groups.append(PairedRows(rows.tolist(), [(order[0], other) for other in order[1:]]))
    model = fit(groups, penalty=0.01)
    assert max(FEATURES, key=lambda name: model.weights[FEATURES.index(name)]) == "title"
    assert all(abs(w) < model.weights[title] / 3 for i, w in enumerate(model.weights) if i != title)
    assert model == fit(groups, penalty=0.01)
    held = fit(groups, penalty=1e6)
    assert held.weights[FEATURES.index("fused")] == pytest.approx(1, abs=0.01)
    assert held.weights[title] == pytest.approx(0, abs=0.01)
    with pytest.raises(ValueError, match="better"):
        fit([PairedRows([[0.0] * len(FEATURES)], [])], penalty=1)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"features": ["vector"]}, "other features"),
        ({"weights": [1.0]}, "one weight"),
        ({"means": [float("nan")] * len(FEATURES)}, "not finite"),
        ({"scales": [0.0] * len(FEATURES)}, "positive"),
    ],
)
def test_a_stored_model_is_checked(change: dict[str, Any], why: str):
    whole = tuple([1.0] * len(FEATURES))
    data = LinearModel(whole, whole, whole).as_data()
    assert LinearModel.from_data(json.loads(json.dumps(data))).weights == whole
    with pytest.raises(ValueError, match=why):
        LinearModel.from_data(data | change)


def test_a_damaged_model_costs_the_order_and_not_the_search(tenant: Namespace, api: Api, work: Any):
    api.upload(("kiln.md", "# Kiln\n\nHeat the kiln."))
    work()
    whole = tuple([1.0] * len(FEATURES))
    learned_models.install(
        tenant.pk, LinearModel(whole, whole, whole), metrics={}, training={"questions": 1}
    )
    with namespace(tenant.pk):
        LearnedModel.objects.update(model={"features": []})
    result = search(tenant.pk, SearchRequest(query="kiln", rerank="learned"))
    assert len(result.hits) == 1
    assert result.diagnostics.fallbacks == ("fused_order: rerank_failed",)
