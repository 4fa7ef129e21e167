"""What all lists of the admin have in common: counts in words, hints where there is nothing, and
indexes behind the order of the long ones."""

import html
import re
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.db import connections
from django.test import Client
from django.urls import reverse

from documents.admin.paging import COUNTED, BoundedPaginator
from documents.models import AuditEvent, Collection, Fact, IngestJob, Namespace
from evaluation.models import EvaluationRun, Feedback, GoldenSet
from ragsite.database.tenancy import operator
from retrieval.models import QueryLog

from ..client import Api

ROWS = 4000
NEVER_EMPTY = {"auth.User", "documents.IndexProfile", "documents.Namespace", "documents.AuditEvent"}


def owner_sql(statement: str, parameters: list[object] | None = None) -> None:
    with connections["owner"].cursor() as cursor:
        cursor.execute(statement, parameters)


def listed(model: Any) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")


def page(client: Client, address: str, **query: Any) -> str:
    answer = client.get(address, query)
    assert answer.status_code == 200, (address, answer.status_code)
    return html.unescape(answer.text)


def log(tenant: Namespace, *questions: str) -> None:
    with operator():
        for question in questions:
            QueryLog.objects.create(namespace=tenant, query=question, hits=1, cache="miss")


def test_lists_count_in_plain_words(boss: Client, tenant: Namespace, api: Api):
    log(tenant, "how tall is the tower")
    assert "1 question\n" in page(boss, listed(QueryLog))
    log(tenant, "how old is the tower")
    assert "2 questions\n" in page(boss, listed(QueryLog))
    api.upload(("a.md", "# A\n\nText."))
    assert "1 job\n" in page(boss, listed(IngestJob))


def test_an_empty_list_says_what_to_do_next(boss: Client, tenant: Namespace):
    checked = 0
    for model in admin.site._registry:
        if model._meta.label in NEVER_EMPTY:
            continue
        with operator():
            if model._default_manager.exists():
                continue
        shown = page(boss, listed(model))
        assert 'class="empty"' in shown, model
        assert "There are no " in shown, model
        may_add = admin.site._registry[model].has_add_permission(
            boss.get(listed(model)).wsgi_request
        )
        assert ("Add the first one" in shown) or not may_add or "Upload some" in shown, model
        assert "There are no query log" not in shown
        checked += 1
    assert checked > 15
    assert "“Start a run”" in page(boss, listed(EvaluationRun))
    assert f'href="{reverse("admin:evaluation_goldenset_add")}"' in page(boss, listed(GoldenSet))


def test_a_search_without_results_leads_back_to_all(boss: Client, tenant: Namespace):
    log(tenant, "how tall is the tower")
    shown = page(boss, listed(QueryLog), q="zeppelin")
    assert "No question matches" in shown
    assert f'<a href="{listed(QueryLog)}">Show all</a>' in shown


def test_a_narrowed_list_names_the_choice(boss: Client, tenant: Namespace, other_tenant: Namespace):
    log(tenant, "how tall is the tower")
    boss.post(reverse("admin:choose_namespace"), {"namespace": str(other_tenant.pk)})
    shown = page(boss, listed(QueryLog))
    assert "There are no questions yet in the namespace you chose" in shown
    assert "Choose “All namespaces” above" in shown


def test_no_list_counts_every_row():
    for model, model_admin in admin.site._registry.items():
        assert issubclass(model_admin.paginator, BoundedPaginator), model
        assert not model_admin.show_full_result_count, model
        assert model_admin.show_facets is admin.ShowFacets.NEVER, model


def test_lists_and_their_pages_speak_no_code(boss: Client, tenant: Namespace, api: Api):
    """No names of apps in the trail, no "By created at" beside the list."""
    api.upload(("a.md", "# A\n\nText."))
    log(tenant, "how tall is the tower")
    for model in admin.site._registry:
        shown = page(boss, listed(model))
        trail = shown.partition('class="breadcrumbs"')[2].partition("</div>")[0]
        assert trail.count("<a ") == 1, (model, trail)
        filters = shown.partition('id="changelist-filter"')[2]
        for word in ("By ", "Created at", "created at", "Not empty"):
            assert word not in filters, (model, word)
    trail = page(boss, f"{listed(Namespace)}{tenant.pk}/change/").partition('"breadcrumbs"')[2]
    assert ">Namespaces</a>" in trail.partition("</div>")[0]
    assert trail.partition("</div>")[0].count("<a ") == 2
    for app in ("documents", "retrieval", "evaluation", "auth"):
        assert boss.get(reverse("admin:app_list", args=[app])).url == reverse("admin:index")


