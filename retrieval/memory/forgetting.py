"""Erase facts, and the questions of the query log that name what was erased."""

import re
import uuid

from django.db.models import Q

from documents.memory.erasing import Erased, ErasureSelection, erase
from documents.models import FactErasure
from ragsite.database.tenancy import namespace
from retrieval import query_log
from retrieval.models import QueryLog

MIN_CHARACTERS = 3  # shorter words occur in too many questions
BATCH = 100


def forget(namespace_id: uuid.UUID, selection: ErasureSelection) -> Erased:
    """Erase; return the receipt and what is left in tables. Call it outside of transactions."""
    erased = erase(namespace_id, selection)
    names = {name for name in erased.names if len(name) >= MIN_CHARACTERS}
    receipt = erased.receipt
    if names:
        query_log.flush()
        with namespace(namespace_id):
            receipt.queries = _delete_queries(sorted(names))
            FactErasure.objects.filter(pk=receipt.pk).update(queries=receipt.queries)
    return erased


def _delete_queries(names: list[str]) -> int:
    deleted = 0
    for start in range(0, len(names), BATCH):
        mentioned = Q()
        for name in names[start : start + BATCH]:
            mentioned |= Q(query__iregex=rf"(^|\W){re.escape(name)}($|\W)")
        deleted += QueryLog.objects.filter(mentioned).delete()[0]
    return deleted
