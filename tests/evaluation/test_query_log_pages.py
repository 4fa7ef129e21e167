"""The query log's pages: what a question returned, and how that differs from now."""

import html
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from documents.models import Document, Namespace
from evaluation.models import GoldenSet
from ragsite.database.tenancy import namespace, operator
from retrieval import query_log
from retrieval.models import QueryLog
from retrieval.requests import SearchRequest

from ..client import Api

QUESTION = "how many lights does the harbour have?"


@pytest.fixture
def logged(api: Api, library: dict[str, Document]) -> Callable[..., QueryLog]:
    def ask(text: str = QUESTION, **options: Any) -> QueryLog:
        answer = api.query(text, **options)
        assert answer.status == 200
        query_log.flush()
        with operator():
            return QueryLog.objects.get(pk=answer.body["query_id"])

    return ask


def page(client: Client, name: str, *args: Any, **query: Any) -> str:
    answer = client.get(reverse(f"admin:{name}", args=args), query)
    assert answer.status_code == 200, answer.status_code
    return html.unescape(answer.content.decode())


def test_what_was_returned_with_titles_and_links(
    boss: Client, logged: Callable[..., QueryLog], library: dict[str, Document]
):
    line = logged()
    assert line.returned
    assert line.returned[0]["document"] == str(library["harbour.md"].pk)
    assert line.relevance is not None
    shown = page(boss, "retrieval_querylog_change", line.pk)
    assert "What was returned" in shown
    assert reverse("admin:documents_document_change", args=[library["harbour.md"].pk]) in shown
    assert "<td>1</td>" in shown
    assert "Ask again and compare" in shown
    assert "Questions are kept for" in shown
    assert str(line.namespace_id) not in shown.replace(f"/namespace/{line.namespace_id}/", "")


def test_the_row_holds_the_options_to_ask_again_alike(logged: Callable[..., QueryLog]):
    line = logged(k=3, max_per_document=1, threshold={"vector": 0.01}, mmr_lambda=0.5)
    again = SearchRequest(query=line.query, **query_log.asked_again(line))
    assert (again.k, again.max_per_document, again.mmr_lambda) == (3, 1, 0.5)
    assert again.thresholds == (("vector", 0.01),)
    line.options = {"k": 5, "mode": "lexical", "reranker": "none"}  # as before this was kept
    assert query_log.asked_again(line) == {"k": 5, "mode": "lexical"}


def test_nothing_has_changed(boss: Client, logged: Callable[..., QueryLog]):
    shown = page(boss, "retrieval_querylog_again", logged().pk)
    assert "nothing has changed" in shown
    assert ">same<" in shown


def test_asked_again_after_documents_came_and_went(
    boss: Client,
    api: Api,
    logged: Callable[..., QueryLog],
    library: dict[str, Document],
    work: Callable[[], int],
):
    line = logged("twelve crowns for the harbour", mode="lexical")
    before = page(boss, "retrieval_querylog_again", line.pk)
    assert "Harbour" in before
    assert api.delete(f"documents/{library['harbour.md'].pk}").status < 300
    api.upload(("pier.md", "# Pier\n\nTwelve crowns for the harbour, twelve crowns again.\n"))
    work()
    shown = page(boss, "retrieval_querylog_again", line.pk)
    assert '<span class="badge badge-good">new</span>' in shown
    assert '<span class="badge badge-bad">deleted</span>' in shown
    assert "a document that was deleted since" in shown
    assert "a document that was deleted since" in page(boss, "retrieval_querylog_change", line.pk)


def test_rows_from_before_results_were_kept(boss: Client, logged: Callable[..., QueryLog]):
    line = logged()
    with operator():
        QueryLog.objects.filter(pk=line.pk).update(
            returned=None, relevance=None, options={"k": 10, "mode": "hybrid"}
        )
    assert "were not logged" in page(boss, "retrieval_querylog_change", line.pk)
    shown = page(boss, "retrieval_querylog_again", line.pk)
    assert "are not known" in shown
    assert "Harbour" in shown


def test_filters_that_no_longer_exist_are_a_sentence(boss: Client, logged: Callable[..., QueryLog]):
    line = logged()
    with operator():
        QueryLog.objects.filter(pk=line.pk).update(filters={"colour": 1})
    assert "These filters cannot be used" in page(boss, "retrieval_querylog_again", line.pk)


def test_links_to_the_playground_and_to_judging(
    boss: Client, logged: Callable[..., QueryLog], golden_set: GoldenSet
):
    shown = page(boss, "retrieval_querylog_change", logged("what & how?").pk)
    judging = reverse("admin:evaluation_goldenset_judge", args=[golden_set.pk])
    assert f'href="{judging}?q=what+%26+how%3F"' in shown
    assert f"{reverse('admin:playground')}?namespace=tenant&q=what+%26+how%3F" in shown


def test_the_filters_of_the_list(boss: Client, tenant: Namespace, other_tenant: Namespace):
    now = timezone.now()
    rows = {
        "nothing at all": {"hits": 0, "relevance": 0.0},
        "a weak one": {"hits": 2, "relevance": 0.1},
        "a slow one": {"hits": 2, "relevance": 0.9, "times_ms": {"total": 1500.0}},
        "an old one": {"hits": 2, "relevance": 0.9, "created_at": now - timedelta(days=40)},
    }
    for text, fields in rows.items():
        with namespace(tenant.pk):
            QueryLog.objects.create(namespace=tenant, query=text, **fields)
    with namespace(other_tenant.pk):
        QueryLog.objects.create(namespace=other_tenant, query="theirs", hits=1, relevance=0.9)

    def found(**query: Any) -> set[str]:
        answer = boss.get(reverse("admin:retrieval_querylog_changelist"), query)
        return {line.query for line in answer.context["cl"].result_list}

    assert found(difficult="nothing") == {"nothing at all"}
    assert found(difficult="low") == {"a weak one"}
    assert found(slower="1000") == {"a slow one"}
    assert found(slower="'") == found() == {*rows, "theirs"}
    assert found(namespace__id__exact=str(other_tenant.pk)) == {"theirs"}
    week = (now - timedelta(days=7)).isoformat()
    assert "an old one" not in found(created_at__gte=week)


def test_the_lists_statements_are_few(
    boss: Client, tenant: Namespace, django_assert_max_num_queries: Any
):
    with namespace(tenant.pk):
        QueryLog.objects.bulk_create(
            QueryLog(namespace=tenant, query=f"question {n}", hits=1) for n in range(150)
        )
    with django_assert_max_num_queries(12, using="operator"):
        shown = page(boss, "retrieval_querylog_changelist")
    assert shown.count("question ") >= 50


def test_onlookers_may_look_and_strangers_may_not(
    onlooker: Client, logged: Callable[..., QueryLog]
):
    line = logged()
    for name in ("change", "again"):
        assert "Judge in" not in page(onlooker, f"retrieval_querylog_{name}", line.pk)
        address = reverse(f"admin:retrieval_querylog_{name}", args=[line.pk])
        assert Client().get(address).status_code == 302
