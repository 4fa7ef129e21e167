"""Which results of tools are kept, and what ends them."""

from collections.abc import Callable
from typing import Any

import pytest

from documents.models import Namespace
from ragsite.database.tenancy import operator
from retrieval.tools.base import ToolContext
from retrieval.tools.calling import call_tool

from ..client import Api
from .tool_calls import ids_of

pytestmark = pytest.mark.usefixtures("no_agent_limit")


def test_an_equal_call_comes_from_the_cache_until_something_changes(
    library: Api, context: ToolContext, tenant: Namespace, work: Callable[[], int]
):
    calls: list[tuple[str, dict[str, Any]]] = [
        ("ragSearch", {"query": "boats in the harbour"}),
        ("search_documents", {"query": "harbour"}),
        ("list_documents", {}),
        ("get_document", {"document_id": ids_of(tenant)["The Harbour"]}),
    ]

    def kept() -> list[bool]:
        return [call_tool(context, name, arguments).cached for name, arguments in calls]

    assert kept() == [False] * 4
    assert kept() == [True] * 4
    call_tool(context, "index_document", {"content": "A boat in another harbour.", "wait": 0})
    # Search sees nothing of it yet; the list does, and shows how far it is.
    assert kept() == [True, False, False, False]
    listed = call_tool(context, "list_documents", {}).result["documents"]
    assert [document["status"] for document in listed].count("queued") == 1
    work()
    assert kept() == [False] * 4
    assert kept() == [True] * 4
    library.patch(f"documents/{ids_of(tenant)['The Harbour']}", {"tags": ["x"]})
    assert kept() == [False] * 4
    call_tool(context, "delete_document", {"document_id": ids_of(tenant)["The Lighthouse"]})
    assert kept() == [False] * 4


def test_a_failed_document_is_not_hidden_by_the_cache(
    library: Api, context: ToolContext, work: Callable[[], int]
):
    def failed() -> list[str]:
        listed = call_tool(context, "list_documents", {"status": "failed"}).result["documents"]
        return [document["title"] for document in listed]

    assert failed() == []
    library.upload(("broken.pdf", b"%PDF-1.7 not really"))
    work()
    assert failed() == ["broken.pdf"]


@pytest.mark.usefixtures("library")
def test_what_is_spelt_out_or_ordered_otherwise_is_the_same_call(context: ToolContext):
    call_tool(context, "ragSearch", {"query": "boats", "limit": 10})
    assert call_tool(context, "ragSearch", {"threshold": 0.7, "query": "boats"}).cached
    assert not call_tool(context, "ragSearch", {"query": "boats", "limit": 9}).cached


@pytest.mark.usefixtures("library")
def test_callers_with_other_scopes_and_namespaces_share_nothing(
    tenant: Namespace,
    other_tenant: Namespace,
    context: ToolContext,
    context_of: Callable[..., ToolContext],
):
    call_tool(context, "list_documents", {})
    assert call_tool(
        context_of(tenant), "list_documents", {}
    ).cached  # another key, the same scopes
    assert not call_tool(context_of(tenant, ("read",)), "list_documents", {}).cached
    theirs = call_tool(context_of(other_tenant), "list_documents", {})
    assert (theirs.cached, theirs.result["documents"]) == (False, [])


@pytest.mark.usefixtures("library")
def test_the_cache_can_be_switched_off(context: ToolContext, settings: Any):
    settings.CACHE_SECONDS = {**settings.CACHE_SECONDS, "tools": 0}
    assert not any(call_tool(context, "list_documents", {}).cached for _ in range(3))


@pytest.mark.usefixtures("library")
def test_how_a_namespace_wants_its_answers_is_part_of_what_is_kept(
    context: ToolContext, tenant: Namespace
):
    call_tool(context, "ragSearch", {"query": "boats"})
    with operator():
        Namespace.objects.filter(pk=tenant.pk).update(answer_language="de")
    assert not call_tool(context, "ragSearch", {"query": "boats"}).cached
