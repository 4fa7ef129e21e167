"""The page of figures over time: what it shows, whose it is, and what it costs."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connections
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from documents.accounts import visibility
from documents.models import Document, EmbeddingUsage, LanguageModelUsage, Namespace
from evaluation.admin.analytics import page
from evaluation.golden.feedback import record_feedback
from ragsite.database.tenancy import namespace, operator
from retrieval.models import QueryLog

from ..conftest import logged_in

ADDRESS = "/admin/retrieval/querylog/analytics/"


def log(tenant: Namespace, *documents: Document, **fields: Any) -> QueryLog:
    returned = [
        {"document": str(d.pk), "chunk": str(d.pk), "start": 0, "end": 9, "relevance": 0.9}
        for d in documents
    ]
    values = {
        "query": "how many lights?",
        "hits": len(documents),
        "returned": returned,
        "relevance": 0.9 if documents else 0.0,
        "cache": "miss",
        "times_ms": {"total": 20},
        **fields,
    }
    with namespace(tenant.pk):
        return QueryLog.objects.create(namespace=tenant, **values)


@pytest.fixture
def asked(tenant: Namespace, library: dict[str, Document]) -> list[QueryLog]:
    """Five questions of today and one of ten days ago; documents that are older than all."""
    with operator():
        Document.objects.update(created_at=timezone.now() - timedelta(days=400))
    harbour, bread = library["harbour.md"], library["bread.md"]
    lines = [
        log(tenant, harbour, bread),
        log(tenant, harbour, relevance=0.1, times_ms={"total": 400}),
        log(tenant, harbour, cache="hit"),
        log(tenant, fallbacks=["lexical_only: timeout"]),
        log(tenant),
        log(tenant, bread, created_at=timezone.now() - timedelta(days=10)),
    ]
    record_feedback(tenant.pk, query_id=lines[0].pk, useful=True)
    record_feedback(tenant.pk, query_id=lines[0].pk, useful=False)
    return lines


def test_every_figure_of_the_period(
    asked: list[QueryLog], tenant: Namespace, library: dict[str, Document], boss: Client
):
    with namespace(tenant.pk):
        month = timezone.now().date().replace(day=1)
        EmbeddingUsage.objects.create(
            namespace=tenant, month=month, model_identity="m/e", tokens=500, cost=Decimal("0.5")
        )
        LanguageModelUsage.objects.create(
            namespace=tenant,
            month=month,
            model_identity="m/w",
            prompt_tokens=900,
            completion_tokens=100,
            cost=Decimal("2"),
        )
    shown = boss.get(ADDRESS)
    whole = shown.context["whole"]
    assert (whole.questions, whole.empty, whole.low) == (6, 2, 1)
    assert (whole.cached, whole.fell_back, whole.with_feedback) == (1, 1, 1)
    assert (whole.p50, whole.p99 > 300) == (20.0, True)
    feedback = shown.context["feedback"]
    assert (feedback.all, feedback.useful, feedback.not_useful) == (2, 1, 1)
    top = [(each.name, each.questions) for each in shown.context["top"]]
    assert top == [(library["harbour.md"].title, 3), (library["bread.md"].title, 2)]
    never = shown.context["never"]
    assert (never.count, [each.id for each in never.first]) == (1, [library["kiln.md"].pk])
    used = [(use.model, use.tokens, use.cost) for use in shown.context["models"]]
    dearest = [use for use in used if use[0].startswith("m/")]
    assert dearest == [("m/w", 1000, 2.0), ("m/e", 500, 0.5)]
    assert len(shown.context["charts"]) == 3
    assert shown.text.count("<svg") >= 3
    assert "33.3%" in shown.text
    week = boss.get(ADDRESS, {"days": "7"})
    assert week.context["whole"].questions == 5
    assert boss.get(ADDRESS, {"days": "x", "namespace": "nobody"}).context["days"] == 30


def test_limited_operators_and_the_choice_of_a_namespace(
    asked: list[QueryLog],
    tenant: Namespace,
    other_tenant: Namespace,
    boss: Client,
    monkeypatch: pytest.MonkeyPatch,
):
    log(other_tenant)
    assert boss.get(ADDRESS).context["whole"].questions == 7
    chosen = boss.get(ADDRESS, {"namespace": other_tenant.slug}).context
    assert (chosen["whole"].questions, chosen["top"], chosen["feedback"].all) == (1, [], 0)
    assert chosen["never"].count == 0
    ours = frozenset({other_tenant.pk})
    for module in (visibility, page):
        monkeypatch.setattr(module, "visible_namespaces", lambda request: ours)
    for parameters in ({}, {"namespace": tenant.slug}):
        limited = boss.get(ADDRESS, parameters)
        assert limited.context["whole"].questions == 1
        assert limited.context["namespaces"] == [other_tenant]
        assert limited.context["models"] == []
        assert (limited.context["never"].count, limited.context["top"]) == (0, [])
        assert "Harbour" not in limited.text


def test_its_cost_does_not_depend_on_the_rows(
    asked: list[QueryLog], tenant: Namespace, library: dict[str, Document], boss: Client
):
    def queries() -> int:
        with CaptureQueriesContext(connections["operator"]) as captured:
            assert boss.get(ADDRESS).status_code == 200
        return len(captured)

    few = queries()
    for _ in range(30):
        log(tenant, *library.values())
    assert queries() == few <= 14


def test_without_permission_and_without_anything(
    db: None, boss: Client, settings: Any, new_namespace: Callable[..., Namespace]
):
    settings.QUERY_LOG_DAYS = 0
    shown = boss.get(ADDRESS)
    assert "No questions were asked" in shown.text
    assert "switched off" in shown.text
    with operator():
        user = User.objects.create_user("new", password="long enough", is_staff=True)
    assert logged_in(user).get(ADDRESS).status_code == 403
