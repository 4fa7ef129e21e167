"""The operator's pages: curating by hand, judging with one click, runs with their charts."""

import json
import re
from collections.abc import Callable
from typing import Any

from django.test import Client
from django.urls import reverse

from documents.models import Document, Namespace
from evaluation import tasks
from evaluation.models import EvaluationRun, GoldenQuery, GoldenSet, Judgement
from evaluation.runs.options import RunOptions
from evaluation.runs.runner import measure_now
from ragsite.database.tenancy import namespace, operator
from retrieval import query_log
from retrieval.models import QueryLog

from ..client import Api


def page(client: Client, address: str, **query: Any) -> str:
    answer = client.get(address, query)
    assert answer.status_code == 200, answer.status_code
    return str(answer.content.decode())


def test_a_set_is_made_and_filled_by_hand(
    boss: Client, tenant: Namespace, library: dict[str, Document]
):
    inline = {"queries-TOTAL_FORMS": 1, "queries-INITIAL_FORMS": 0}
    query = {"queries-0-text": "how hot?", "queries-0-filters": "{}", "queries-0-tags": "heat"}
    form = {"namespace": str(tenant.pk), "name": "by hand", **inline, **query}
    answer = boss.post(reverse("admin:evaluation_goldenset_add"), form)
    assert answer.status_code == 302, answer.content.decode()[:2000]
    with operator():
        added = GoldenQuery.objects.get()
        assert (added.text, added.tags, added.namespace_id) == ("how hot?", ["heat"], tenant.pk)
        assert added.golden_set.name == "by hand"
    judged = {
        "text": "how hot?",
        "filters": "{}",
        "judgements-TOTAL_FORMS": 1,
        "judgements-INITIAL_FORMS": 0,
        "judgements-0-document": str(library["kiln.md"].pk),
        "judgements-0-quote": "1240 degrees",
        "judgements-0-grade": 3,
        "judgements-0-part": "",
    }
    address = reverse("admin:evaluation_goldenquery_change", args=[added.pk])
    answer = boss.post(address, judged)
    assert answer.status_code == 302, answer.content.decode()[:2000]
    with operator():
        judgement = Judgement.objects.get()
    assert (judgement.grade, judgement.source_uri) == (3, "upload:kiln.md")
    assert judgement.end - judgement.start == len("1240 degrees")
    refused = boss.post(address, judged | {"judgements-0-quote": "never said"})
    assert "This quotation is not in" in refused.content.decode()
    wrong = boss.post(address, judged | {"filters": '{"colour": 1}'})
    assert "cannot be used" in wrong.content.decode()


def test_a_document_of_another_namespace_cannot_be_judged(
    boss: Client,
    golden_set: GoldenSet,
    other_tenant: Namespace,
    api_of: Callable[..., Api],
    work: Callable[[], int],
):
    theirs = api_of(other_tenant).upload(("b.md", "# B\n\nTheirs.")).body["results"][0]
    work()
    with operator():
        query = golden_set.queries.first()
        assert query
    form = {
        "text": query.text,
        "filters": "{}",
        "judgements-TOTAL_FORMS": 1,
        "judgements-INITIAL_FORMS": 0,
        "judgements-0-document": theirs["document_id"],
        "judgements-0-grade": 3,
    }
    answer = boss.post(reverse("admin:evaluation_goldenquery_change", args=[query.pk]), form)
    assert "belongs to another namespace" in answer.content.decode()


def test_search_and_judge_with_one_click(boss: Client, golden_set: GoldenSet, tenant: Namespace):
    address = reverse("admin:evaluation_goldenset_judge", args=[golden_set.pk])
    assert "Ask a question" in page(boss, address)
    shown = page(boss, address, q="ash glaze <melts>")
    assert "Not in the set yet" in shown
    assert "runs down the pot" in shown
    assert "<melts>" not in shown
    first = shown.split('id="r1"')[1]
    hidden = dict(re.findall(r'name="(\w+)" value="([^"]*)"', first.split("<button")[0]))
    hidden["q"] = "ash glaze <melts>"
    answer = boss.post(address, hidden | {"grade": "2"})
    assert answer.status_code == 302
    with namespace(tenant.pk):
        query = golden_set.queries.get(text="ash glaze <melts>")
        (judgement,) = query.judgements.all()
    assert (judgement.grade, judgement.start) == (2, int(hidden["start"]))
    again = page(boss, address, query=str(query.pk))
    assert 'class="chosen">2 in part' in re.sub(r"\s+", " ", again)
    boss.post(address, hidden | {"grade": "negative"})
    with namespace(tenant.pk):
        (judgement,) = query.judgements.all()
        assert (judgement.grade, judgement.is_hard_negative) == (0, True)
    whole = {k: v for k, v in hidden.items() if k not in ("start", "end")} | {"by": "document"}
    boss.post(address, whole | {"grade": "1"})
    with namespace(tenant.pk):
        assert query.judgements.filter(start=None, grade=1).exists()
    boss.post(address, {"q": hidden["q"], "remove": str(judgement.pk)})
    with namespace(tenant.pk):
        assert query.judgements.count() == 1


