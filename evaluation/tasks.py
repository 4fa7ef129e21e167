"""What django-q2 calls: a thin door. Losing one of these calls loses nothing."""

from documents.jobs import heartbeat
from evaluation.runs.runner import evaluate

from .runs import lifecycle


def answer_bell() -> None:
    """Somebody rang: do the next run, whosever it is."""
    heartbeat.beat(heartbeat.group())
    if claim := lifecycle.claim_next():
        evaluate(claim, progress=lambda done, total: heartbeat.beat(heartbeat.group()))
