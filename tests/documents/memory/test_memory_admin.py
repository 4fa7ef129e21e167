"""Facts, rules and aliases in the admin."""

import re
from collections.abc import Callable
from typing import Any

from django.test import Client
from django.urls import reverse

from documents.memory.statements import StatedFact
from documents.memory.writing import remember
from documents.models import Fact, FactAlias, Namespace, PredicateRule
from ragsite.database.tenancy import operator

from ...client import Api

FACTS = "admin:documents_fact_changelist"


def stated(tenant: Namespace, *objects: str, **more: Any) -> list[Fact]:
    said = [StatedFact("Ann", "lives in", value, **more) for value in objects]
    outcomes = [remember(tenant.pk, [one])[0] for one in said]
    with operator():
        return [Fact.objects.get(pk=outcome.fact_id) for outcome in outcomes]


def act(boss: Client, action: str, *facts: Fact) -> str:
    """Choose an action, confirm it, and return the page that follows."""
    chosen = {"action": action, "_selected_action": [str(fact.pk) for fact in facts]}
    question = boss.post(reverse(FACTS), chosen)
    assert question.status_code == 200, "it asks first"
    confirmed = re.search(r'name="confirmed" value="(\w+)"', question.text)
    assert confirmed
    done = boss.post(reverse(FACTS), {**chosen, "confirmed": confirmed[1]}, follow=True)
    return str(done.text)


def fresh(fact: Fact) -> Fact:
    with operator():
        return Fact.objects.get(pk=fact.pk)


def test_a_proposal_is_approved_or_rejected_after_a_question(tenant: Namespace, boss: Client):
    outcomes = remember(
        tenant.pk,
        [StatedFact("Ann", "likes", "tea"), StatedFact("Ann", "likes", "jazz")],
        is_approved=False,
    )
    with operator():
        tea, jazz = (Fact.objects.get(pk=outcome.fact_id) for outcome in outcomes)
    assert "proposed" in boss.get(reverse(FACTS)).text
    assert "1 fact approved." in act(boss, "approve", tea)
    assert "1 fact rejected." in act(boss, "reject", jazz)
    assert (fresh(tea).status, fresh(jazz).status) == ("approved", "rejected")
    assert "1 not approved" in act(boss, "approve", jazz)


def test_retracting_lets_what_was_closed_go_on_and_the_history_shows_all(
    tenant: Namespace, boss: Client
):
    oslo, rome = stated(tenant, "Oslo", "Rome")
    assert fresh(oslo).valid_to is not None
    assert "1 fact retracted." in act(boss, "retract", rome)
    assert fresh(oslo).valid_to is None
    page = boss.get(reverse("admin:documents_fact_change", args=[oslo.pk])).text
    assert "Rome" in page
    assert "retracted" in page


def test_who_only_looks_can_act_on_nothing(tenant: Namespace, onlooker: Client):
    (oslo,) = stated(tenant, "Oslo")
    assert onlooker.get(reverse(FACTS)).status_code == 200
    onlooker.post(reverse(FACTS), {"action": "retract", "_selected_action": [str(oslo.pk)]})
    assert fresh(oslo).retracted_at is None


def test_rules_and_aliases_are_written_by_the_pipeline(tenant: Namespace, boss: Client):
    remember(tenant.pk, [StatedFact("IBM", "sponsor", "a"), StatedFact("Big Blue", "sponsor", "b")])
    rule = {"namespace": str(tenant.pk), "predicate": "sponsor", "is_single": "on"}
    assert boss.post(reverse("admin:documents_predicaterule_add"), rule).status_code == 302
    alias = {"namespace": str(tenant.pk), "kind": "subject", "alias": "Big Blue", "name": "IBM"}
    assert boss.post(reverse("admin:documents_factalias_add"), alias).status_code == 302
    with operator():
        held = Fact.objects.filter(valid_to=None, retracted_at=None)
        assert [fact.object for fact in held] == ["b"]
        made = FactAlias.objects.get()
        assert PredicateRule.objects.get().predicate_key == "sponsor"
    again = boss.post(reverse("admin:documents_factalias_add"), {**alias, "alias": "ibm"})
    assert "same name already" in again.text
    delete = reverse("admin:documents_factalias_delete", args=[made.pk])
    assert boss.post(delete, {"post": "yes"}).status_code == 302
    with operator():
        assert {f.object for f in Fact.objects.filter(valid_to=None)} == {"a", "b"}


def test_a_facts_page_names_its_place_and_quotes_it(
    api: Api, boss: Client, work: Callable[[], int]
):
    table = "subject,predicate,object\nSkerry,costs,89 EUR\n"
    api.upload(("lamps.csv", table), rows_as_facts="true", title="Price list")
    work()
    with operator():
        fact = Fact.objects.select_related("document").get()
    shown = boss.get(reverse("admin:documents_fact_change", args=[fact.pk])).text
    document = reverse("admin:documents_document_change", args=[fact.document_id])
    assert f'<a href="{document}?from={fact.start}">Price list</a>, version 1' in shown
    assert "| Skerry | costs | 89 EUR |" in shown
    assert fact.object_key not in shown
    assert f"{fact.document_id} v1" not in shown
