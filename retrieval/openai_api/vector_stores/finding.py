"""Look up the rows that the ids in a request refer to. Inside namespace()."""

import uuid
from collections.abc import Mapping
from typing import Any

from documents.collections import membership
from documents.models import Collection, CollectionBatch, CollectionDocument
from retrieval.openai_api.ids import BATCH, FILE, STORE, missing, read_id


def find_store(store_id: str, param: str = "vector_store_id") -> Collection:
    found = Collection.objects.filter(pk=read_id(STORE, store_id, param)).first()
    if found is None:
        raise missing(STORE, param)
    return found


def find_file(store: Collection, file_id: str, param: str = "file_id") -> CollectionDocument:
    members = membership.members_of(store)
    found = members.filter(document=read_id(FILE, file_id, param)).first()
    if found is None:
        raise missing(FILE, param)
    return found


def find_batch(store: Collection, batch_id: str) -> CollectionBatch:
    batches = CollectionBatch.objects.filter(collection=store).select_related("collection")
    found = batches.filter(pk=read_id(BATCH, batch_id, "batch_id")).first()
    if found is None:
        raise missing(BATCH, "batch_id")
    return found


def add_files(
    store: Collection, attributes: Mapping[uuid.UUID, Any], param: str
) -> dict[uuid.UUID, CollectionDocument]:
    try:
        return membership.add(store, attributes)
    except membership.UnknownDocuments:
        raise missing(FILE, param) from None
