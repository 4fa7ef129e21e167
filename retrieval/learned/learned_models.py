"""The namespaces' trained models for the reranker `learned`: find, install and remove them."""

import uuid
from collections.abc import Mapping
from typing import Any

from documents.accounts import audit
from documents.ingestion.revision import content_changed
from ragsite.database.tenancy import namespace
from retrieval.models import LearnedModel
from retrieval.rerankers.linear import LinearModel


def find(namespace_id: uuid.UUID) -> LinearModel | None:
    """Return the namespace's model. Raises ValueError for one of an incompatible release."""
    with namespace(namespace_id):
        stored = LearnedModel.objects.values_list("model", flat=True).first()
    return None if stored is None else LinearModel.from_data(stored)


def install(
    namespace_id: uuid.UUID,
    model: LinearModel,
    *,
    metrics: Mapping[str, Any],
    training: Mapping[str, Any],
) -> LearnedModel:
    """Replace the namespace's model, and invalidate its cached results."""
    with namespace(namespace_id):
        LearnedModel.objects.all().delete()
        row = LearnedModel.objects.create(
            namespace_id=namespace_id,
            model=model.as_data(),
            metrics=dict(metrics),
            training=dict(training),
        )
        content_changed(namespace_id)
        audit.record("reranker.install", target=row, details={"metrics": dict(metrics)})
    return row


def remove(namespace_id: uuid.UUID) -> bool:
    """Remove the namespace's model; return whether there was one."""
    with namespace(namespace_id):
        removed, _ = LearnedModel.objects.all().delete()
        if removed:
            content_changed(namespace_id)
            audit.record("reranker.remove", namespace=namespace_id)
    return removed > 0
