"""Every page of the admin: it opens, keeps to the strict policy, and has a title of its own."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import reverse

from ragsite.database.tenancy import operator

from .test_headers import assert_strict
from .test_tenant_wall import full_tables  # noqa: F401

TITLE = re.compile(r"<title>\s*(.*?)\s*</title>", re.DOTALL)


def addresses() -> Iterator[str]:
    for model in admin.site._registry:
        stem = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        yield reverse(f"{stem}_changelist")
        yield reverse(f"{stem}_add")
        with operator():
            newest: Any = model._default_manager.order_by("-pk").first()
        if newest is not None:
            for page in ("change", "history", "delete"):
                yield reverse(f"{stem}_{page}", args=[newest.pk])
    for name in ("index", "password_change"):
        yield reverse(f"admin:{name}")


@pytest.mark.usefixtures("full_tables")
def test_every_page_keeps_to_the_policy_and_says_where_it_is(boss: Client):
    titles: dict[str, str] = {}
    for address in addresses():
        answer = boss.get(address)
        if answer.status_code == 403:  # nothing is added, changed or deleted there
            continue
        if address.endswith("/history/") and answer.status_code == 302:
            assert answer.url.startswith(reverse("admin:documents_auditevent_changelist"))
            continue
        assert answer.status_code == 200, address
        assert_strict(answer)
        assert "object at 0x" not in answer.text, address
        assert "DatabaseDefault" not in answer.text, address
        title = TITLE.findall(answer.text)[0]  # a chart has titles, too
        assert title.endswith("· Ragsite"), address
        assert "Select " not in title, address
        titles[address] = title
    assert len(titles) > 60
    lists = [title for address, title in titles.items() if address.count("/") == 4]
    assert len(set(lists)) == len(lists)
