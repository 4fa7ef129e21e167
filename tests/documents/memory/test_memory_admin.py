"""Facts, rules and aliases in the admin."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.test import Client
from django.urls import reverse
from django.utils import timezone

from documents.memory.erasing import ErasureSelection, erase
from documents.memory.statements import StatedFact
from documents.memory.writing import remember
from documents.models import Fact, FactAlias, Namespace, PredicateRule
from ragsite.database.tenancy import operator

from ...client import Api
from .test_forgetting import CANARY, places_of

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


def test_an_operator_states_facts_which_leave_no_trace_once_erased(
    tenant: Namespace, boss: Client, onlooker: Client
):
    add = reverse("admin:documents_fact_add")
    fields = {
        "namespace": str(tenant.pk),
        "subject": CANARY,
        "predicate": "lives in",
        "value": "Oslo",
        "certainty": "0.8",
        "tags": "crm, vip",
        "valid_from": "2020-01-01",
    }
    assert boss.get(add).status_code == 200
    assert boss.post(add, fields).status_code == 302
    moved = boss.post(add, {**fields, "value": '{"city": "Rome"}', "valid_from": "2024-06-01"})
    assert moved.status_code == 302
    with operator():
        oslo, rome = Fact.objects.order_by("valid_from")
    assert (oslo.object, oslo.certainty, oslo.tags) == ("Oslo", 0.8, ["crm", "vip"])
    assert (rome.object, oslo.valid_to, rome.valid_to) == (
        {"city": "Rome"},
        rome.valid_from,
        None,
    )
    backwards = boss.post(add, {**fields, "valid_to": "2019-01-01"})
    assert "valid_to must be after valid_from" in backwards.text
    assert "May not be blank" in boss.post(add, {**fields, "value": '""'}).text
    assert onlooker.get(add).status_code == 403
    alias = {"namespace": str(tenant.pk), "kind": "subject", "alias": "Zed", "name": CANARY}
    assert boss.post(reverse("admin:documents_factalias_add"), alias).status_code == 302
    erase(tenant.pk, ErasureSelection(subject=CANARY))
    assert places_of(CANARY) == []


def test_the_list_tells_what_holds_now_from_what_will(tenant: Namespace, boss: Client):
    far = timezone.now() + timedelta(days=400)
    remember(tenant.pk, [StatedFact("Ann", "lives in", "Oslo", valid_from=None)])
    remember(tenant.pk, [StatedFact("Ann", "lives in", "Rome", valid_from=far)])

    def listed(state: str) -> tuple[bool, bool]:
        rows = boss.get(reverse(FACTS), {"state": state}).text
        return "Ann · lives in · Oslo" in rows, "Ann · lives in · Rome" in rows

    assert listed("held") == (True, False)
    assert listed("future") == (False, True)
    assert listed("ended") == (False, False)


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
