"""The operators' pages about jobs: errors and reasons as sentences, stages, buttons."""

import html
import re
from collections.abc import Callable
from typing import Any

from django.test import Client
from django.urls import reverse

from documents.jobs import heartbeat
from documents.models import IngestJob, Namespace
from ragsite.database.tenancy import operator

from ..client import Api

LONG = "Supercalifragilistic" * 12


def page(client: Client, name: str, *args: Any) -> str:
    answer = client.get(reverse(f"admin:documents_ingestjob_{name}", args=args))
    assert answer.status_code == 200, answer.status_code
    return html.unescape(answer.content.decode())


def job_of(**wanted: Any) -> IngestJob:
    with operator():
        return IngestJob.objects.get(**wanted)


def test_a_failed_job_shows_its_sentence(api: Api, boss: Client, work: Callable[[], int]):
    api.upload(("blank.md", " \n "))
    work()
    job = job_of(state="failed")
    assert job.error_message
    assert job.error_message in page(boss, "changelist")
    shown = page(boss, "change", job.pk)
    assert f"<strong>{job.error_code}</strong>: {job.error_message}" in shown
    assert "Try again" in shown
    assert "Cancel …" not in shown


def test_a_waiting_job_says_why(api: Api, boss: Client):
    heartbeat.beat("a-worker")
    api.upload(("a.md", "# A\n\nText."))
    for name, args in (("changelist", ()), ("change", (job_of().pk,))):
        assert "It is next in its namespace" in page(boss, name, *args)
    assert "No stage is done yet" in page(boss, "change", job_of().pk)


def test_a_finished_job_shows_its_stages_in_order(
    api: Api, boss: Client, work: Callable[[], int], tenant: Namespace
):
    api.upload(("a.md", "# A\n\nText."))
    work()
    shown = page(boss, "change", job_of().pk)
    stages = re.findall(r"<dt>(extract|split|embed|store)</dt>", shown)
    assert stages == [s for s in ("extract", "split", "embed", "store") if s in stages]
    assert len(stages) >= 3
    assert "This is its only job." in shown
    assert reverse("admin:documents_namespace_change", args=[tenant.pk]) in shown


def test_the_buttons_ask_first_where_something_is_lost(
    api: Api, boss: Client, onlooker: Client, work: Callable[[], int]
):
    api.upload(("a.md", "# A\n\nText."))
    job = job_of()
    assert 'value="cancel"' in page(boss, "change", job.pk)
    assert 'value="cancel"' not in page(onlooker, "change", job.pk)
    listed = reverse("admin:documents_ingestjob_changelist")
    posted = {"action": "cancel", "_selected_action": str(job.pk)}
    asked = boss.post(listed, posted)
    assert "Cancel 1 job?" in asked.content.decode()
    assert job_of().state == "queued"
    boss.post(listed, {**posted, "confirmed": asked.context["fingerprint"]})
    assert job_of().state == "cancelled"


def test_the_newest_come_first_with_few_statements(
    api: Api, boss: Client, django_assert_max_num_queries: Any
):
    for start in range(0, 60, 20):
        api.upload(*[(f"doc-{n:02}.md", f"# Doc {n}\n\n{LONG}") for n in range(start, start + 20)])
    with django_assert_max_num_queries(16, using="operator"):
        shown = boss.get(reverse("admin:documents_ingestjob_changelist"))
    moments = [job.created_at for job in shown.context["cl"].result_list]
    assert moments == sorted(moments, reverse=True)
    assert len(moments) == 50


def test_failed_jobs_are_found_by_their_code(api: Api, boss: Client, work: Callable[[], int]):
    api.upload(("blank.md", " \n "), ("a.md", "# A\n\nText."))
    work()
    listed = reverse("admin:documents_ingestjob_changelist")
    code = job_of(state="failed").error_code
    assert f'href="?error_code={code}"' in page(boss, "changelist")
    assert 'href="?error_code="' not in page(boss, "changelist")
    found = boss.get(listed, {"error_code": code}).context["cl"].result_list
    assert [job.error_code for job in found] == [code]


def test_ids_that_are_none(boss: Client):
    for odd in ("notauuid", "0", "00000000-0000-0000-0000-000000000000"):
        address = reverse("admin:documents_ingestjob_change", args=[odd])
        assert boss.get(address).status_code == 404, odd
