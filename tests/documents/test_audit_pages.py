"""The audit log as operators read it: sentences, links, and filters."""

import ast
import uuid
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from documents.accounts import audit
from documents.admin.records.sentences import deed, heading
from documents.models import Namespace
from ragsite.access.actor import USER, Actor, acting_as

RECORDERS = ("audit.record", "_audit")
LIST = "admin:documents_auditevent_changelist"


@pytest.mark.parametrize(
    ("action", "count", "label", "words"),
    [
        ("login", 1, "ada", "signed in"),
        ("key.revoke", 1, "ci", "revoked the API key “ci”"),
        ("key.revoke", 3, "", "revoked 3 API keys"),
        ("document.delete_many", 1200, "", "deleted 1,200 documents"),
        ("document.reindex", 2, "", "indexed again: 2 documents"),
        ("namespace.deleted", 4, "old", "finished deleting the namespace “old”, 4 rows"),
        ("goldenquery.delete", 2, "", "deleted 2 golden queries"),
        ("predicate_rule.set", 1, "sponsor", "set the predicate rule “sponsor”"),
        ("collection.add", 1, "Laws", "added documents to the collection “Laws”"),
        ("document.move_out", 1, "a.md", "moved away the document “a.md”"),
        ("something.new", 1, "x", "something.new: x"),
    ],
)
def test_events_are_told_in_words(action: str, count: int, label: str, words: str):
    assert deed(action, count=count, label=label) == words


def test_everything_that_is_recorded_has_words():
    """Every action that the code names literally."""
    root = Path(audit.__file__).parents[2]
    told = set()
    for app in ("documents", "retrieval", "evaluation", "ragsite"):
        for path in (root / app).rglob("*.py"):
            for call in ast.walk(ast.parse(path.read_text())):
                if isinstance(call, ast.Call) and ast.unparse(call.func) in RECORDERS:
                    first = call.args[0] if call.args else None
                    if isinstance(first, ast.Constant):
                        told.add(str(first.value))
    assert len(told) > 30
    assert "reindex.start" in told
    assert [action for action in sorted(told) if heading(action) == action] == []


def test_the_history_of_a_row_is_what_the_audit_log_has_of_it(boss: Client, tenant: Namespace):
    with acting_as(Actor(USER, "ada", "192.0.2.7")):
        audit.record("namespace.change", namespace=tenant, target=tenant)
    audit.record("document.delete", count=3)
    history = reverse("admin:documents_namespace_history", args=[tenant.pk])
    listed = boss.get(history, follow=True)
    events = listed.context["cl"].result_list
    assert {event.action for event in events} == {"namespace.change", "namespace.create"}
    assert boss.get(history.replace(str(tenant.pk), str(uuid.uuid4()))).status_code == 404


def test_the_log_reads_as_sentences_with_links(boss: Client, tenant: Namespace):
    with acting_as(Actor(USER, "ada <b>", "192.0.2.7")):
        audit.record("namespace.change", namespace=tenant, target=tenant)
        audit.record("document.delete", namespace=tenant, count=3)
    page = boss.get(reverse(LIST))
    assert "changed the namespace “tenant”" in page.text
    assert "deleted 3 documents" in page.text
    assert "ada &lt;b&gt;" in page.text
    (changed,) = [e for e in page.context["cl"].result_list if e.action == "namespace.change"]
    one = boss.get(reverse("admin:documents_auditevent_change", args=[changed.pk]))
    assert reverse("admin:documents_namespace_change", args=[tenant.pk]) in one.text


def test_the_log_is_filtered_by_actor_action_namespace_and_date(boss: Client, tenant: Namespace):
    with acting_as(Actor(USER, "ada", "192.0.2.7")):
        audit.record("namespace.change", namespace=tenant, target=tenant)
    audit.record("document.delete", count=3)

    def found(**filters: object) -> int:
        return len(boss.get(reverse(LIST), filters).context["cl"].result_list)

    assert found(actor__exact="ada") == 1
    assert found(action="document.delete") == 1
    assert found(namespace_slug="tenant") == 2  # with its creation
    assert found(actor_kind__exact="user") == 1
    assert found(created_at__year=2001) == 0
    assert found(q="tenant") == 2
    assert found() == 3