def test_a_run_is_started_looked_at_and_compared(
    boss: Client, golden_set: GoldenSet, tenant: Namespace
):
    start = reverse("admin:evaluation_goldenset_start", args=[golden_set.pk])
    form = {"label": "from the admin", "mode": "lexical", "fusion": "weighted", "rerank": "none"}
    form |= {"semantic_weight": "0.5", "k": "10", "depth": "50", "max_per_document": "2"}
    assert "Start the run" in page(boss, start)
    answer = boss.post(start, form)
    assert answer.status_code == 302
    assert "queued" in page(boss, answer["Location"])
    tasks.run_next_evaluation()
    shown = page(boss, answer["Location"])
    assert "what does a mooring cost?" in shown
    assert "<td>answer@context</td>" in shown
    assert "Answer in context: 100.0% of 2 queries" in shown
    with operator():
        run = EvaluationRun.objects.get(label="from the admin")
        assert (run.state, run.options["depth"]) == ("succeeded", 50)
    other = measure_now(golden_set, RunOptions(mode="semantic"))
    assert shown.count("<figure") == 3
    assert shown.count("<img") == 1  # the mark in the bar
    pair = {"a": str(run.pk), "b": str(other.pk)}
    compared = page(boss, reverse("admin:evaluation_evaluationrun_compare"), **pair)
    assert "By ndcg@10" in compared
    assert compared.count("<figure") >= 2
    listed = page(boss, reverse("admin:evaluation_evaluationrun_changelist"))
    assert "from the admin" in listed
    assert re.search(r"1\.000 <small[^>]*>\d+ tokens", listed)
    action = {"action": "compare_two", "_selected_action": [str(run.pk), str(other.pk)]}
    moved = boss.post(reverse("admin:evaluation_evaluationrun_changelist"), action)
    assert moved["Location"].endswith(f"?a={run.pk}&b={other.pk}")


def test_difficult_questions_go_from_the_log_into_a_set(
    boss: Client, api: Api, golden_set: GoldenSet, tenant: Namespace
):
    api.query("zebra xylophone", mode="lexical")
    api.query("harbour", filters={"tags": ["none has it"]})
    api.query("the harbour has twelve lights")
    query_log.flush()
    address = reverse("admin:retrieval_querylog_changelist")
    nothing = page(boss, address, difficult="nothing")
    assert "zebra xylophone" in nothing
    assert "twelve lights" not in nothing
    for difficult in ("fallback", "far"):
        page(boss, address, difficult=difficult)
    with operator():
        chosen = [str(pk) for pk in QueryLog.objects.filter(hits=0).values_list("pk", flat=True)]
    assert len(chosen) == 2
    action = {"action": "add_to_golden_set", "_selected_action": chosen}
    boss.post(address, action)  # no set was chosen
    boss.post(address, action | {"golden_set": str(golden_set.pk)})
    with namespace(tenant.pk):
        added = {q.text: q.filters for q in golden_set.queries.filter(tags=["from-query-log"])}
    assert added == {"zebra xylophone": {}, "harbour": {"tags": ["none has it"]}}


def test_a_long_set_has_its_queries_on_pages_of_their_own(
    boss: Client, golden_set: GoldenSet, tenant: Namespace
):
    address = reverse("admin:evaluation_goldenset_change", args=[golden_set.pk])
    assert "queries-TOTAL_FORMS" in page(boss, address)
    with namespace(tenant.pk):
        GoldenQuery.objects.bulk_create(
            GoldenQuery(namespace=tenant, golden_set=golden_set, text=f"query {number}")
            for number in range(200)
        )
    shown = page(boss, address)
    assert "queries-TOTAL_FORMS" not in shown
    assert "203 queries" in shown
    listed = re.search(r'href="([^"]+golden_set__id__exact[^"]+)"', shown)
    assert listed
    assert "query 42" in page(boss, listed[1])


def test_a_set_is_exported(boss: Client, golden_set: GoldenSet):
    action = {"action": "export", "_selected_action": [str(golden_set.pk)]}
    answer = boss.post(reverse("admin:evaluation_goldenset_changelist"), action)
    assert len([json.loads(line) for line in answer.content.decode().splitlines()]) == 3


def test_onlookers_look_and_change_nothing(onlooker: Client, golden_set: GoldenSet):
    run = measure_now(golden_set, RunOptions())
    for name in ("goldenset", "goldenquery", "evaluationrun"):
        page(onlooker, reverse(f"admin:evaluation_{name}_changelist"))
    page(onlooker, reverse("admin:evaluation_evaluationrun_change", args=[run.pk]))
    for name in ("judge", "start"):
        address = reverse(f"admin:evaluation_goldenset_{name}", args=[golden_set.pk])
        assert onlooker.get(address).status_code == 403
        assert onlooker.post(address, {"q": "x"}).status_code == 403
    stranger = Client()
    assert stranger.get(reverse("admin:evaluation_evaluationrun_compare")).status_code == 302
