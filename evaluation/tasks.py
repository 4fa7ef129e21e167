"""What django-q2 calls: a thin door. Losing one of these calls loses nothing."""

from documents import heartbeat

from . import run_lives
from .runner import evaluate


def answer_bell() -> None:
    """Somebody rang: do the next run, whosever it is."""
    heartbeat.beat(heartbeat.group())
    if claim := run_lives.claim_next():
        evaluate(claim, progress=lambda done, total: heartbeat.beat(heartbeat.group()))
