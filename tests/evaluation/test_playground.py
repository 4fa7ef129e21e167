"""The playground: a question under one or two configurations, and the fate of every candidate."""

import html
import json
import re
import shlex
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.test import Client
from django.urls import reverse

from documents.models import Document, Namespace
from evaluation.admin.playground.options import QUESTION_FIELDS, ConfigurationForm
from evaluation.models import GoldenQuery, GoldenSet
from ragsite.database.tenancy import operator
from retrieval.api.serializers import QuerySerializer

from ..client import Api

QUESTION = "how many lights does the harbour have?"


def ask(client: Client, **fields: Any) -> str:
    answer = client.get(reverse("admin:playground"), {"namespace": "tenant", **fields})
    assert answer.status_code == 200, answer.status_code
    return html.unescape(answer.content.decode())


def test_every_option_of_a_query_has_its_field():
    offered = {name.partition("_")[0] for name in ConfigurationForm().fields}
    offered |= set(ConfigurationForm().fields)
    renamed = {"weights": "weight", "threshold": "threshold"}
    for name in QuerySerializer().fields:
        assert name in QUESTION_FIELDS or renamed.get(name, name) in offered, name


def test_results_with_highlights_scores_timings_and_the_dropped(
    boss: Client, library: dict[str, Document]
):
    shown = ask(boss, q=QUESTION, **{"a-k": "1"})
    assert "The <mark>harbour</mark> has twelve <mark>lights</mark>" in shown
    assert reverse("admin:documents_document_change", args=[library["harbour.md"].pk]) in shown
    for stage in ("vector", "words", "fused", "relevance"):
        assert f"<dt>{stage}</dt>" in shown
    assert re.search(r"\d dropped candidates, and why", shown)
    assert "ranked after the first k" in shown
    assert re.search(r"assemble [\d.]+ ms", shown)


def test_two_configurations_side_by_side(boss: Client, library: dict[str, Document]):
    shown = ask(
        boss, q="twelve crowns", two="1", **{"a-mode": "lexical", "b-mode": "semantic", "b-k": "50"}
    )
    assert 'aria-label="Configuration A"' in shown
    assert 'aria-label="Configuration B"' in shown
    assert "only here" in shown
    assert "mode semantic" in shown


def test_the_calls_to_copy_say_what_was_asked(
    boss: Client, api: Api, library: dict[str, Document], monkeypatch: Any
):
    asked = 'what\'s a "mooring" in $HOME?'
    fields = {"a-k": "3", "a-filters": '{"tags": []}', "a-threshold_vector": "0.1", "a-fast": "on"}
    shown = ask(boss, q=asked, **fields)
    copied = re.search(r'id="curl-a"[^>]*>(.*?)</pre>', shown, re.DOTALL)
    assert copied
    words = shlex.split(copied[1].replace("\\\n", " "))
    body = json.loads(words[words.index("--data") + 1])
    assert body == {
        "query": asked,
        "k": 3,
        "fast": True,
        "threshold": {"vector": 0.1},
        "filters": {"tags": []},
        "highlight": True,
        "explain": True,
    }
    assert api.query(asked, **{k: v for k, v in body.items() if k != "query"}).status == 200
    written = re.search(r'id="python-a"[^>]*>(.*?)</pre>', shown, re.DOTALL)
    assert written
    calls: list[Any] = []

    class FakeClient:
        def __init__(self, url: str) -> None:
            assert url == "http://testserver"

        def __enter__(self) -> "FakeClient":
            return self

        def __exit__(self, *rest: object) -> None:
            return None

        def query(self, query: str, **options: Any) -> Any:
            calls.append({"query": query, **options})
            return type("Found", (), {"results": []})

    code = written[1].replace("from ragsite_client import Client", "")
    exec(compile(code, "copied", "exec"), {"Client": FakeClient})
    assert calls == [body]


