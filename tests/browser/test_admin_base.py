"""The admin as a whole: signing in, errors, who sees what, and what screen readers find."""

import json
from pathlib import Path
from typing import Any

import pytest

from ..project.service import Service

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>"
LONG = "Rindfleischetikettierungsueberwachungsaufgabenuebertragungsgesetz" * 4
MAKE_LIMITED = """
from django.contrib.auth.models import Permission, User
from documents.models import Namespace, NamespaceAccess
from ragsite.database.tenancy import operator
with operator():
    user, is_new = User.objects.get_or_create(username="limited", is_staff=True)
    if is_new:
        user.set_password("only the harbour"); user.save()
        user.user_permissions.set(Permission.objects.exclude(codename="see_every_namespace"))
        NamespaceAccess.objects.create(user=user, namespace=Namespace.objects.get(slug="harbour"))
"""


def password_of(service: Service) -> str:
    return str(json.loads((service.home / "credentials.json").read_text())["password"])


def sign_in(page: Any, name: str, password: str) -> None:
    page.goto("/admin/login/?next=/admin/")
    page.fill("#id_username", name)
    page.fill("#id_password", password)
    page.click("input[type=submit]")
    page.wait_for_load_state()


def look(page: Any, name: str) -> None:
    """Pictures in both colour schemes; nothing is wider than the window."""
    folder: Path = page.shots.parent
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        path = folder / f"base-{name}-{scheme}.png"
        page.screenshot(path=path, full_page=True, animations="disabled")
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0, f"{name} is {wide} px too wide"


def assert_accessible(page: Any, name: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    serious = [one for one in found if one["impact"] in ("serious", "critical")]
    assert not serious, (name, [(one["id"], one["nodes"][0]["html"][:200]) for one in serious])


def first_of(page: Any, listed: str) -> str:
    """The address of the first row's page."""
    page.goto(listed)
    return str(page.locator("#result_list tbody th a").first.get_attribute("href"))


def test_a_wrong_password_is_refused_and_the_right_one_opens_the_admin(page: Any, service: Service):
    page.goto("/admin/")
    look(page, "login")
    assert_accessible(page, "login")
    sign_in(page, "operator", "not the password")
    assert page.locator(".errornote").is_visible()
    sign_in(page, "operator", password_of(service))
    assert page.url.endswith("/admin/")
    look(page, "index")
    page.goto("/admin/nope/")
    assert page.title() == "Page not found · Ragsite"
    look(page, "not-found")
    page.get_by_text("To the admin").click()
    assert page.url.endswith("/admin/")


def test_pages_have_no_serious_violations(page: Any, service: Service):
    sign_in(page, "operator", password_of(service))
    for name, address in {
        "index": "/admin/",
        "documents": "/admin/documents/document/",
        "namespace-form": "/admin/documents/namespace/add/",
        "audit-log": "/admin/documents/auditevent/",
        "user": "/admin/auth/user/1/change/",
        "golden-set-form": "/admin/evaluation/goldenset/add/",
        "query-log": "/admin/retrieval/querylog/",
        "runs": "/admin/evaluation/evaluationrun/",
        "analytics": "/admin/retrieval/querylog/analytics/",
        "facts": "/admin/documents/fact/",
        "link-form": "/admin/documents/namespacelink/add/",
        "golden-set": first_of(page, "/admin/evaluation/goldenset/"),
        "golden-query": first_of(page, "/admin/evaluation/goldenquery/"),
        "namespace": first_of(page, "/admin/documents/namespace/"),
    }.items():
        page.goto(address)
        look(page, name)
        assert_accessible(page, name)


def test_a_limited_operator_sees_only_their_namespace(page: Any, service: Service):
    service.command("namespace", "create", "harbour")
    made = service.command("shell", "-c", MAKE_LIMITED)
    assert made.returncode == 0, made.stderr
    sign_in(page, "limited", "only the harbour")
    page.goto("/admin/documents/namespace/")
    names = page.locator("#result_list tbody th").all_inner_texts()
    assert names == ["harbour"]
    page.goto("/admin/documents/document/")
    assert page.locator("#result_list tbody tr").count() == 0
    assert page.locator("#shown-namespace").count() == 0
    look(page, "limited")


def test_a_superuser_narrows_the_lists(page: Any, service: Service):
    service.command("namespace", "create", "harbour")
    sign_in(page, "operator", password_of(service))
    page.goto("/admin/documents/namespace/")
    page.select_option("#shown-namespace", label="harbour")
    page.click(".namespace-choice button")
    page.wait_for_url("**/admin/documents/namespace/")
    assert page.locator("#result_list tbody tr").count() == 1
    look(page, "narrowed")


def test_hostile_titles_and_long_words_stay_in_their_place(page: Any, service: Service):
    with service.client() as client:
        sent = [{"title": title, "content": f"{title}\n\nText."} for title in (HOSTILE, LONG)]
        answer = client.post("ingest", json={"documents": sent, "wait": 60})
        found = answer.json()["results"]
    sign_in(page, "operator", password_of(service))
    for name in ("document", "chunk", "ingestjob"):
        page.goto(f"/admin/documents/{name}/")
        look(page, f"hostile-{name}")
    page.goto(f"/admin/documents/document/{found[0]['document_id']}/change/")
    assert HOSTILE in page.locator("h1").inner_text()
    look(page, "hostile-page")
