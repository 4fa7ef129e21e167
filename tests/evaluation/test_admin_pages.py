"""What operators' pages about runs and golden sets show: each of these was wrong once."""

import html
import re
from collections.abc import Callable
from typing import Any

from django.test import Client
from django.urls import reverse

from documents.models import Chunk, Document, Namespace
from evaluation.admin.run_page import PER_PAGE
from evaluation.models import EvaluationRun, Feedback, GoldenQuery, GoldenSet, QueryScore
from evaluation.runs import lifecycle
from evaluation.runs.options import RunOptions
from evaluation.runs.runner import measure_now
from ragsite.database.tenancy import namespace, operator

from ..client import Api


def page(client: Client, name: str, *args: Any, **query: Any) -> str:
    answer = client.get(reverse(f"admin:{name}", args=args), query)
    assert answer.status_code == 200, answer.status_code
    return str(answer.content.decode())


def test_a_queued_run_has_no_blanks_of_what_is_not_known_yet(
    boss: Client, golden_set: GoldenSet, tenant: Namespace
):
    with namespace(tenant.pk):
        run = lifecycle.create(golden_set, RunOptions())
    shown = page(boss, "evaluation_evaluationrun_change", run.pk)
    assert "Waiting for a worker" in shown
    assert "hybrid, weighted 0.5, rerank auto" in shown
    assert "None" not in shown
    assert "0 of 0" not in shown
    assert str(run.pk) not in re.sub(r'href="[^"]*"', "", shown)
    listed = page(boss, "evaluation_evaluationrun_changelist")
    assert "waiting for a worker" in listed
    assert "0/0" not in listed


def test_the_worst_queries_come_first_and_stages_in_their_order(
    boss: Client, golden_set: GoldenSet, tenant: Namespace
):
    run = measure_now(golden_set, RunOptions(mode="lexical"))
    with namespace(tenant.pk):
        last = run.scores.order_by("ordinal").last()
        assert last
        QueryScore.objects.filter(pk=last.pk).update(metrics={**last.metrics, "ndcg@10": 0.1})
    shown = page(boss, "evaluation_evaluationrun_change", run.pk)
    queries = shown.split('id="queries"')[1]
    assert queries.index(last.text) < queries.index("how many lights")
    timings = shown.split("<th>stage</th>")[1].split("</table>")[0]
    stages = re.findall(r"<td>(lexical|score|fuse|read|assemble|total)</td>", timings)
    assert stages == ["lexical", "score", "fuse", "read", "assemble", "total"]
    assert "<td>chunk size</td><td>60</td>" in shown
    assert "{&#x27;" not in shown  # the configuration is a table, no dictionary


def test_a_long_run_has_pages_and_a_fixed_number_of_statements(
    boss: Client, golden_set: GoldenSet, tenant: Namespace, django_assert_max_num_queries: Any
):
    run = measure_now(golden_set, RunOptions())
    with namespace(tenant.pk):
        QueryScore.objects.bulk_create(
            QueryScore(
                namespace=tenant, run=run, ordinal=n, text=f"query {n}", metrics={"ndcg@10": 0.5}
            )
            for n in range(10, 10 + PER_PAGE)
        )
    with django_assert_max_num_queries(14, using="operator") as sent:
        first = page(boss, "evaluation_evaluationrun_change", run.pk)
    (scores,) = [each["sql"] for each in sent if '_queryscore"."fallbacks"' in each["sql"]]
    assert scores.endswith(f"LIMIT {PER_PAGE}")  # the database sorts them, and sends one page
    assert f"{PER_PAGE + 3} queries" in first
    assert "Better ones" in first
    second = page(boss, "evaluation_evaluationrun_change", run.pk, p=2)
    assert "Worse ones" in second
    assert "query 10<" not in second
    assert page(boss, "evaluation_evaluationrun_change", run.pk, p="x").count("<figure") == 3


def test_errors_of_filters_are_sentences(boss: Client, golden_set: GoldenSet):
    with operator():
        query = golden_set.queries.first()
        assert query
    form = {"text": query.text, "judgements-TOTAL_FORMS": 0, "judgements-INITIAL_FORMS": 0}
    address = reverse("admin:evaluation_goldenquery_change", args=[query.pk])
    for wrong, sentence in (
        ('{"tags": 7}', "tags: Give a list"),
        ('{"kind": ["text", "music"]}', "kind: 1: "),
        ('{"colour": 1}', "colour: "),
    ):
        shown = html.unescape(boss.post(address, form | {"filters": wrong}).content.decode())
        assert "ErrorDetail" not in shown
        assert f"These filters cannot be used: {sentence}" in shown


def test_an_unsaved_set_has_no_link_to_its_queries(boss: Client, golden_set: GoldenSet):
    shown = page(boss, "evaluation_goldenset_add")
    assert "0 queries" not in shown
    assert "golden_set__id__exact" not in shown
    assert "3 queries" in page(boss, "evaluation_goldenset_change", golden_set.pk)


def test_only_documents_of_the_querys_namespace_are_offered(
    boss: Client,
    golden_set: GoldenSet,
    library: dict[str, Document],
    other_tenant: Namespace,
    api_of: Callable[..., Api],
    work: Callable[[], int],
):
    api_of(other_tenant).upload(("harbour-of-others.md", "# Harbour\n\nTheirs."))
    work()
    with operator():
        query = golden_set.queries.first()
        assert query
    shown = page(boss, "evaluation_goldenquery_change", query.pk)
    offered = re.search(r'data-ajax--url="([^"]+)"', shown)
    assert offered
    field = {"app_label": "evaluation", "model_name": "judgement", "field_name": "document"}
    found = boss.get(offered[1], field | {"term": "harbour"}).json()["results"]
    assert [each["id"] for each in found] == [str(library["harbour.md"].pk)]
    stranger = Client()
    assert stranger.get(offered[1], field | {"term": "harbour"}).status_code == 302


def test_ranks_by_vector_and_by_words_are_shown_while_judging(boss: Client, golden_set: GoldenSet):
    shown = page(boss, "evaluation_goldenset_judge", golden_set.pk, q="harbour lights")
    assert "by vector 1, by words 1" in shown


def test_runs_and_queries_are_named_not_numbered(boss: Client, golden_set: GoldenSet):
    measure_now(golden_set, RunOptions(), label="tuesday")
    with operator():
        assert str(EvaluationRun.objects.get()) == "tuesday"
        assert str(EvaluationRun(created_at=golden_set.created_at)).startswith("run of 20")
        assert GoldenQuery.objects.count() == 3


def test_feedback_names_the_passages_that_were_selected(
    api: Api, boss: Client, library: dict[str, Document]
):
    found = api.query("how many lights does the harbour have?").body["results"][:2]
    ids = [hit["chunk_id"] for hit in found]
    api.post("feedback", {"query": "how many lights?", "selected_chunk_ids": ids})
    with operator():
        feedback = Feedback.objects.get()
        Chunk.objects.filter(pk=ids[1]).delete()  # as when its document was indexed again
    shown = page(boss, "evaluation_feedback_change", feedback.pk)
    assert f'<a href="/admin/documents/chunk/{ids[0]}/change/">{found[0]["title"]}' in shown
    assert "a passage that is not indexed any more" in shown
    assert ids[1] not in shown
