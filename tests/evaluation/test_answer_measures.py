"""`evaluate --answers`: what is measured of written answers, and what is left unmeasured."""

import json
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from documents.models import Document, Namespace
from evaluation.golden.curating import add_query, judge
from evaluation.measures.matching import Judged
from evaluation.measures.metrics import AMOUNTS_OF_ANSWERS, OF_ANSWERS
from evaluation.models import GoldenSet
from evaluation.runs.answering import figures, text_answers
from evaluation.runs.asking import PreparedQuery
from evaluation.runs.citation_audit import unequal_citations
from evaluation.runs.options import RunOptions
from evaluation.runs.runner import measure_now
from ragsite.database.tenancy import namespace, operator
from ragsite.platform.backends import load_backend
from retrieval.answering.answer import answer_whole
from retrieval.answering.requests import AnswerRequest
from retrieval.requests import NO_FILTERS, SearchRequest

from .. import chat_server

ANSWERS = {
    "lights": "There are “lights on granite towers” [cite:{id}].",
    "mooring": "It says “A mooring costs thirteen crowns a night” [cite:{id}] [cite:zzz9].",
    "kiln": "It is hot [cite:{id}].",
}


@pytest.fixture
def site(settings: Any, tenant: Namespace) -> Iterator[chat_server.Site]:
    """A model that answers from ANSWERS and knows nothing else, and a verifier that agrees."""
    with operator():
        Namespace.objects.filter(pk=tenant.pk).update(answer_min_relevance=0.0)
    with chat_server.provider() as site:
        site.reply_with(scripted_reply)
        models = {
            alias: {
                "BACKEND": "documents.language_models.openai.OpenAIModel",
                "OPTIONS": {"url": site.url("normal", alias), "model": alias, "price_in": 100.0},
            }
            for alias in ("scripted", "judge")
        }
        settings.LANGUAGE_MODELS = {**settings.LANGUAGE_MODELS, **models}
        load_backend.cache_clear()
        yield site
    load_backend.cache_clear()


def scripted_reply(messages: list[dict[str, Any]]) -> str:
    prompt = messages[-1]["content"]
    if "You check citations" in messages[0]["content"]:
        return json.dumps({"supported": "lights" in prompt})
    if "search query" in messages[0]["content"]:
        return "{}"
    question = prompt.partition("\nQuestion: ")[2]
    ident = prompt.partition("document id=")[2].partition(">")[0]
    for word, said in ANSWERS.items():
        if word in question:
            return said.format(id=ident)
    return "NOT_ENOUGH_INFORMATION: the age of the moon"


@pytest.fixture
def answerable(golden_set: GoldenSet) -> GoldenSet:
    """The three queries of the set, and one that nothing here answers."""
    with namespace(golden_set.namespace_id):
        add_query(golden_set, "how old is the moon?", tags=["unanswerable"])
    return golden_set


def test_a_run_measures_what_a_model_wrote(answerable: GoldenSet, site: chat_server.Site):
    run = measure_now(answerable, RunOptions(answers=True, model="scripted"))
    assert run.state == "succeeded", run.error_message
    means = {name: (f["mean"], f["queries"]) for name, f in run.metrics.items() if "queries" in f}
    assert means["answered@answerable"] == (1.0, 3)
    assert means["abstained@unanswerable"] == (1.0, 1)
    assert means["answer@text"] == (pytest.approx(1 / 2), 2)  # thirteen was repaired to twelve
    assert means["citations_equal"] == (1.0, 3)
    assert means["quotes_exact"] == (0.5, 2)
    assert means["answer_unknown_ids"] == (0.25, 4)
    assert means["answer_failures"] == (0.0, 4)
    assert means["answer_prompt_tokens"][0] > 0
    assert "citation_recall" not in means  # nobody judged
    assert run.metrics["ndcg@10"]["mean"] > 0  # the ranking is measured as ever
    assert run.configuration["answers"]["model"] == "scripted"
    assert {"answer", "answer_first_text"} <= set(run.latency_ms)


def test_a_configured_verifier_is_asked(
    answerable: GoldenSet, site: chat_server.Site, settings: Any, tenant: Namespace
):
    settings.ANSWERS = {**settings.ANSWERS, "verifier": "judge"}
    out = StringIO()
    call_command(
        "evaluate",
        "--golden-set=trade",
        f"--namespace={tenant.slug}",
        "--answers",
        "--model=scripted",
        "--json",
        stdout=out,
    )
    told = json.loads(out.getvalue())
    assert told["metrics"]["citation_recall"]["queries"] == 3
    assert 0 < told["metrics"]["citation_recall"]["mean"] < 1
    assert told["configuration"]["answers"]["verifier"] == "judge"