def test_a_moment_is_relative_and_exact_on_hover(boss: Client, tenant: Namespace, api: Api):
    api.post("collections", {"name": "Manuals"})
    shown = page(boss, listed(Collection))
    assert re.search(r'field-created_at nowrap">|field-created_at">', shown)
    assert '<time datetime="' in shown


@pytest.mark.parametrize("state", ["held", "ended", "retracted", "proposed", "rejected", "odd"])
def test_facts_are_filtered_by_the_state_that_is_shown(boss: Client, api: Api, state: str):
    api.post("facts", {"subject": "Ada", "predicate": "lives in", "object": "Porto"})
    found = boss.get(listed(Fact), {"state": state}).context["cl"].result_list
    assert len(found) == (state in ("held", "odd"))


def test_the_audit_log_is_filtered_by_what_was_done(boss: Client, tenant: Namespace, api: Api):
    api.post("collections", {"name": "Manuals"})
    shown = page(boss, listed(AuditEvent), action="collection.create", namespace_slug=tenant.slug)
    assert "created the collection “Manuals”" in shown
    assert "Collection: created" in shown
    assert page(boss, listed(AuditEvent), namespace_slug="-")
    gone = page(boss, listed(AuditEvent), namespace_slug="long-gone", action="odd.deed")
    assert "No audit event matches" in gone
    assert "long-gone" in gone


@pytest.mark.parametrize("model", [IngestJob, QueryLog, AuditEvent, Feedback, Fact])
def test_long_lists_offer_no_counts_beside_their_filters(boss: Client, model: Any):
    assert "Show counts" not in page(boss, listed(model))


def plan_of(client: Client, model: Any) -> str:
    rows = client.get(listed(model)).context["cl"].queryset
    with operator():
        return str(rows[:50].explain())


def test_the_list_of_all_jobs_reads_an_index_in_its_order(
    boss: Client, tenant: Namespace, api: Api
):
    api.upload(("a.md", "# A\n\nText."))
    owner_sql(
        "INSERT INTO documents_ingestjob (id, namespace_id, document_id, version_id, state, stage, "
        "attempts, max_attempts, worker, passages_total, passages_done, times_ms, "
        "embedding_tokens, embedding_cost, error_code, error_message, request_id, created_at) "
        "SELECT gen_random_uuid(), namespace_id, document_id, version_id, 'succeeded', 'done', 1, "
        "3, '', 0, 0, '{}', 0, 0, '', '', '', now() - n * interval '1 minute' "
        "FROM documents_ingestjob, generate_series(1, %s) n",
        [ROWS],
    )
    owner_sql("ANALYZE documents_ingestjob, documents_document")
    assert "job_newest_of_all" in plan_of(boss, IngestJob)


def test_the_list_of_all_questions_reads_an_index_in_its_order(boss: Client, tenant: Namespace):
    log(tenant, "how tall is the tower")
    owner_sql(
        "INSERT INTO retrieval_querylog (id, namespace_id, request_id, query, filters, options, "
        "hits, cache, fallbacks, times_ms, created_at) "
        "SELECT gen_random_uuid(), namespace_id, '', query, filters, options, hits, cache, "
        "fallbacks, times_ms, now() - n * interval '1 minute' "
        "FROM retrieval_querylog, generate_series(1, %s) n",
        [COUNTED + 1],
    )
    owner_sql("ANALYZE retrieval_querylog, documents_namespace")
    assert "query_log_newest_of_all" in plan_of(boss, QueryLog)
    assert "10,000+ questions" in page(boss, listed(QueryLog))


def test_every_input_of_a_form_has_a_name(boss: Client, tenant: Namespace):
    with operator():
        user = User.objects.get(is_superuser=True)
    shown = page(boss, reverse("admin:auth_user_change", args=[user.pk]))
    for label in ("Last login, date", "Last login, time", "Date joined, date"):
        assert f'aria-label="{label}"' in shown
    assert 'aria-label="Namespace"' in shown
    assert "admin_kit/chooser" in shown
    form = page(boss, reverse("admin:evaluation_goldenset_add"))
    assert 'aria-label="Text"' in form
