"""Asking as a person does: sign in, ask, read, open a source, say whether it helped."""

import json
from typing import Any

import pytest

from ..project.service import Service

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>"


def ask(page: Any, question: str) -> Any:
    """Return the answer's node, once it is complete."""
    before = page.locator(".answer .tools").count()
    page.fill("#question", question)
    page.keyboard.press("Enter")
    page.locator(".answer .tools").nth(before).wait_for()
    return page.locator(".answer").last


def test_a_question_is_answered_with_sources_that_open_at_the_passage(signed_in: Any):
    answer = ask(signed_in, "How long is the warranty on a lamp?")
    assert "3 years" in answer.inner_text()
    assert "Warranty and Returns" in signed_in.locator("#sources .source").first.inner_text()
    signed_in.screenshot(path=signed_in.shots, full_page=True)
    chip = answer.locator("a.chip").first
    with signed_in.context.expect_page() as opened:
        chip.click()
    passage = opened.value
    passage.wait_for_load_state()
    assert "3 years" in passage.locator("mark").inner_text()
    assert passage.locator("mark").is_visible()
    assert passage.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_follow_up_keeps_the_conversation(signed_in: Any):
    ask(signed_in, "How long is the warranty on a lamp?")
    answer = ask(signed_in, "And for the battery in the Buoy?")
    assert "2 years" in answer.inner_text()
    assert signed_in.evaluate("document.documentElement.scrollWidth <= innerWidth")
    signed_in.screenshot(path=signed_in.shots, full_page=True)


def test_feedback_is_sent_and_the_answer_copied_with_its_sources(signed_in: Any, service: Service):
    answer = ask(signed_in, "When do unused holidays lapse?")
    answer.get_by_text("Copy with sources").click()
    answer.get_by_text("Copied").wait_for()
    copied = signed_in.evaluate("navigator.clipboard.readText()")
    assert "31 March" in copied
    assert "[1] Employee Handbook" in copied
    assert f"{service.url}/d/" in copied
    answer.get_by_text("Helpful", exact=True).click()
    answer.locator('[aria-pressed="true"]').wait_for()
    answer.locator(".comment input").fill("Exactly right.")
    answer.get_by_text("Send").click()
    answer.get_by_text("Thank you.").wait_for()
    with service.client() as client:
        kept = client.get("feedback").json()["results"]
    assert any(feedback["comment"] == "Exactly right." for feedback in kept)


def test_nothing_found_is_said_plainly(signed_in: Any):
    answer = ask(signed_in, "Which colour did Rembrandt prefer on Mondays?")
    assert "do not" in answer.inner_text()
    assert answer.locator("a.chip").count() == 0
    signed_in.screenshot(path=signed_in.shots, full_page=True)


def test_hostile_documents_stay_inert(signed_in: Any, service: Service):
    body = {"title": HOSTILE, "content": f"The password of the vault is {HOSTILE} swordfish."}
    with service.client() as client:
        sent = client.post("ingest", json={"documents": [body], "wait": 30}).json()
        assert sent["results"][0]["status"] == "ready"
    answer = ask(signed_in, "What is the password of the vault?")
    assert "swordfish" in answer.inner_text()
    assert signed_in.locator("main img, aside img, main script, aside script").count() == 0
    with signed_in.context.expect_page() as opened:
        answer.locator("a.chip").first.click()
    opened.value.wait_for_load_state()
    assert opened.value.locator("main img, main script").count() == 0
    assert "onerror" in opened.value.locator("main").inner_text()


MARKDOWN = {
    "one line\ngoes on\n\nanother": "<p>one line\ngoes on</p><p>another</p>",
    "> [!NOTE]\n> Mind **this**.": "<p>Mind <strong>this</strong>.</p>",
    "See [the form](https://www.example.org/a(b)).": "<p>See the form (example.org).</p>",
    "[about](#about) and ``code``": "<p>about and <code>code</code></p>",
    '<a id="x" href="#x">Match</a>': "<p>Match</p>",
    "<img src=x onerror=alert(1)>": "<p>&lt;img src=x onerror=alert(1)&gt;</p>",
    "`set. [cite:ab] And` more": '<p>`set. <b class="chip"></b> And` more</p>',
    "- a\n- b\n  goes on": "<ul><li>a</li><li>b\ngoes on</li></ul>",
    "| a |\n|---|\n| 1 |": ("<table><tbody><tr><th>a</th></tr><tr><td>1</td></tr></tbody></table>"),
    "```\nx = [1](2)\n``` [cite:ab]": '<pre>x = [1](2)</pre><p><b class="chip"></b></p>',
}


