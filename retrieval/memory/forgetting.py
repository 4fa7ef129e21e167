"""Erase facts, and the questions that name what was erased: those of the query log, and those that
the app above keeps."""

import re
import uuid
from collections.abc import Callable, Collection, Sequence
from itertools import product
from typing import Any

from django.db.models import Q, QuerySet

from documents.memory.erasing import Erased, ErasureSelection, erase
from documents.models import FactErasure
from ragsite.database.tenancy import namespace
from retrieval import query_log
from retrieval.models import QueryLog

MIN_CHARACTERS = 3  # shorter words occur in too many questions
BATCH = 100

# The rows of another app that hold people's words, and in which fields. Called inside namespace().
KeepsWords = Callable[[], tuple[QuerySet[Any], Sequence[str]]]

_keepers: list[KeepsWords] = []


def also_in(keeper: KeepsWords) -> None:
    """Let the erasure of a subject delete these rows, too, where they name it. Not where they name
    an object: what is worth keeping would go with words such as "tea"."""
    if keeper not in _keepers:
        _keepers.append(keeper)


def forget(namespace_id: uuid.UUID, selection: ErasureSelection) -> Erased:
    """Erase; return the receipt and what is left in tables. Call it outside of transactions."""
    erased = erase(namespace_id, selection)
    receipt = erased.receipt
    if erased.names:
        query_log.flush()
        with namespace(namespace_id):
            receipt.queries = _delete_naming(erased.names, QueryLog.objects.all(), ("query",))
            for keeper in _keepers:
                receipt.queries += _delete_naming(erased.called, *keeper())
            FactErasure.objects.filter(pk=receipt.pk).update(queries=receipt.queries)
    return erased


def _delete_naming(names: Collection[str], rows: QuerySet[Any], fields: Sequence[str]) -> int:
    deleted = 0
    wanted = sorted(name for name in names if len(name) >= MIN_CHARACTERS)
    for start in range(0, len(wanted), BATCH):
        mentioned = Q()
        for name, field in product(wanted[start : start + BATCH], fields):
            mentioned |= Q(**{f"{field}__iregex": rf"(^|\W){re.escape(name)}($|\W)"})
        deleted += rows.filter(mentioned).delete()[0]
    return deleted
