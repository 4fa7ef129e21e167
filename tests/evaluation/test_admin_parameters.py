"""The admin's own pages, asked with ids and numbers that are none: 404 or a sentence, never 500."""

import uuid

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import reverse

from evaluation.models import EvaluationRun, GoldenSet
from ragsite.database.tenancy import operator
from retrieval.models import QueryLog

ODD = ("notauuid", "", "0", "-1", "%00", "'", "9" * 40, "é", "00000000-0000-0000-0000")


@pytest.fixture
def strict(boss: Client) -> Client:
    boss.raise_request_exception = False
    return boss


def test_judging_a_query_that_is_none(strict: Client, golden_set: GoldenSet):
    page = reverse("admin:evaluation_goldenset_judge", args=[golden_set.pk])
    for odd in ODD:
        assert strict.get(f"{page}?query={odd}").status_code == 404, odd
    assert strict.get(f"{page}?query={uuid.uuid4()}").status_code == 404


def test_judging_with_fields_that_are_none(strict: Client, golden_set: GoldenSet):
    page = reverse("admin:evaluation_goldenset_judge", args=[golden_set.pk])
    for odd in ("notauuid", "0", "-1", "'", "9" * 40, "\x00"):
        for fields in (
            {"document": odd, "grade": "3"},
            {"remove": odd},
            {"document": str(uuid.uuid4()), "grade": odd},
            {"document": str(uuid.uuid4())},
        ):
            answer = strict.post(page, {"q": "lights?", **fields})
            assert answer.status_code in (302, 404), (odd, fields)


def test_grades_and_places_that_are_none(strict: Client, golden_set: GoldenSet):
    with operator():
        from documents.models import Document

        document = Document.objects.first()
    assert document
    page = reverse("admin:evaluation_goldenset_judge", args=[golden_set.pk])
    for fields in (
        {"grade": "x"},
        {"grade": "99"},
        {},
        {"grade": "3", "start": "x", "end": "1"},
        {"grade": "3", "start": "1"},
        {"grade": "3", "start": "9" * 30, "end": "9" * 31},
        {"grade": "3", "start": "-5", "end": "-1"},
    ):
        answer = strict.post(page, {"q": "lights?", "document": str(document.pk), **fields})
        assert answer.status_code in (302, 404), fields


def test_comparing_runs_that_are_none(strict: Client, golden_set: GoldenSet):
    compare = reverse("admin:evaluation_evaluationrun_compare")
    for odd in ODD:
        assert strict.get(f"{compare}?a={odd}&b={odd}").status_code == 404, odd


def test_a_set_beside_an_action_that_is_none(strict: Client, golden_set: GoldenSet):
    page = reverse("admin:retrieval_querylog_changelist")
    with operator():
        line = QueryLog.objects.create(
            namespace_id=golden_set.namespace_id, query="q", hits=0, id=uuid.uuid4()
        )
    for odd in ("notauuid", "0", "'"):
        fields = {"action": "add_to_golden_set", "_selected_action": str(line.pk)}
        answer = strict.post(page, {**fields, "golden_set": odd})
        assert answer.status_code in (302, 404), odd


@pytest.mark.usefixtures("db")
def test_every_row_address_and_filter_with_odd_ids(strict: Client):
    assert EvaluationRun in admin.site._registry
    for model in admin.site._registry:
        meta = model._meta
        base = reverse(f"admin:{meta.app_label}_{meta.model_name}_changelist")
        for odd in ("notauuid", "0", "%27", "%00"):
            for page in ("change", "delete", "history"):
                answer = strict.get(f"{base}{odd}/{page}/")
                assert answer.status_code < 500, (base, odd, page)
            for name in (
                "namespace__id__exact",
                "id__exact",
                "o",
                "p",
                "document__id__exact",
                "q",
                "golden_set__id__exact",
                "query_log__id__exact",
                "created_at__year",
            ):
                answer = strict.get(f"{base}?{name}={odd}")
                assert answer.status_code < 500, (base, name, odd)