def test_the_markdown_of_documents_is_drawn(signed_in: Any):
    script = """text => {
        const chip = () => Object.assign(document.createElement("b"), {className: "chip"});
        const box = document.createElement("div");
        box.append(renderAnswer(text, chip));
        return box.innerHTML;
    }"""
    assert {text: signed_in.evaluate(script, text) for text in MARKDOWN} == MARKDOWN


def test_a_wrong_password_does_not_sign_in(page: Any):
    page.goto("/admin/login/?next=/")
    page.fill("#id_username", "operator")
    page.fill("#id_password", "wrong")
    page.click("input[type=submit]")
    assert "correct" in page.locator(".errornote").inner_text()
    page.goto("/")
    assert page.locator("#question").count() == 0
    page.screenshot(path=page.shots)


def test_being_signed_out_meanwhile_is_explained(signed_in: Any):
    signed_in.context.clear_cookies(name="sessionid")
    signed_in.fill("#question", "How long is the warranty on a lamp?")
    signed_in.keyboard.press("Enter")
    note = signed_in.locator(".answer .error")
    note.wait_for()
    assert "signed out" in note.inner_text()


def test_being_offline_is_explained_and_the_question_can_be_asked_again(signed_in: Any):
    signed_in.context.set_offline(True)
    signed_in.fill("#question", "How long is the warranty on a lamp?")
    signed_in.keyboard.press("Enter")
    signed_in.locator(".answer .error").wait_for()
    assert "online" in signed_in.locator(".answer .error").inner_text()
    signed_in.context.set_offline(False)
    signed_in.get_by_text("Ask again").click()
    signed_in.locator(".answer .tools").wait_for()
    assert "3 years" in signed_in.locator(".answer").last.inner_text()


def test_without_the_language_model_the_documents_can_be_quoted(signed_in: Any):
    """The model is elsewhere: the page is told what the service says when it does not answer."""
    error = {"code": "language_model_unavailable", "message": "It cannot be reached."}
    signed_in.route(
        "**/ask/answer",
        lambda route: route.fulfill(
            content_type="text/event-stream",
            body=f"event: error\ndata: {json.dumps({'error': error})}\n\n",
        ),
        times=1,
    )
    signed_in.fill("#question", "How long is the warranty on a lamp?")
    signed_in.keyboard.press("Enter")
    signed_in.locator(".answer .error", has_text="It cannot be reached.").wait_for()
    assert signed_in.locator("#no-sources").text_content() == "There is no answer yet."
    signed_in.get_by_text("Answer with quotes instead").click()
    signed_in.locator(".answer .tools").wait_for()
    assert "3 years" in signed_in.locator(".answer").last.inner_text()


def test_everything_can_be_reached_by_keyboard(signed_in: Any):
    ask(signed_in, "How long is the warranty on a lamp?")
    signed_in.locator("body").press("Control+Home")
    reached = set()
    for _ in range(40):
        signed_in.keyboard.press("Tab")
        reached.add(
            signed_in.evaluate("document.activeElement.className || document.activeElement.id")
        )
    assert {"chip", "question"} <= reached


def test_axe_finds_no_serious_violation(signed_in: Any):
    from axe_playwright_python.sync_playwright import Axe

    ask(signed_in, "How long is the warranty on a lamp?")
    with signed_in.context.expect_page() as opened:
        signed_in.locator("a.chip").first.click()
    opened.value.wait_for_load_state()
    for page in (signed_in, opened.value):
        found = Axe().run(page).response["violations"]
        serious = [each for each in found if each["impact"] in ("serious", "critical")]
        assert [(each["id"], each["nodes"][0]["html"]) for each in serious] == []
