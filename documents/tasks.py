"""What django-q2 calls: thin doors to the pipelines. Losing one of these calls loses nothing."""

from . import heartbeat, jobs
from .ingestion import ingest


def answer_bell() -> None:
    """Somebody rang: do the next job, whosever it is."""
    group = heartbeat.group()
    heartbeat.beat(group)
    if claim := jobs.claim(group):
        ingest(claim)


def show_sign_of_life() -> None:
    heartbeat.beat(heartbeat.group())
