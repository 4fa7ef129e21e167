"""From feedback to golden sets: in the admin, by command; and the difficult questions."""

import json
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from documents.models import Chunk, Document, Namespace
from evaluation.golden.curating import add_query
from evaluation.golden.feedback import curate, record_feedback, without_selection
from evaluation.models import Feedback, GoldenSet, Judgement
from evaluation.runs.options import RunOptions
from evaluation.runs.runner import measure_now
from ragsite.database.tenancy import namespace, operator
from retrieval import query_log
from retrieval.models import QueryLog

from ..client import Api

LIST = "admin:evaluation_feedback_changelist"
LOG = "admin:retrieval_querylog_changelist"


@pytest.fixture
def chunks(tenant: Namespace, library: dict[str, Document]) -> Callable[[str], Chunk]:
    """chunks(words): the chunk that says them."""

    def find(words: str) -> Chunk:
        with namespace(tenant.pk):
            return Chunk.objects.get(content__contains=words)

    return find


@pytest.fixture
def empty_set(tenant: Namespace) -> GoldenSet:
    with namespace(tenant.pk):
        return GoldenSet.objects.create(namespace=tenant, name="said")


def judged(golden_set: GoldenSet) -> dict[str, list[tuple[str, int, bool]]]:
    with operator():
        return {
            query.text: [(j.quote, j.grade, j.is_hard_negative) for j in query.judgements.all()]
            for query in golden_set.queries.all()
        }


def page(client: Client, name: str, **query: Any) -> str:
    answer = client.get(reverse(name), query)
    assert answer.status_code == 200, answer.status_code
    return str(answer.content.decode())


def test_questions_become_queries_and_selections_judgements(
    tenant: Namespace, chunks: Callable[[str], Chunk], empty_set: GoldenSet
):
    lights, glaze, dough = chunks("twelve lights"), chunks("Ash glaze"), chunks("Knead flour")
    record_feedback(
        tenant.pk, query="lights?", selected_chunk_ids=[lights.pk], useful=True, comment="Yes."
    )
    record_feedback(
        tenant.pk, query="lights?", selected_chunk_ids=[dough.pk], useful=False, comment="Bread?"
    )
    record_feedback(
        tenant.pk, query="glaze?", filters={"source_types": ["md"]}, selected_chunk_ids=[glaze.pk]
    )
    record_feedback(tenant.pk, query="nothing to find", useful=False)
    with namespace(tenant.pk):
        curated = curate(empty_set, Feedback.objects.all())
        query = empty_set.queries.get(text="lights?")
        assert (query.notes, query.tags) == ("Yes.\nBread?", ["from-feedback"])
        assert empty_set.queries.get(text="glaze?").filters == {"source_types": ["md"]}
    assert (curated.queries, curated.judgements, curated.refused) == (3, 3, [])
    assert judged(empty_set) == {
        "lights?": [(lights.content, 2, False), (dough.content, 0, True)],
        "glaze?": [(glaze.content, 1, False)],
        "nothing to find": [],
    }
    assert measure_now(empty_set, RunOptions()).metrics["recall@10"]["mean"] == 1


def test_what_is_judged_already_stays_and_the_best_word_counts(
    tenant: Namespace, chunks: Callable[[str], Chunk], golden_set: GoldenSet
):
    before = judged(golden_set)
    fee, glaze = chunks("A mooring costs"), chunks("Ash glaze")
    record_feedback(
        tenant.pk, query="what does a mooring cost?", selected_chunk_ids=[fee.pk], useful=False
    )
    record_feedback(tenant.pk, query="glaze?", selected_chunk_ids=[glaze.pk], useful=False)
    record_feedback(tenant.pk, query="glaze?", selected_chunk_ids=[glaze.pk])
    with namespace(tenant.pk):
        first = curate(golden_set, Feedback.objects.all())
        again = curate(golden_set, Feedback.objects.all())
    assert (first.judgements, first.judged_already) == (1, 2)
    assert (again.queries, again.judgements, again.judged_already) == (2, 0, 3)
    assert judged(golden_set) == before | {"glaze?": [(glaze.content, 1, False)]}


def test_selections_are_found_again_in_a_new_version_and_the_gone_are_told(
    api: Api,
    tenant: Namespace,
    chunks: Callable[[str], Chunk],
    empty_set: GoldenSet,
    work: Callable[[], int],
):
    # Sections too long to share a chunk.
    ash = " ".join(f"Ash glaze number {n} melts early and runs." for n in range(6))
    heat = " ".join(f"Firing number {n} takes nine hours of heat." for n in range(6))
    api.upload(("kiln.md", f"# Kiln\n\n## Firing\n\n{heat}\n\n## Glazes\n\n{ash}\n"))
    work()
    glaze, firing = chunks("Ash glaze"), chunks("nine hours")
    assert glaze.pk != firing.pk
    record_feedback(tenant.pk, query="kiln?", selected_chunk_ids=[glaze.pk, firing.pk], useful=True)
    moved = f"# Kiln\n\nWith a new preface, that moves it all.\n\n{glaze.content}\n"
    api.upload(("kiln.md", moved))
    work()
    with namespace(tenant.pk):
        curated = curate(empty_set, Feedback.objects.all())
        assert not Chunk.objects.filter(pk=glaze.pk).exists()
        judgement = Judgement.objects.get()
    assert (curated.judgements, curated.gone) == (1, 1)
    assert judgement.start != glaze.start
    assert moved.strip()[judgement.start : judgement.end] == judgement.quote == glaze.content


