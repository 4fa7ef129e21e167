"""The operators' pages about searching, as an operator uses them: compare in the playground, move
to another profile, curate a golden query, compare runs, delete a namespace."""

import json
from pathlib import Path
from typing import Any

import pytest

from ..project.service import Service, until

pytestmark = pytest.mark.browser

PLAYGROUND = "/admin/retrieval/querylog/playground/"
QUESTION = "How long is the warranty on a lamp?"
LONG = "Donaudampfschifffahrtselektrizitaetenhauptbetriebswerkbauunterbeamtengesellschaft" * 3


@pytest.fixture
def operator(page: Any, service: Service) -> Any:
    password = json.loads((service.home / "credentials.json").read_text())["password"]
    page.goto("/admin/login/?next=/admin/")
    page.fill("#id_username", "operator")
    page.fill("#id_password", password)
    page.click("input[type=submit]")
    page.wait_for_url("**/admin/")
    return page


def look(page: Any, name: str) -> None:
    """No page is wider than its window; pictures in both colour schemes."""
    folder: Path = page.shots.parent
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.screenshot(
            path=folder / f"admin-{name}-{scheme}.png", full_page=True, animations="disabled"
        )
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0, f"{name} is {wide} px too wide"


def ask(page: Any, question: str) -> None:
    page.goto(PLAYGROUND)
    page.select_option("#namespace", "default")
    page.fill("#q", question)
    page.click(".question input[type=submit]")
    page.locator(".hit, .empty").first.wait_for()


def kind_of(page: Any) -> str:
    return str(page.shots.parent.name)


def test_the_playground_compares_two_configurations(operator: Any):
    operator.goto(PLAYGROUND)
    look(operator, "playground-empty")
    ask(operator, QUESTION)
    assert operator.locator(".hit mark").count() > 0
    look(operator, "playground-one")
    operator.get_by_text("Compare with a second configuration").click()
    operator.locator("#id_b-mode").wait_for(state="attached")
    if not operator.locator("#id_b-mode").is_visible():
        operator.locator(".options summary").nth(1).click()
    operator.select_option("#id_b-mode", "lexical")
    operator.click(".question input[type=submit]")
    operator.locator("section.side").nth(1).wait_for()
    assert operator.locator("section.side").count() == 2
    for summary in operator.locator("section.side").first.locator("summary").all():
        summary.click()
    operator.locator("[data-copy=curl-a]").click()
    operator.get_by_text("Copied").wait_for()
    copied = operator.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("curl -sS http://127.0.0.1")
    assert QUESTION in copied
    look(operator, "playground-two")
    operator.locator("section.side").first.get_by_text("Write the answer").click()
    answer = operator.locator("#answer-a")
    answer.wait_for()
    assert "3 years" in answer.inner_text()
    look(operator, "playground-answer")


def test_a_golden_query_is_curated_and_runs_are_compared(operator: Any):
    name = f"curated {kind_of(operator)}"
    ask(operator, QUESTION)
    operator.select_option("#golden_set", "")
    operator.fill("[name=new_set]", name)
    operator.get_by_text("Add and judge").click()
    operator.locator("#r1").wait_for()
    look(operator, "judge")
    operator.locator("#r1 button", has_text="3 answers").click()
    operator.locator("#r1 button.chosen", has_text="3 answers").wait_for()
    for mode in ("hybrid", "lexical"):
        operator.goto("/admin/evaluation/goldenset/")
        row = operator.locator("#result_list tbody tr", has_text=name)
        row.get_by_text("Start a run").click()
        operator.select_option("#id_mode", mode)
        look(operator, "start-run")
        operator.get_by_text("Start the run").click()
        operator.locator("dl.key-values .badge", has_text="succeeded").wait_for(timeout=120_000)
    look(operator, "run")
    operator.locator("input[value=Compare]").click()
    operator.get_by_text("By ndcg@10").wait_for()
    look(operator, "compare-runs")
    operator.goto("/admin/evaluation/evaluationrun/")
    if kind_of(operator) == "wide":
        hidden = "box => box.scrollWidth - box.clientWidth"
        assert operator.eval_on_selector("#changelist .results", hidden) == 0
    look(operator, "runs")


