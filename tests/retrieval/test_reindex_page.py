"""The operators' page of a reindex: what can be done in each state, and names in place of ids."""

import html
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from documents.models import Document, IndexProfile, Namespace, Reindex
from documents.reindex import switching
from ragsite.database.tenancy import namespace, operator
from retrieval.inspection import parity

from ..client import Api


def fill(api: Api, count: int) -> None:
    texts = [(f"light-{n}.md", f"# Light {n}\n\nThe keeper of light {n}.\n") for n in range(count)]
    assert api.upload(*texts).status == 202


@pytest.fixture
def reindex(
    api: Api, tenant: Namespace, small_profile: IndexProfile, build: Callable[[], None]
) -> Reindex:
    fill(api, 3)
    build()
    return switching.start(tenant.pk, small_profile)


def address(reindex: Reindex) -> str:
    return reverse("admin:documents_reindex_change", args=[reindex.pk])


def page(client: Client, reindex: Reindex) -> str:
    answer = client.get(address(reindex))
    assert answer.status_code == 200
    return html.unescape(answer.content.decode())


def buttons(shown: str) -> list[str]:
    return re.findall(r'name="action" value="(\w+)"', shown)


def test_a_half_built_profile_is_not_compared(boss: Client, reindex: Reindex):
    with pytest.raises(switching.Behind, match=r"still being built \(0 of 3 documents\)"):
        parity.compare(reindex)
    with operator():
        assert Reindex.objects.get().parity is None
    shown = page(boss, reindex)
    assert "half built: there is nothing to compare yet" in shown
    assert buttons(shown) == ["cancel"]
    refused = boss.post(address(reindex), {"action": "compare"}, follow=True)
    assert "compare when it is complete" in html.unescape(refused.content.decode())


def test_compare_switch_and_roll_back_from_its_page(
    boss: Client, reindex: Reindex, build: Callable[[], None]
):
    build()
    assert buttons(page(boss, reindex)) == ["compare", "switch", "cancel"]
    boss.post(address(reindex), {"action": "compare"})
    shown = page(boss, reindex)
    assert "3 questions of sampled passages" in shown
    assert "Least alike" in shown
    boss.post(address(reindex), {"action": "switch"})
    shown = page(boss, reindex)
    assert "Searches use small" in shown
    assert buttons(shown) == ["compare", "roll_back", "reclaim"]
    boss.post(address(reindex), {"action": "roll_back"})
    assert buttons(page(boss, reindex)) == ["compare", "switch", "cancel"]


def test_what_destroys_is_no_action_of_the_page(
    boss: Client, onlooker: Client, reindex: Reindex, build: Callable[[], None]
):
    build()
    for action in ("cancel", "reclaim", "switch_anyway", "delete", ""):
        assert boss.post(address(reindex), {"action": action}).status_code == 403, action
    assert onlooker.post(address(reindex), {"action": "switch"}).status_code == 403
    assert buttons(page(onlooker, reindex)) == []


def test_documents_that_failed_are_named_and_can_be_accepted(
    boss: Client, reindex: Reindex, tenant: Namespace, build: Callable[[], None]
):
    build()
    with namespace(tenant.pk):
        document = Document.objects.get(title="Light 1")
        version = document.versions.get()
        failure = {"document_id": str(document.pk), "version": 1, "code": "x", "message": "Broken."}
        Reindex.objects.update(failures={str(version.pk): failure})
    shown = page(boss, reindex)
    assert f">{document.title}</a>" in shown
    assert "Broken." in shown
    assert buttons(shown) == ["compare", "switch_anyway", "cancel"]
    chosen = {"action": "switch_anyway", "_selected_action": str(reindex.pk)}
    listed = reverse("admin:documents_reindex_changelist")
    asked = boss.post(listed, chosen)
    assert "although documents failed?" in asked.content.decode()
    boss.post(listed, chosen | {"confirmed": asked.context["fingerprint"]})
    with operator():
        assert Reindex.objects.get().state == "switched"


def test_ids_that_are_none(boss: Client, db: Any):
    for odd in ("notauuid", "0", "00000000-0000-0000-0000-000000000000"):
        assert boss.get(reverse("admin:documents_reindex_change", args=[odd])).status_code == 404
