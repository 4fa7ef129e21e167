"""Logged questions asked again: what is still returned, and what cannot be asked."""

import json
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from documents.models import Document, Namespace
from ragsite.database.tenancy import namespace, operator
from retrieval import query_log
from retrieval.models import QueryLog

from ..client import Api


def replayed(tenant: Namespace, *options: str) -> dict[str, Any]:
    out = StringIO()
    call_command("replay_queries", f"--namespace={tenant.slug}", "--json", *options, stdout=out)
    return json.loads(out.getvalue())


def count(tenant: Namespace) -> int:
    query_log.flush()
    with namespace(tenant.pk):
        return QueryLog.objects.count()


def test_nothing_has_changed_until_a_document_goes(
    api: Api, tenant: Namespace, library: dict[str, Document]
):
    for question in ("twelve lights", "twelve lights", "kiln degrees"):
        api.query(question, k=1, mode="lexical")
    assert count(tenant) == 3
    told = replayed(tenant)
    assert (told["questions"], told["compared"], told["kept"], told["first_same"]) == (2, 2, 1, 1)
    assert count(tenant) == 3  # asking again is not logged
    assert api.delete(f"documents/{library['kiln.md'].pk}").status in (200, 204)
    told = replayed(tenant)
    assert (told["kept"], told["first_same"]) == (0.5, 0.5)
    assert told["changes"][0]["query"] == "kiln degrees"
    out = StringIO()
    call_command("replay_queries", f"--namespace={tenant.slug}", "--compare", stdout=out)
    assert "0% kept" in out.getvalue()
    assert "twelve lights" not in out.getvalue()


def test_only_questions_of_the_period_and_the_namespace(
    api: Api, tenant: Namespace, other_tenant: Namespace, library: dict[str, Document]
):
    api.query("old question")
    api.query("new question")
    count(tenant)
    now = timezone.now()
    with operator():
        old = QueryLog.objects.filter(query="old question")
        old.update(created_at=now - timedelta(days=5))
    asked = replayed(tenant, f"--since={(now - timedelta(days=1)).isoformat()}")
    assert [change["query"] for change in asked["changes"]] == ["new question"]
    asked = replayed(tenant, f"--until={(now - timedelta(days=1)).isoformat()}")
    assert [change["query"] for change in asked["changes"]] == ["old question"]
    assert replayed(tenant, "--limit=1")["questions"] == 1
    with pytest.raises(CommandError, match="no such questions"):
        replayed(other_tenant)
    with pytest.raises(CommandError, match="--since"):
        replayed(tenant, "--since=yesterday")


def test_what_was_kept_as_a_hash_is_not_asked(
    api: Api, tenant: Namespace, library: dict[str, Document], settings: Any
):
    settings.QUERY_LOG_PRIVACY = {**settings.QUERY_LOG_PRIVACY, "text": "hash"}
    api.query("twelve lights")
    count(tenant)
    told = replayed(tenant)
    assert (told["questions"], told["not_asked"]) == (0, 1)
    assert "hash" in next(iter(told["problems"].values()))
