"""The functions that django-q2 calls. They only wake workers, so losing a call loses no work."""

import uuid

from documents.ingestion.pipeline import ingest

from .accounts import namespace_removal
from .ingestion import bulk_removal
from .jobs import heartbeat, queue
from .reindex import build, switching
from .stores import feeding
from .webhooks import delivering


def run_next_job() -> None:
    """Run the next ingest job of any namespace; if there is none, work on a reindex."""
    group = heartbeat.group()
    heartbeat.beat(group)
    if job_claim := queue.claim(group):
        ingest(job_claim)
    elif build_claim := build.claim(group):
        build.build(build_claim)


def send_heartbeat() -> None:
    heartbeat.beat(heartbeat.group())


def remove_documents() -> None:
    """Work on bulk deletions, in a separate task, so that jobs and deletions do not wait for each
    other."""
    heartbeat.beat(heartbeat.group())
    bulk_removal.work()


def feed_stores() -> None:
    """Sync search stores with recent changes."""
    heartbeat.beat(heartbeat.group())
    feeding.work()


def check_stores() -> None:
    heartbeat.beat(heartbeat.group())
    feeding.check()


def deliver_webhooks() -> None:
    """Send events to webhooks, in a separate task, so that slow receivers do not delay jobs."""
    heartbeat.beat(heartbeat.group())
    delivering.work()


def sweep_reindexed(namespace_id: str) -> None:
    heartbeat.beat(heartbeat.group())
    switching.sweep(uuid.UUID(namespace_id))


def remove_namespace(removal_id: str) -> None:
    heartbeat.beat(heartbeat.group())
    namespace_removal.run_removal(uuid.UUID(removal_id), seconds=namespace_removal.TASK_SECONDS)


# Names from before 0.2: a database may still have queued tasks that call them.
answer_bell = run_next_job
show_sign_of_life = send_heartbeat
