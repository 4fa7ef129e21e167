"""A question's vector: asked for once by many, kept, never another model's, never waited for."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from documents.errors import IngestError
from documents.metering.embeddings import this_month, usage_in
from documents.models import IndexProfile, Namespace
from ragsite.database.tenancy import namespace, operator
from retrieval.candidates import query_embedding
from retrieval.candidates.query_embedding import embed_question
from retrieval.search_context import SearchedIndex

from ..client import Api
from ..embedding_server import MODEL, Handler
from ..threads import at_once

Behaving = Callable[..., Namespace]


@pytest.fixture(autouse=True)
def fresh_breakers() -> None:
    query_embedding._breaker.cache_clear()


def index_of(tenant: Namespace) -> SearchedIndex:
    with operator():
        return SearchedIndex.of(
            Namespace.objects.select_related("active_profile").get(pk=tenant.pk)
        )


def asked(text: str) -> int:
    return sum(request["body"]["input"] == [text] for request in Handler.seen)


def test_twenty_who_ask_the_same_at_once_make_one_call(behaving: Behaving):
    tenant = index_of(behaving("slow"))
    vectors = at_once(20, lambda number: embed_question(tenant, "how hot?"))
    assert all(vector == pytest.approx(MODEL.embed_query("how hot?")) for vector in vectors)
    assert asked("how hot?") == 1
    embed_question(tenant, "how hot?")  # and later ones none
    assert asked("how hot?") == 1


def test_twenty_searches_for_the_same_words_make_one_call(
    behaving: Behaving, api_of: Callable[..., Api], work: Callable[[], int]
):
    """With different options, so that the answers' own cache is no help."""
    api = api_of(behaving("slow"))
    api.upload(("kiln.md", "# Kiln\n\nHeat to 1240 degrees for nine hours."))
    work()
    answers = at_once(20, lambda k: Api(Client(), api.key).query("how hot?", k=k + 1))
    assert {answer.status for answer in answers} == {200}
    assert all(answer.body["results"] for answer in answers)
    assert all(answer.body["diagnostics"]["fallbacks"] == [] for answer in answers)
    assert asked("how hot?") == 1


def test_one_search_asks_once(behaving: Behaving, api_of: Callable[..., Api]):
    api_of(behaving("good")).query("how hot?", explain=True)
    assert asked("how hot?") == 1


def test_another_namespace_asks_for_itself(behaving: Behaving):
    """A quick answer must not tell one tenant what another has asked."""
    for tenant in (behaving("good"), behaving("good")):
        embed_question(index_of(tenant), "how hot?")
    assert asked("how hot?") == 2


def test_a_provider_that_keeps_failing_is_left_alone(
    behaving: Behaving, api_of: Callable[..., Api], work: Callable[[], int]
):
    api = api_of(behaving("good"))
    api.upload(("kiln.md", "# Kiln\n\nHeat to 1240 degrees for nine hours."))
    work()
    behaving("hang", query_deadline=0.3, retries=0)
    for number in range(3):
        body = api.query(f"degrees {number}").body
        assert body["diagnostics"]["fallbacks"] == ["lexical_only: provider_timeout"]
        assert body["results"]
    Handler.forget()
    body = api.query("degrees again").body
    assert body["diagnostics"]["fallbacks"] == ["lexical_only: provider_unavailable"]
    assert body["results"]
    assert Handler.seen == []


@pytest.mark.parametrize(
    "change",
    [
        {"model": "other"},
        {"revision": "2"},
        {"query_prefix": "q: "},
        {"document_prefix": "d: "},
    ],
)
def test_a_question_is_never_embedded_by_another_model(behaving: Behaving, change: dict[str, Any]):
    tenant = behaving("good")
    embed_question(index_of(tenant), "how hot?")
    with operator():
        assert IndexProfile.objects.get(name="remote").model_identity == "openai/m/256/normalized"
    behaving("good", **change)
    Handler.forget()
    with pytest.raises(IngestError) as caught:
        embed_question(index_of(tenant), "how hot?")  # not even from the cache
    assert caught.value.code == "profile_mismatch"
    assert Handler.seen == []


def test_a_question_is_never_embedded_with_other_dimensions(behaving: Behaving):
    tenant = behaving("good")
    embed_question(index_of(tenant), "how hot?")
    behaving("good", dimensions=64, shorten="here")
    with pytest.raises(IngestError) as caught:
        embed_question(index_of(tenant), "how cold?")
    assert caught.value.code == "profile_mismatch"


def test_a_question_that_costs_money_is_booked_once_and_never_refused(
    behaving: Behaving, settings: Any
):
    settings.EMBEDDING_CAPS = {**settings.EMBEDDING_CAPS, "month_tokens": 1}
    tenant = index_of(behaving("good", price=2.0))
    for _ in range(2):  # the second time it is known
        embed_question(tenant, "how hot does it get?")
    with namespace(tenant.namespace_id):
        tokens, cost = usage_in(tenant.namespace_id, this_month())
    assert tokens >= 5
    assert cost == Decimal(tokens) * 2 / 1_000_000
    embed_question(tenant, "and how cold?")


def test_a_free_one_is_not(behaving: Behaving):
    tenant = index_of(behaving("good"))
    embed_question(tenant, "how hot does it get?")
    with namespace(tenant.namespace_id):
        assert usage_in(tenant.namespace_id, this_month()) == (0, 0)
