"""Compare a store with the tables: by count, by id, and by searching a sample."""

import random
import uuid
from collections.abc import Iterator, Sequence

from documents.models import Chunk, IndexProfile
from ragsite.database.tenancy import namespace, operator

from . import marks, outbox, registry
from .base import StoreQuestion

SAMPLES = 20  # number of chunks that must find themselves
NEAREST = 10
SEARCH_SECONDS = 10.0


def rows_of(namespaces: Sequence[uuid.UUID], profile: IndexProfile) -> int:
    """Return how many chunks of these namespaces the store should hold."""
    with operator():
        return Chunk.objects.filter(namespace__in=namespaces, profile=profile).count()


def held_of(namespace_id: uuid.UUID, profile: IndexProfile) -> int:
    """Return how many chunks the store has. Raises StoreFailed."""
    store, collection = registry.store_of(profile), registry.collection_of(profile)
    if store.mark(collection) is None:
        return 0  # there is no collection yet
    return store.count(collection, namespace_id)


def outdated_documents(namespace_id: uuid.UUID, profile: IndexProfile) -> Iterator[str]:
    """Yield documents of which the store lacks chunks, or does not find one by its vector; and the
    namespace, if it holds more or has lost data. Those that wait to be synced are not wrong.
    Raises StoreFailed, and StoreMisfit."""
    store, collection = registry.store_of(profile), registry.collection_of(profile)
    is_whole = marks.holds_all(profile)
    held = set(store.held(collection, namespace_id)) if is_whole else set()
    with namespace(namespace_id):
        waiting = outbox.pending(namespace_id, profile.pk, at_most=1_000_000)
        chunks = Chunk.objects.filter(namespace=namespace_id, profile=profile)
        rows = dict(chunks.values_list("pk", "document_id"))
    if not is_whole:
        if set(rows.values()) - waiting:
            yield str(namespace_id)
        return
    known = {pk for pk in held if pk in rows}
    wrong = {document_id for pk, document_id in rows.items() if pk not in known}
    surplus = len(held) - len(known)
    for chunk_id in _lost(namespace_id, profile, _sampled(known)):
        wrong.add(rows[chunk_id])
    yield from map(str, sorted(wrong - waiting))
    # A chunk that is not in the tables has no document.
    if surplus and not waiting:
        yield str(namespace_id)


def _sampled(known: set[uuid.UUID]) -> list[uuid.UUID]:
    return random.sample(sorted(known), min(SAMPLES, len(known)))


def _lost(
    namespace_id: uuid.UUID, profile: IndexProfile, chunk_ids: Sequence[uuid.UUID]
) -> Iterator[uuid.UUID]:
    """Yield chunks that a search with their own vector does not find."""
    store, collection = registry.store_of(profile), registry.collection_of(profile)
    with namespace(namespace_id):
        chunks = Chunk.objects.filter(pk__in=chunk_ids)
        vectors = list(chunks.values_list("pk", "embedding"))
    for chunk_id, vector in vectors:
        question = StoreQuestion([float(x) for x in vector], None, NEAREST)
        found = store.search(collection, namespace_id, question, seconds=SEARCH_SECONDS)
        scores = [score for _, score in found.dense]
        # If ten others have the same text, any of them is correct.
        if chunk_id not in dict(found.dense) and (not scores or min(scores) < 0.999):
            yield chunk_id