def test_a_model_that_fails_is_counted_and_the_run_goes_on(
    answerable: GoldenSet, site: chat_server.Site, settings: Any
):
    options = {"url": site.url("refused"), "model": "m"} if "refused" in site.behaviours else {}
    options = options or {"url": "http://127.0.0.1:9", "model": "m"}
    settings.LANGUAGE_MODELS["scripted"]["OPTIONS"] = {**options, "retries": 0}
    load_backend.cache_clear()
    run = measure_now(answerable, RunOptions(answers=True, model="scripted"))
    assert run.state == "succeeded"
    assert run.metrics["answer_failures"]["mean"] == 1.0
    assert "answer@text" not in run.metrics
    with namespace(answerable.namespace_id):
        assert all(
            any(f.startswith("answer_failed: ") for f in score.fallbacks)
            for score in run.scores.all()
        )


def test_the_command_says_it_in_sentences_and_gates_on_it(
    answerable: GoldenSet, site: chat_server.Site, tenant: Namespace, boss: Client
):
    def evaluate(*options: str) -> tuple[str, int]:
        out = StringIO()
        fixed = ["--golden-set=trade", f"--namespace={tenant.slug}"]
        try:
            call_command("evaluate", *fixed, *options, stdout=out, stderr=StringIO())
        except SystemExit as stop:
            return out.getvalue(), int(stop.code or 0)
        return out.getvalue(), 0

    told, code = evaluate("--answers", "--model=scripted", "--fail-under=citations_equal=1")
    assert code == 0
    assert "Answer correctness of scripted: the expected words stand in 50.0% of 2 answers" in told
    assert "Abstained: 0.0% of 3 answerable questions; 100.0% of 1 unanswerable ones." in told
    assert "ALCE recall: unmeasured, precision: unmeasured." in told
    _, code = evaluate("--answers", "--model=scripted", "--fail-under=answer@text=0.9")
    assert code == 2
    with pytest.raises(CommandError, match="There is no language model 'nobody'"):
        evaluate("--answers", "--model=nobody")
    with pytest.raises(CommandError, match="needs --answers"):
        evaluate("--model=scripted")
    told, _ = evaluate()
    assert "Answer correctness" not in told
    with namespace(tenant.pk):
        run = answerable.runs.filter(options__answers=True).first()
    page = boss.get(f"/admin/evaluation/evaluationrun/{run.pk}/change/").content.decode()
    assert "Answer correctness of scripted" in page
    assert "citations_equal" in page


def test_correctness_is_unmeasured_where_nothing_is_judged_by_its_words(
    library: dict[str, Document], tenant: Namespace
):
    with namespace(tenant.pk):
        golden = GoldenSet.objects.create(namespace=tenant, name="plain")
        judge(add_query(golden, "how hot must the kiln be?"), library["kiln.md"], grade=2)
    out = StringIO()
    call_command(
        "evaluate", "--golden-set=plain", f"--namespace={tenant.slug}", "--answers", stdout=out
    )
    assert "Answer correctness of extractive: unmeasured" in out.getvalue()


# -- the checks themselves ---------------------------------------------------------------------


def test_a_citation_that_is_not_the_stored_text_is_found_out(
    golden_set: GoldenSet, site: chat_server.Site, tenant: Namespace
):
    from dataclasses import replace

    request = AnswerRequest(SearchRequest("how many lights does it have?"), model="scripted")
    result = answer_whole(tenant.pk, request)
    assert result.citations
    assert unequal_citations(tenant.pk, result.citations) == []
    first = result.citations[0]
    forged = [
        replace(first, cited_text=first.cited_text + "!"),
        replace(first, start=first.start + 1),
        replace(first, cited_text="", end=first.start),
    ]
    assert unequal_citations(tenant.pk, forged) == forged
    question = PreparedQuery(golden_set.pk, "?", NO_FILTERS, ())
    measured = figures(result, question, unequal=1)
    assert measured["citations_equal"] == 0.0
    assert set(measured) <= {*OF_ANSWERS, *AMOUNTS_OF_ANSWERS}  # else no run would report it


@pytest.mark.parametrize(
    ("text", "quotes", "score"),
    [
        ("It has Twelve lights [cite:a1].", ["twelve lights"], 1),
        ("It has twelve-lights.", ["twelve  lights,"], 1),
        ("It has twelve.", ["twelve lights"], 0),
        ("It has 120 lights.", ["12"], 0),
        ("塔高40米[cite:a1]，建于1871年。", ["40米"], 1),
        ("", ["x"], 0),
    ],
)
def test_the_expected_words_are_looked_for_in_the_answer(text: str, quotes: list[str], score: int):
    judged = [Judged(q, "doc", 1, 0, 1, quote=q) for q in quotes]
    assert text_answers(text, judged) == score
    assert text_answers(text, [Judged("d", "doc", 1)]) is None
