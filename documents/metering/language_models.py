"""Tokens and cost of language models: recorded per namespace, month and model, and capped.

Call these outside of transactions: each opens its own short one.
"""

import logging
import uuid
from datetime import date
from decimal import Decimal

from django.conf import settings
from django.db import Error as DatabaseError
from django.db.models import F, Sum

from documents.language_models.base import LanguageModel, LanguageModelCostCap, Usage
from documents.metering.embeddings import MILLION, this_month
from documents.models import LanguageModelUsage
from ragsite.database.tenancy import current_connection, namespace, reading_from
from ragsite.platform import metrics

logger = logging.getLogger(__name__)

_BOOK = """
    INSERT INTO documents_languagemodelusage AS so_far
        (namespace_id, month, model_identity, calls, prompt_tokens, completion_tokens, cost)
    VALUES (%(namespace)s, %(month)s, %(model)s, %(calls)s, %(prompt)s, %(completion)s, %(cost)s)
    ON CONFLICT (namespace_id, month, model_identity) DO UPDATE
        SET calls = so_far.calls + excluded.calls,
            prompt_tokens = so_far.prompt_tokens + excluded.prompt_tokens,
            completion_tokens = so_far.completion_tokens + excluded.completion_tokens,
            cost = so_far.cost + excluded.cost
"""


def book_usage(
    model: LanguageModel, namespace_id: uuid.UUID, usage: Usage, *, calls: int = 1
) -> Decimal | None:
    """Book usage for the namespace; return the cost, or None for a model without a price.

    A database error is only logged: the user still gets the answer.
    """
    cost = cost_of(model, usage)
    metrics.LANGUAGE_MODEL_TOKENS.labels("prompt").inc(usage.prompt_tokens)
    metrics.LANGUAGE_MODEL_TOKENS.labels("completion").inc(usage.completion_tokens)
    metrics.LANGUAGE_MODEL_COST.inc(float(cost or 0))
    values: dict[str, uuid.UUID | date | str | int | Decimal] = {
        "namespace": namespace_id,
        "month": this_month(),
        "model": model.identity,
        "calls": calls,
        "prompt": usage.prompt_tokens,
        "completion": usage.completion_tokens,
        "cost": cost or Decimal(0),
    }
    try:
        with (
            reading_from("default"),  # a replica is read-only
            namespace(namespace_id),
            current_connection().cursor() as cursor,
        ):
            cursor.execute(_BOOK, values)
    except DatabaseError:
        tokens = usage.prompt_tokens + usage.completion_tokens
        fields = {"model": model.identity, "tokens": tokens, "calls": calls}
        logger.warning("language_model.usage_not_booked", extra=fields, exc_info=True)
    return cost


def cost_of(model: LanguageModel, usage: Usage) -> Decimal | None:
    """Return the cost in the operator's currency; None for a model without a price."""
    if not model.price_in and not model.price_out:
        return None
    price_in, price_out = Decimal(str(model.price_in)), Decimal(str(model.price_out))
    return (usage.prompt_tokens * price_in + usage.completion_tokens * price_out) / MILLION


def require_room(model: LanguageModel, namespace_id: uuid.UUID) -> None:
    """Raise LanguageModelCostCap once the namespace has reached a monthly cap.

    The usage of a call is not known in advance, so the last one may exceed the cap.
    """
    caps = settings.LANGUAGE_MODEL_CAPS
    if not any(caps.values()):
        return
    with namespace(namespace_id):
        tokens, cost = usage_in(namespace_id, this_month())
    if caps["month_tokens"] and tokens >= caps["month_tokens"]:
        raise LanguageModelCostCap(
            f"This month's {caps['month_tokens']:,} tokens of language models are used up."
        )
    is_paid = bool(model.price_in or model.price_out)
    if is_paid and caps["month_cost"] and cost >= Decimal(str(caps["month_cost"])):
        raise LanguageModelCostCap(
            f"This month's budget of {caps['month_cost']} for language models is used up."
        )


def usage_in(namespace_id: uuid.UUID, month: date) -> tuple[int, Decimal]:
    """Return the month's tokens and cost of all models. Inside namespace()."""
    rows = LanguageModelUsage.objects.filter(namespace_id=namespace_id, month=month)
    sums = rows.aggregate(tokens=Sum(F("prompt_tokens") + F("completion_tokens")), cost=Sum("cost"))
    return sums["tokens"] or 0, sums["cost"] or Decimal(0)
