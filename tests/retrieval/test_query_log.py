"""The query log: a line per question, of figures alone, for a while, or not at all."""

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.utils import timezone

from documents.models import Namespace
from ragsite.database.tenancy import namespace, operator
from retrieval import query_log
from retrieval.models import QueryLog

from ..client import Api


def lines(tenant: Namespace) -> list[QueryLog]:
    query_log.flush()
    with namespace(tenant.pk):
        return list(QueryLog.objects.order_by("created_at"))


def test_a_question_is_kept_with_figures_and_without_text(
    api: Api, tenant: Namespace, other_tenant: Namespace, work: Callable[[], int]
):
    api.upload(("harbour.md", "# Harbour\n\nThe harbour has twelve lights."))
    work()
    answer = api.query("harbour lights", filters={"source_types": ["md"]}, k=3)
    api.query("harbour lights", filters={"tags": ["nothing has this"]})
    found, empty = lines(tenant)
    assert (found.query, found.hits, found.fallbacks) == ("harbour lights", 1, [])
    assert found.filters == {"source_types": ["md"]}
    assert (found.options["k"], found.options["mode"]) == (3, "hybrid")
    assert found.best_vector == answer.body["results"][0]["scores"]["vector"]
    assert found.best_lexical == answer.body["results"][0]["scores"]["lexical"]
    assert found.times_ms["total"] > 0
    assert found.request_id == answer.headers["X-Request-ID"]
    assert (empty.hits, empty.best_vector) == (0, None)
    assert "twelve" not in str(vars(found))
    assert lines(other_tenant) == []


def test_it_can_be_switched_off(api: Api, tenant: Namespace, settings: Any):
    settings.QUERY_LOG_DAYS = 0
    assert api.query("harbour").status == 200
    assert lines(tenant) == []


def test_old_lines_are_forgotten(api: Api, tenant: Namespace):
    api.query("old")
    api.query("new")
    lines(tenant)
    with operator():
        old = QueryLog.objects.filter(query="old")
        assert old.update(created_at=timezone.now() - timedelta(days=31)) == 1
    query_log.delete_old_rows()
    assert [line.query for line in lines(tenant)] == ["new"]


def test_a_log_that_cannot_be_written_fails_no_search(api: Api, tenant: Namespace):
    answer = api.call("POST", "query", {"query": "half a \ud83d character"})
    assert answer.status in (200, 422)
    with operator():
        QueryLog.objects.all().delete()
    assert api.query("harbour").status == 200
    assert len(lines(tenant)) == 1


def test_the_answer_does_not_wait_for_the_log(api: Api, tenant: Namespace):
    release = threading.Event()
    query_log._writer().submit(release.wait, 60)
    assert api.query("harbour").status == 200
    with operator():
        assert not QueryLog.objects.exists()
    release.set()
    assert len(lines(tenant)) == 1
