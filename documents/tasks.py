"""What django-q2 calls: thin doors to the pipelines. Losing one of these calls loses nothing."""

import uuid

from documents.ingestion.pipeline import ingest

from .accounts import namespace_removal
from .ingestion import bulk_removal
from .jobs import heartbeat, queue
from .reindex import build, switching


def answer_bell() -> None:
    """Somebody rang: do the next job, whosever it is; if there is none, build at a reindex."""
    group = heartbeat.group()
    heartbeat.beat(group)
    if claim := queue.claim(group):
        ingest(claim)
    elif at_hand := build.claim(group):
        build.build(at_hand)


def show_sign_of_life() -> None:
    heartbeat.beat(heartbeat.group())


def remove_documents() -> None:
    """Bells of their own: neither waits for a queue of the other."""
    heartbeat.beat(heartbeat.group())
    bulk_removal.work()


def sweep_reindexed(namespace_id: str) -> None:
    heartbeat.beat(heartbeat.group())
    switching.sweep(uuid.UUID(namespace_id))


def remove_namespace(removal_id: str) -> None:
    heartbeat.beat(heartbeat.group())
    namespace_removal.carry_out(uuid.UUID(removal_id), seconds=namespace_removal.TASK_SECONDS)
