"""How a namespace wants its answers, through the API, the command and the admin."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from documents.models import AuditEvent, Namespace
from ragsite.database.tenancy import operator
from tests.client import Api


def refreshed(tenant: Namespace) -> Namespace:
    with operator():
        return Namespace.objects.get(pk=tenant.pk)


def test_an_admin_key_changes_the_settings_and_reads_them_back(
    api_of: Callable[..., Api], tenant: Namespace
) -> None:
    api = api_of(
        tenant,
        (
            "read",
            "admin",
        ),
    )
    changed = api.patch(
        "answer/settings",
        {"prompt": "For nurses.", "language": "de", "min_relevance": 0.4},
    )
    assert changed.status == 200, changed.body
    body = api.get("answer/settings").body
    assert body["prompt"] == "For nurses."
    assert (body["language"], body["min_relevance"], body["model"]) == ("de", 0.4, "")
    assert body["default_model"] == "extractive"
    assert "extractive" in body["available_models"]


def test_what_is_not_named_stays(api_of: Callable[..., Api], tenant: Namespace) -> None:
    api = api_of(
        tenant,
        (
            "read",
            "admin",
        ),
    )
    api.patch("answer/settings", {"language": "fr"})
    api.patch("answer/settings", {"prompt": "Be brief."})
    assert refreshed(tenant).answer_language == "fr"


@pytest.mark.parametrize(
    "wrong",
    [
        {"model": "nobody"},
        {"language": "german"},
        {"min_relevance": 1.5},
        {"tone": "friendly"},
    ],
)
def test_a_wrong_value_is_refused_and_changes_nothing(
    api_of: Callable[..., Api], tenant: Namespace, wrong: dict[str, Any]
) -> None:
    answer = api_of(
        tenant,
        (
            "read",
            "admin",
        ),
    ).patch("answer/settings", wrong)
    assert answer.status == 422
    assert next(iter(wrong)) in str(answer.body)
    assert refreshed(tenant).answer_language == ""


def test_a_reading_key_may_look_but_not_change(
    api_of: Callable[..., Api], tenant: Namespace
) -> None:
    api = api_of(tenant, ("read",))
    assert api.get("answer/settings").status == 200
    assert api.patch("answer/settings", {"language": "fr"}).status == 403


def test_the_audit_log_names_what_changed_but_not_the_prompt(
    api_of: Callable[..., Api], tenant: Namespace
) -> None:
    api_of(tenant, ("admin",)).patch("answer/settings", {"prompt": "a secret tone"})
    with operator():
        event = AuditEvent.objects.filter(action="namespace.change").get()
    assert event.details == {"changed": ["answer_prompt"]}


def test_the_command_shows_and_changes_them(tenant: Namespace, capsys: Any) -> None:
    call_command("namespace", "answers", tenant.slug, "--language", "es", "--min-relevance", "0.3")
    assert "language\tes" in capsys.readouterr().out
    assert refreshed(tenant).answer_min_relevance == 0.3
    call_command("namespace", "answers", tenant.slug, "--min-relevance", "")
    assert refreshed(tenant).answer_min_relevance is None
    with pytest.raises(CommandError, match="no language model 'nobody'"):
        call_command("namespace", "answers", tenant.slug, "--model", "nobody")


def test_the_admin_offers_the_configured_models(boss: Any, tenant: Namespace) -> None:
    page = boss.get(f"/admin/documents/namespace/{tenant.pk}/change/")
    assert page.status_code == 200
    assert '<option value="extractive">extractive</option>' in page.content.decode()