def test_options_that_the_api_refuses_are_marked_at_their_fields(
    boss: Client, library: dict[str, Document]
):
    wrong = {"a-k": "1000", "a-weight_semantic": "7", "a-filters": '{"colour": 1}'}
    shown = ask(boss, q=QUESTION, **wrong)
    assert "These options cannot be used" in shown
    assert "less than or equal to 100" in shown
    assert "less than or equal to 1." in shown
    assert "colour: " in shown
    assert "ErrorDetail" not in shown
    assert "This is not JSON." in ask(boss, q=QUESTION, **{"a-filters": "{"})
    assert "Give an object" in ask(boss, q=QUESTION, **{"a-filters": "[1]"})


def test_empty_states_say_what_to_do(boss: Client, tenant: Namespace, other_tenant: Namespace):
    assert "Choose a namespace and ask" in ask(boss, namespace="nope", q="x")
    assert "Ask something" in ask(boss)
    assert "Nothing found" in ask(boss, q="zebra")


def test_the_answer_is_written_on_request_with_links(boss: Client, library: dict[str, Document]):
    address = f"{reverse('admin:playground')}?namespace=tenant&q=what+does+a+mooring+cost%3F"
    assert "answer-a" not in boss.get(address).content.decode()
    shown = html.unescape(boss.post(address, {"answer": "a"}).content.decode())
    assert 'id="answer-a"' in shown
    assert "written by" in shown
    assert "twelve crowns" in shown.split('id="answer-a"')[1].split("</div>")[0]
    assert re.search(r'href="http://testserver/d/[^"]+" target="_blank" title="[^"]*">\[1\]', shown)


def test_a_question_goes_into_a_golden_set_and_on_to_judging(
    boss: Client, golden_set: GoldenSet, other_tenant: Namespace
):
    fields = {"namespace": "tenant", "q": "new one", "a-filters": '{"tags":["x"]}'}
    address = f"{reverse('admin:playground')}?{urlencode(fields)}"
    moved = boss.post(address, {"golden_set": str(golden_set.pk)})
    assert moved.status_code == 302
    with operator():
        query = GoldenQuery.objects.get(text="new one")
    assert (query.golden_set_id, query.filters) == (golden_set.pk, {"tags": ["x"]})
    assert query.tags == ["from-playground"]
    assert moved["Location"].endswith(f"/judge/?query={query.pk}")
    moved = boss.post(address, {"golden_set": "", "new_set": "fresh"})
    with operator():
        assert GoldenSet.objects.get(name="fresh").queries.get().text == "new one"
    theirs = address.replace("namespace=tenant", "namespace=other")
    boss.post(theirs, {"golden_set": str(golden_set.pk)})
    boss.post(address, {"golden_set": ""})
    with operator():
        assert GoldenQuery.objects.filter(text="new one").count() == 2


def test_onlookers_search_and_add_nothing(onlooker: Client, golden_set: GoldenSet):
    assert "twelve" in ask(onlooker, q=QUESTION)
    address = f"{reverse('admin:playground')}?namespace=tenant&q=x"
    assert onlooker.post(address, {"golden_set": str(golden_set.pk)}).status_code == 403
    assert Client().get(address).status_code == 302


def test_hostile_documents_and_questions_stay_text(
    boss: Client, api: Api, tenant: Namespace, work: Callable[[], int]
):
    hostile = "<img src=x onerror=alert(1)>"
    api.post(
        "ingest",
        {"documents": [{"title": hostile, "content": f"A {hostile} swordfish in the vault."}]},
    )
    work()
    fields = {"namespace": "tenant", "q": f"swordfish {hostile}", "two": "1"}
    answer = boss.get(reverse("admin:playground"), fields)
    shown = answer.content.decode()
    assert "swordfish" in shown
    assert "<img src=x" not in shown


def test_the_number_of_statements_does_not_depend_on_the_hits(
    boss: Client, library: dict[str, Document], django_assert_max_num_queries: Any
):
    with django_assert_max_num_queries(12, using="operator"):
        ask(boss, q=QUESTION, two="1", **{"a-k": "50", "b-k": "1"})