def test_feedback_is_looked_at_and_put_into_a_set_in_the_admin(
    boss: Client,
    onlooker: Client,
    api: Api,
    api_of: Callable[..., Api],
    tenant: Namespace,
    other_tenant: Namespace,
    chunks: Callable[[str], Chunk],
    empty_set: GoldenSet,
):
    lights = chunks("twelve lights")
    record_feedback(
        tenant.pk, query="lights?", selected_chunk_ids=[lights.pk], useful=True, comment="<b>Aye"
    )
    record_feedback(tenant.pk, query="bridges?", useful=False)
    record_feedback(tenant.pk, query="ferries?", comment="Not asked of you.")
    record_feedback(other_tenant.pk, query="theirs", useful=True)
    shown = page(boss, LIST)
    assert "1: Harbour" in shown
    assert "&lt;b&gt;Aye" in shown
    for asked, only in (
        ({"useful": "yes", "selection": "yes"}, "lights?"),
        ({"useful": "no"}, "bridges?"),
        ({"useful": "unsaid"}, "ferries?"),
        ({"selection": "no", "q": "ferr"}, "ferries?"),
    ):
        listed = page(boss, LIST, namespace__id__exact=str(tenant.pk), **asked)
        questions = ("lights?", "bridges?", "ferries?", "theirs")
        assert [q for q in questions if f">{q}</a>" in listed] == [only], asked
    with operator():
        rows = {said.query: str(said.pk) for said in Feedback.objects.all()}
    detail = boss.get(reverse("admin:evaluation_feedback_change", args=[rows["lights?"]]))
    assert "twelve lights on granite towers" in detail.content.decode()
    action = {"action": "add_to_golden_set", "_selected_action": list(rows.values())}
    assert "Choose the set" in boss.post(reverse(LIST), action, follow=True).content.decode()
    chosen = action | {"golden_set": str(empty_set.pk)}
    onlooker.post(reverse(LIST), chosen)
    assert judged(empty_set) == {}
    told = boss.post(reverse(LIST), chosen, follow=True).content.decode()
    assert "3 queries in said, with 1 new judgement" in told
    assert "Skipped from another namespace: 1" in told
    assert judged(empty_set) == {
        "lights?": [(lights.content, 2, False)],
        "bridges?": [],
        "ferries?": [],
    }
    erased = {"action": "delete_selected", "_selected_action": [rows["lights?"]], "post": "yes"}
    onlooker.post(reverse(LIST), erased)
    assert "lights?" in page(boss, LIST)
    boss.post(reverse(LIST), erased)
    with operator():
        assert Feedback.objects.count() == 3


def test_difficult_questions_are_found_by_what_people_said_or_did_not(
    boss: Client,
    api: Api,
    api_of: Callable[..., Api],
    other_tenant: Namespace,
    library: Any,
    work: Callable[[], int],
):
    def ask(question: str, by: Api = api, **said: Any) -> None:
        answer = by.query(question, mode="lexical").body
        if said.pop("choose", False):
            said["selected_chunk_ids"] = [answer["results"][0]["chunk_id"]]
        if said:
            wish = {"query_id": answer["query_id"], **said}
            assert by.post("feedback", wish).status == 201

    ask("harbour lights", choose=True)
    ask("harbour towers", useful=True)
    ask("kiln glaze", useful=False)
    ask("bread oven")
    ask("xylophone")
    theirs = api_of(other_tenant)
    theirs.upload(("a.md", "# Harbour\n\nOther lights."))
    assert work() == 1
    ask("other harbour", theirs)
    query_log.flush()

    def found(difficult: str) -> list[str]:
        shown = page(boss, LOG, difficult=difficult)
        questions = ("harbour lights", "harbour towers", "kiln glaze", "bread oven", "xylophone")
        return [q for q in (*questions, "other harbour") if f">{q}</a>" in shown]

    assert found("negative") == ["kiln glaze"]
    assert found("unchosen") == []  # nobody has had the time to choose
    with operator():
        lines = QueryLog.objects.all()
        lines.update(created_at=timezone.now() - timedelta(hours=1))
        assert found("unchosen") == ["kiln glaze", "bread oven"]
        lines.update(created_at=timezone.now() - timedelta(days=2))
        assert not without_selection(lines).exists()  # in those days nobody sent what was chosen
    shown = page(boss, LOG)
    assert ">1, 1 not useful</a>" in shown
    with operator():
        line = QueryLog.objects.get(query="kiln glaze")
    assert f"?query_log__id__exact={line.pk}" in shown
    listed = page(boss, LIST, query_log__id__exact=str(line.pk))
    assert ">kiln glaze</a>" in listed
    assert ">harbour lights</a>" not in listed


def test_the_command_curates_and_can_be_run_again(
    tenant: Namespace, chunks: Callable[[str], Chunk]
):
    def run(*arguments: str) -> str:
        out = StringIO()
        call_command("curate_feedback", *arguments, "--namespace", tenant.slug, stdout=out)
        return out.getvalue()

    with pytest.raises(CommandError, match="No feedback matches"):
        run("said")
    with pytest.raises(CommandError, match="--since: Use a date"):
        run("said", "--since", "yesterday")
    record_feedback(
        tenant.pk, query="lights?", selected_chunk_ids=[chunks("twelve lights").pk], useful=True
    )
    record_feedback(tenant.pk, query="bridges?", useful=False)
    told = json.loads(run("said", "--useful", "yes", "--since", "2026-01-01", "--json"))
    assert (told["golden_set"], told["queries"], told["judgements"]) == ("said", 1, 1)
    assert "2 queries with 0 new judgements in 'said'; 1 passage already judged" in run("said")
    with namespace(tenant.pk):
        golden_set = GoldenSet.objects.get()
        assert add_query(golden_set, "bridges?").tags == ["from-feedback"]
