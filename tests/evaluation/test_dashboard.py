"""The admin's first page: every figure, what is behind it, and what it costs."""

import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from documents.admin import visible
from documents.jobs import status
from documents.models import IndexProfile, Namespace, StoreChange
from evaluation.admin.dashboard import chart, figures, page
from evaluation.models import EvaluationRun, GoldenSet
from ragsite.database.tenancy import namespace, operator
from retrieval.models import QueryLog

from ..client import Api

pytestmark = pytest.mark.usefixtures("db")


@pytest.fixture
def busy(api: Api, tenant: Namespace, work: Callable[[], int]) -> Api:
    """A ready document, a failed one, one that waits; and four questions."""
    api.upload(("harbour.md", "# Harbour\n\nTwelve lights."), ("blank.md", " \n "))
    assert work() == 2
    api.upload(("later.md", "# Later"))
    ask(tenant, 10, 20, 30, 400)
    return api


def ask(tenant: Namespace, *milliseconds: float, ago: timedelta = timedelta(0)) -> None:
    with namespace(tenant.pk):
        QueryLog.objects.bulk_create(
            QueryLog(
                namespace=tenant,
                query="how many lights?",
                hits=1,
                cache="miss",
                times_ms={"total": ms},
                created_at=timezone.now() - ago,
            )
            for ms in milliseconds
        )


def run_of(golden: GoldenSet, mean: float, *, minutes_ago: int) -> EvaluationRun:
    with namespace(golden.namespace_id):
        return EvaluationRun.objects.create(
            namespace_id=golden.namespace_id,
            golden_set=golden,
            state="succeeded",
            metrics={"ndcg@10": {"mean": mean, "low": mean, "high": mean}},
            created_at=timezone.now() - timedelta(minutes=minutes_ago),
        )


def test_every_figure_is_there_and_leads_to_its_list(busy: Api, boss: Client):
    shown = boss.get("/admin/")
    assert '<h1 dir="auto">Dashboard</h1>' in shown.text
    counts = {each["status"]: each["count"].rows for each in shown.context["documents"]}
    assert counts == {"ready": 1, "queued": 1, "processing": 0, "failed": 1, "cancelled": 0}
    for each in shown.context["documents"]:
        behind = boss.get(each["address"]).context["cl"]
        assert behind.result_count == each["count"].rows, each["status"]
    (failure,) = shown.context["failures"]
    assert (failure["code"], failure["count"]) == ("no_text", 1)
    assert boss.get(failure["address"]).context["cl"].result_count == 1
    assert boss.get(shown.context["queued_address"]).context["cl"].result_count == 1
    assert boss.get(shown.context["running_address"]).context["cl"].result_count == 0
    (use,) = shown.context["profiles"]
    assert (use.profile.name, use.namespaces, use.chunks) == ("hashing", 1, 1)
    assert shown.context["storage"].originals > 0
    assert shown.context["storage"].database > shown.context["storage"].chunks > 0
    assert "Nothing has been measured yet" in shown.text
    assert 'id="nav-sidebar"' in shown.text


def test_percentiles_lead_to_what_took_longer(tenant: Namespace, boss: Client):
    ask(tenant, *[100.0] * 10, *[4000.0] * 2)
    ask(tenant, 9000.0, ago=timedelta(days=3))  # of no interest to the period
    shown = boss.get("/admin/").context
    assert shown["questions"].p50 == 100
    for name, expected in (("asked_address", 12), ("p50_address", 2), ("p95_address", 0)):
        listed = boss.get(shown[name])
        assert listed.context["cl"].result_count == expected, name
    assert "Over 4.0 s" in listed.text
    odd = boss.get("/admin/retrieval/querylog/", {"slower": "many"})
    assert odd.context["cl"].result_count == 13


def test_questions_are_counted_by_hour_and_by_day(busy: Api, tenant: Namespace, boss: Client):
    ask(tenant, 50, ago=timedelta(days=3))
    total = boss.get("/admin/").context["questions"]
    assert (total.count, total.p50) == (4, 25.0)
    assert 300 < total.p95 < 400
    fortnight = boss.get("/admin/?period=fortnight")
    assert fortnight.context["questions"].count == 5
    assert len(fortnight.context["chart"].bars) == 14
    assert boss.get("/admin/?period=nonsense").context["questions"].count == 4
    assert "<polyline" in fortnight.text or "<circle" in fortnight.text


def test_the_last_evaluation_is_compared_with_the_one_before(golden_set: GoldenSet, boss: Client):
    run_of(golden_set, 0.5, minutes_ago=9)
    first = boss.get("/admin/").context["last"]
    assert (first.before, first.measures[0].change) == (None, None)
    run_of(golden_set, 0.75, minutes_ago=1)
    shown = boss.get("/admin/")
    last = shown.context["last"]
    assert (last.measures[0].mean, last.measures[0].change) == (0.75, 0.25)
    assert f"?a={last.before.pk}&amp;b={last.run.pk}" in shown.text
    assert "+0.250" in shown.text