def test_a_namespace_moves_to_another_profile(operator: Any, service: Service):
    slug, profile = f"moving-{kind_of(operator)}", f"small-{kind_of(operator)}"
    operator.goto("/admin/documents/indexprofile/add/")
    for name, value in (("name", profile), ("chunk_size", "80"), ("chunk_overlap", "10")):
        operator.fill(f"#id_{name}", value)
    operator.locator("[name=_save]").click()
    operator.locator(".messagelist .success").wait_for()
    look(operator, "profiles")
    new_namespace(operator, slug)
    look(operator, "namespace-new")
    upload(operator, service, "warranty.md", "# Warranty\n\nA lamp has three years of warranty.\n")
    operator.goto("/admin/documents/namespace/")
    operator.locator("#result_list").get_by_text(slug, exact=True).click()
    operator.get_by_text("Move to another profile").click()
    operator.select_option("#id_profile", label=profile)
    operator.locator("[name=_save]").click()
    operator.locator("dl.key-values .badge").first.wait_for()
    look(operator, "reindex-building")
    operator.locator("button[value=compare]").wait_for(timeout=180_000)
    operator.locator("button[value=compare]").click()
    operator.get_by_text("Passages in common").wait_for()
    look(operator, "reindex-compared")
    operator.locator("button[value=switch]").click()
    operator.get_by_text(f"Searches use {profile}").wait_for()
    operator.locator("button[value=reclaim]").click()
    operator.get_by_text("This cannot be undone.").wait_for()
    look(operator, "reclaim-asks")
    operator.goto("/admin/documents/reindex/")
    look(operator, "reindexes")


def test_a_namespace_is_deleted_with_a_receipt(operator: Any, service: Service):
    slug = f"leaving-{kind_of(operator)}"
    new_namespace(operator, slug)
    upload(operator, service, f"{LONG}.md", f"# {LONG}\n\n{LONG} is one word.\n")
    operator.goto("/admin/documents/ingestjob/")
    look(operator, "jobs")
    operator.locator("#result_list tbody th a").first.click()
    operator.locator("h2", has_text="Stages").wait_for()
    look(operator, "job")
    operator.goto("/admin/documents/apikey/")
    look(operator, "keys")
    operator.goto("/admin/documents/namespace/")
    look(operator, "namespaces")
    operator.locator("#result_list").get_by_text(slug, exact=True).click()
    operator.locator("#hub").wait_for()
    look(operator, "namespace")
    operator.locator(".deletelink").click()
    look(operator, "namespace-delete")
    operator.locator("#content input[type=submit]").click()
    operator.locator(".badge", has_text="finished").wait_for()
    look(operator, "receipt")
    operator.goto(f"/admin/documents/auditevent/?q={slug}")
    assert (
        f"finished deleting the namespace “{slug}”" in operator.locator("#result_list").inner_text()
    )


def test_a_logged_question_is_asked_again(operator: Any, service: Service):
    with service.client() as client:
        client.post("query", json={"query": "When do unused holidays lapse?"})
        client.post("query", json={"query": LONG})
    listed = "/admin/retrieval/querylog/?q=holidays"
    until(lambda: "unused holidays" in (operator.goto(listed).text()), seconds=30)
    operator.goto("/admin/retrieval/querylog/")
    look(operator, "query-log")
    operator.goto(listed)
    operator.locator("#result_list tbody th a").first.click()
    operator.get_by_text("What was returned").wait_for()
    look(operator, "query")
    operator.get_by_text("Ask again and compare").click()
    operator.get_by_text("nothing has changed").wait_for()
    look(operator, "query-again")


def new_namespace(page: Any, slug: str) -> None:
    page.goto("/admin/documents/namespace/add/")
    page.fill("#id_slug", slug)
    page.select_option("#id_active_profile", label="default")
    page.locator("[name=_save]").click()
    page.locator("#hub").wait_for()


def upload(page: Any, service: Service, name: str, text: str) -> None:
    """With a key made on the namespace's page."""
    page.get_by_text("New key").click()
    page.locator("[name=_save]").click()
    key = page.locator("#new-key").inner_text()
    look(page, "key-new")
    with service.client() as client:
        body = {"documents": [{"title": name, "content": text}], "wait": 60}
        headers = {"Authorization": f"Bearer {key}"}
        sent = client.post("ingest", json=body, headers=headers)
        assert sent.json()["results"][0]["status"] == "ready", sent.text


def test_axe_finds_no_serious_violation(operator: Any, service: Service):
    from axe_playwright_python.sync_playwright import Axe

    with service.client() as client:
        client.post("query", json={"query": QUESTION})
    ask(operator, QUESTION)
    serious = [("playground", *found) for found in violations(Axe(), operator)]
    for address in ("retrieval/querylog", "documents/ingestjob", "documents/namespace"):
        operator.goto(f"/admin/{address}/")
        serious += [(address, *found) for found in violations(Axe(), operator)]
        operator.locator("#result_list tbody th a").first.click()
        operator.wait_for_load_state()
        serious += [(f"{address}/…", *found) for found in violations(Axe(), operator)]
    assert not serious, chr(10).join(map(str, serious))


def violations(axe: Any, page: Any) -> list[tuple[str, str]]:
    """(rule, example) of each serious violation."""
    found = axe.run(page).response["violations"]
    return [
        (violation["id"], violation["nodes"][0]["html"][:150])
        for violation in found
        if violation["impact"] in ("serious", "critical")
    ]
