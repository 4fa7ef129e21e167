"""What language models take: booked by namespace, month and model, and stopped at the caps."""

import logging
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from documents.language_models.base import LanguageModelCostCap, Usage
from documents.language_models.openai import OpenAIModel
from documents.metering.embeddings import this_month
from documents.metering.language_models import book_usage, require_room, usage_in
from documents.models import LanguageModelUsage, Namespace
from ragsite.database.tenancy import namespace

from ..client import Api
from ..threads import at_once

FREE = OpenAIModel("http://127.0.0.1:1", model="small")
PAID = OpenAIModel("http://127.0.0.1:1", model="large", price_in=2.0, price_out=10.0)


@pytest.fixture
def caps(settings: Any) -> Callable[..., None]:
    def set_caps(**wanted: float) -> None:
        settings.LANGUAGE_MODEL_CAPS = {**settings.LANGUAGE_MODEL_CAPS, **wanted}

    return set_caps


def test_usage_adds_up_by_model(tenant: Namespace):
    assert book_usage(PAID, tenant.pk, Usage(1000, 100)) == Decimal("0.003")
    assert book_usage(PAID, tenant.pk, Usage(500, 0), calls=3) == Decimal("0.001")
    assert book_usage(FREE, tenant.pk, Usage(7, 5)) is None
    with namespace(tenant.pk):
        large, small = LanguageModelUsage.objects.order_by("model_identity")
        assert usage_in(tenant.pk, this_month()) == (1612, Decimal("0.004"))
    assert (large.calls, large.prompt_tokens, large.completion_tokens) == (4, 1500, 100)
    assert large.cost == Decimal("0.004")
    assert (small.model_identity, small.calls, small.cost) == ("openai/small", 1, 0)


def test_nothing_is_lost_when_many_book_at_once(tenant: Namespace):
    at_once(8, lambda n: book_usage(PAID, tenant.pk, Usage(1, 2)))
    with namespace(tenant.pk):
        assert usage_in(tenant.pk, this_month())[0] == 24


def test_other_namespaces_see_nothing_of_it(
    tenant: Namespace, other_tenant: Namespace, api_of: Callable[..., Api]
):
    book_usage(PAID, tenant.pk, Usage(1000, 100))
    with namespace(other_tenant.pk):
        assert not LanguageModelUsage.objects.exists()
    assert api_of(other_tenant).get("usage").body["language_models"] == []


def test_a_namespace_sees_its_month(tenant: Namespace, api: Api):
    book_usage(PAID, tenant.pk, Usage(1000, 100))
    assert api.get("usage").body["language_models"] == [
        {
            "model": "openai/large",
            "calls": 1,
            "prompt_tokens": 1000,
            "completion_tokens": 100,
            "cost": 0.003,
        }
    ]


def test_a_cap_on_tokens_stops_every_model(tenant: Namespace, caps: Callable[..., None]):
    caps(month_tokens=100)
    book_usage(FREE, tenant.pk, Usage(60, 39))
    require_room(FREE, tenant.pk)
    book_usage(FREE, tenant.pk, Usage(1, 0))
    for model in (FREE, PAID):
        with pytest.raises(LanguageModelCostCap) as caught:
            require_room(model, tenant.pk)
        assert (caught.value.code, caught.value.http_status) == ("cost_cap", 503)


def test_a_cap_on_money_stops_what_costs_money(
    tenant: Namespace, other_tenant: Namespace, caps: Callable[..., None]
):
    caps(month_cost=0.003)
    require_room(PAID, tenant.pk)
    book_usage(PAID, tenant.pk, Usage(1000, 100))
    with pytest.raises(LanguageModelCostCap):
        require_room(PAID, tenant.pk)
    require_room(FREE, tenant.pk)
    require_room(PAID, other_tenant.pk)


@pytest.mark.usefixtures("db")
def test_books_that_cannot_be_written_do_not_fail_an_answer(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.WARNING):
        assert book_usage(PAID, uuid.uuid4(), Usage(1000, 100)) == Decimal("0.003")
    (record,) = caplog.records
    assert record.message == "language_model.usage_not_booked"