def test_its_cost_does_not_depend_on_the_rows_and_counts_are_bounded(
    busy: Api, tenant: Namespace, boss: Client
):
    def queries() -> list[str]:
        with CaptureQueriesContext(connections["operator"]) as captured:
            assert boss.get("/admin/").status_code == 200
        return [query["sql"] for query in captured]

    few = queries()
    busy.upload(*((f"{n}.md", f"# {n}\n\nText {n}.") for n in range(20)))
    ask(tenant, *range(100))
    many = queries()
    assert len(many) == len(few) <= 20
    for table in ("documents_document", "documents_ingestjob"):
        counts = [sql for sql in many if "count(*)" in sql.lower() and f"FROM {table} " in sql]
        assert counts
        assert all("LIMIT" in sql for sql in counts)
    assert not [sql for sql in many if '"documents_chunk"' in sql]


def test_a_search_store_that_is_behind_is_named(tenant: Namespace, boss: Client):
    with operator():
        profile = IndexProfile.objects.get(pk=tenant.active_profile_id)
        change = StoreChange.objects.create(
            namespace=tenant, profile=profile, document_id=uuid.uuid4()
        )
    assert "Needs attention" not in boss.get("/admin/").text, "it is told within seconds"
    with operator():
        StoreChange.objects.filter(pk=change.pk).update(error_message="It does not answer.")
    shown = boss.get("/admin/").text
    assert f"Search store of {profile.name}</a> has 1 document to sync: It does not" in shown


def test_counts_stop_at_a_bound(busy: Api, boss: Client, monkeypatch: pytest.MonkeyPatch):
    assert str(status.BoundedCount.of(10_001)) == "10,000+"
    assert str(status.BoundedCount.of(1_234)) == "1,234"
    monkeypatch.setattr(status, "COUNTED", 1)
    busy.upload(("a.md", "# A"), ("b.md", "# B"))
    with operator():
        counted = status.work_status()
    assert str(counted.waiting) == "1+"
    assert str(counted.documents["queued"]) == "1+"


def test_operators_of_some_namespaces_see_only_those(
    golden_set: GoldenSet,
    busy: Api,
    boss: Client,
    other_tenant: Namespace,
    monkeypatch: pytest.MonkeyPatch,
):
    run_of(golden_set, 0.5, minutes_ago=9)
    ours = frozenset({other_tenant.pk})
    for module in (visible, page):
        monkeypatch.setattr(module, "visible_namespaces", lambda request: ours)
    shown = boss.get("/admin/")
    assert {each["count"].rows for each in shown.context["documents"]} == {0}
    assert shown.context["failures"] == []
    assert shown.context["work"].waiting.rows == 0
    assert shown.context["work"].oldest_waiting is None
    assert shown.context["questions"].count == 0
    assert shown.context["last"] is None
    assert shown.context["storage"] is None
    assert [use.chunks for use in shown.context["profiles"]] == [0]


def test_staff_without_permission_for_documents_see_the_list_of_pages(db: None):
    from django.contrib.auth.models import User

    from ..conftest import logged_in

    with operator():
        user = User.objects.create_user("new", password="long enough", is_staff=True)
    shown = logged_in(user).get("/admin/")
    assert shown.status_code == 200
    assert "work-status" not in shown.text


def test_an_empty_installation_says_what_to_do(db: None, boss: Client):
    shown = boss.get("/admin/")
    assert "There is no namespace yet" in shown.text
    assert "No questions were asked" in shown.text


def test_a_chart_scales_and_breaks_its_lines_where_nothing_was_asked():
    hours = figures.PERIODS["day"]
    now = timezone.now()
    asked = [
        figures.QuestionCount(now, 3, 10.0, 90.0),
        figures.QuestionCount(now, 1, 20.0, 100.0),
        figures.QuestionCount(now, 0),
        figures.QuestionCount(now, 4, 30.0, 80.0),
    ]
    drawn = chart.drawn(asked, hours)
    heights = [bar.height for bar in drawn.bars]
    assert heights[3] == chart.HEIGHT - chart.TOP - chart.BOTTOM  # 4 is a round number
    assert heights[2] == 0
    assert len(drawn.p50) == len(drawn.p95) == 1
    assert len(drawn.dots) == 2
    assert "3 questions, p50 10 ms, p95 90 ms" in drawn.bars[0].label
    assert chart.drawn([figures.QuestionCount(now, 0)], hours).bars[0].height == 0


def test_links_open_for_an_operator_who_may_only_look(busy: Api, onlooker: Client):
    shown: Any = onlooker.get("/admin/")
    for each in shown.context["documents"]:
        assert onlooker.get(each["address"]).status_code == 200
