"""The functions that django-q2 calls by their dotted path."""

import pytest
from django.utils.module_loading import import_string

from documents import tasks
from documents.jobs import heartbeat
from documents.models import Namespace

from .test_jobs import job_row, submit


def test_a_wake_up_runs_one_job_and_sends_a_heartbeat(tenant: Namespace):
    assert heartbeat.youngest_age() is None
    first, second = submit(tenant, "a.md"), submit(tenant, "b.md")
    tasks.run_next_job()
    assert job_row(first.job_id).state == "succeeded"
    assert job_row(second.job_id).state == "queued"
    assert heartbeat.age(heartbeat.group()) < 60
    tasks.run_next_job()
    tasks.run_next_job()  # nothing left to do
    tasks.send_heartbeat()
    assert job_row(second.job_id).state == "succeeded"


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("documents.tasks.answer_bell", "documents.tasks.run_next_job"),
        ("documents.tasks.show_sign_of_life", "documents.tasks.send_heartbeat"),
        ("evaluation.tasks.answer_bell", "evaluation.tasks.run_next_evaluation"),
    ],
)
def test_tasks_that_an_earlier_release_queued_still_run(before: str, now: str):
    assert import_string(before) is import_string(now)
