"""The function that django-q2 calls. It only wakes a worker, so losing a call loses no work."""

from documents.jobs import heartbeat
from evaluation.runs.runner import evaluate

from .runs import lifecycle


def run_next_evaluation() -> None:
    """Run the next evaluation run of any namespace."""
    heartbeat.beat(heartbeat.group())
    if claim := lifecycle.claim_next():
        evaluate(claim, progress=lambda done, total: heartbeat.beat(heartbeat.group()))


# The name from before 0.2: a database may still have queued tasks that call it.
answer_bell = run_next_evaluation
