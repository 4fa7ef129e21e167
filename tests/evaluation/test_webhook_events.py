"""The events of reindexes and evaluations, recorded once each."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from documents.models import Document, IndexProfile, Namespace, WebhookEvent
from documents.reindex import switching
from documents.webhooks import endpoints
from evaluation.golden.curating import add_query, judge
from evaluation.models import GoldenSet
from evaluation.runs import lifecycle
from evaluation.runs.options import RunOptions
from evaluation.runs.runner import measure_now
from ragsite.database.tenancy import namespace

from ..client import Api


@pytest.fixture
def told(tenant: Namespace, api: Api, work: Callable[[], int]) -> Callable[[], list[Any]]:
    """The events so far, of a namespace with one document and a webhook."""
    api.upload(("harbour.md", "# Harbour\n\nThe harbour has twelve lights."))
    work()
    with namespace(tenant.pk):
        endpoints.create(tenant.pk, "https://example.com/hook")

    def events() -> list[Any]:
        with namespace(tenant.pk):
            bodies = WebhookEvent.objects.order_by("created_at").values_list("body", flat=True)
            return [json.loads(body) for body in bodies]

    return events


def test_a_reindex_is_told_once_when_it_can_be_switched_to(
    tenant: Namespace,
    told: Callable[[], list[Any]],
    small_profile: IndexProfile,
    build: Callable[[], None],
    api: Api,
    work: Callable[[], int],
):
    reindex = switching.start(tenant.pk, small_profile)
    assert told() == []
    build()
    (event,) = told()
    assert event["type"] == "reindex.finished"
    assert event["data"] == {
        "namespace": "tenant",
        "reindex_id": str(reindex.pk),
        "profile": "small",
        "replaces": "hashing",
        "state": "built",
        "documents_count": 1,
        "failed_count": 0,
    }
    api.upload(("more.md", "# More"))
    build()  # more is indexed under both
    assert [one["type"] for one in told()] == ["reindex.finished", "document.ready"]


def test_a_run_is_told_when_it_has_succeeded_and_when_it_has_failed(
    tenant: Namespace, told: Callable[[], list[Any]]
):
    with namespace(tenant.pk):
        golden = GoldenSet.objects.create(namespace=tenant, name="lights")
        query = add_query(golden, "how many lights?")
        judge(query, Document.objects.get(), grade=3, quote="twelve lights")
    run = measure_now(golden, RunOptions())
    (event,) = told()
    assert event["type"] == "evaluation.finished"
    assert event["data"]["evaluation_id"] == str(run.pk)
    assert (event["data"]["state"], event["data"]["queries_count"]) == ("succeeded", 1)
    assert event["data"]["metrics"] == run.metrics
    with namespace(tenant.pk):
        broken = lifecycle.create(golden, RunOptions())
    claim = lifecycle.claim(broken.pk, tenant.pk)
    assert claim is not None
    lifecycle.fail(claim, "internal_error", "Something went wrong.")
    failed = told()[-1]["data"]
    assert (failed["state"], failed["error"]["code"]) == ("failed", "internal_error")
