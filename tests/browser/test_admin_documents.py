"""An operator's day: the dashboard, an upload, a document with its chunks, why one was found."""

from typing import Any

import pytest

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>"


@pytest.fixture
def admin(signed_in: Any) -> Any:
    signed_in.goto("/admin/")
    return signed_in


def fits(page: Any) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


def open_document(page: Any, title: str) -> None:
    page.goto(f"/admin/documents/document/?q={title}")
    page.locator("#result_list a.doc-title").first.click()
    page.locator(".doc-status").wait_for()


def open_upload(page: Any) -> None:
    """With several namespaces there is no default: a file must not end up in the wrong one."""
    page.goto("/admin/documents/document/upload/")
    page.select_option("#id_namespace", label="default")


def test_the_dashboard_leads_to_the_lists_behind_its_figures(admin: Any):
    assert admin.locator("h1").inner_text() == "Dashboard"
    admin.get_by_role("link", name="14 days").click()
    admin.locator("h1").wait_for()
    assert fits(admin)
    admin.screenshot(path=admin.shots, full_page=True)
    ready = admin.locator(".statuses a", has_text="Ready")
    count = int(ready.locator(".figure").inner_text())
    ready.click()
    admin.locator("#result_list").wait_for()
    assert admin.locator("#result_list tbody tr").count() == min(count, 50)


def test_a_file_is_uploaded_indexed_before_ones_eyes_retagged_and_deleted(admin: Any):
    name = f"note-{admin.viewport_size['width']}.md"
    open_upload(admin)
    text = f"# {HOSTILE}\n\n{HOSTILE} stands here, and {'W' * 200} too. Marker {name}."
    admin.set_input_files(
        "input[type=file]", {"name": name, "mimeType": "text/markdown", "buffer": text.encode()}
    )
    admin.fill("#id_tags", "day, hostile")
    admin.get_by_role("button", name="Upload").click()
    row = admin.locator("#result_list tbody tr").first
    row.locator(".badge", has_text="ready").wait_for()
    assert fits(admin)
    admin.screenshot(path=admin.shots, full_page=True)
    row.locator("a.doc-title").click()
    admin.locator(".drawn").wait_for()
    assert "onerror" in admin.locator(".drawn").inner_text()
    assert admin.locator("main img, .drawn script").count() == 0
    assert fits(admin)
    admin.fill("#tags", "day")
    admin.get_by_role("button", name="Save tags").click()
    admin.get_by_text("Tags changed").wait_for()
    admin.get_by_role("link", name="Delete …").click()
    admin.get_by_role("button", name="Yes, I am sure").click()
    admin.get_by_text("Deleting 1 document").wait_for()
    admin.goto("/admin/documents/auditevent/")
    assert "deleted the document" in admin.locator("#result_list").inner_text()


def test_a_document_that_failed_says_why_and_is_tried_again(admin: Any):
    open_upload(admin)
    blank = {"name": "blank.md", "mimeType": "text/markdown", "buffer": b" \n "}
    admin.set_input_files("input[type=file]", blank)
    admin.get_by_role("button", name="Upload").click()
    row = admin.locator("#result_list tbody tr", has_text="blank.md").first
    row.locator(".badge", has_text="failed").wait_for()
    assert "text" in row.locator(".why").inner_text()
    row.locator("a.doc-title").click()
    admin.locator(".doc-status .badge", has_text="failed").wait_for()
    assert fits(admin)
    admin.screenshot(path=admin.shots, full_page=True)
    admin.get_by_role("button", name="Index again").click()
    admin.get_by_text("Queued: it is indexed again.").wait_for()
    admin.locator(".doc-status .badge", has_text="failed").wait_for()
    assert admin.locator("table", has_text="Attempts").locator("tbody tr").count() >= 2


def test_a_documents_text_shows_where_its_chunks_begin(admin: Any):
    open_document(admin, "Handbook")
    marks = admin.locator(".border-mark")
    assert marks.count() > 3
    marks.nth(1).focus()
    tip = marks.nth(1).locator(".tip")
    tip.wait_for(state="visible")
    assert "tokens" in tip.inner_text()
    assert admin.locator(".timings rect").count() > 0
    assert fits(admin)
    admin.screenshot(path=admin.shots, full_page=True)


def test_a_chunk_says_why_it_was_found_and_why_not(admin: Any):
    admin.goto("/admin/documents/chunk/?q=warranty")
    admin.locator("#result_list .field-passage a").first.click()
    admin.fill("#id_question", "How long is the warranty on a lamp?")
    admin.locator(".trace-form button").click()
    admin.locator(".verdict").wait_for()
    assert admin.locator(".stages tbody tr").count() >= 2
    assert fits(admin)
    admin.screenshot(path=admin.shots, full_page=True)
    admin.fill("#id_question", "When do unused holidays lapse?")
    admin.fill("#id_k", "1")
    admin.locator(".trace-form button").click()
    admin.locator(".verdict.dropped").wait_for()


def test_moving_says_what_happens_and_wants_to_be_sure(admin: Any):
    open_document(admin, "Handbook")
    admin.get_by_role("link", name="Move to another namespace").click()
    admin.locator(".consequences").wait_for()
    assert "judgements" in admin.locator(".consequences").inner_text()
    assert fits(admin)
    admin.screenshot(path=admin.shots, full_page=True)


def test_axe_finds_no_serious_violation(admin: Any):
    from axe_playwright_python.sync_playwright import Axe

    addresses = ["/admin/", "/admin/documents/document/", "/admin/documents/document/upload/"]
    open_document(admin, "Handbook")
    addresses.append(admin.url)
    admin.locator(".border-mark").first.click()
    admin.locator("#why").wait_for()
    addresses.append(admin.url)
    for address in addresses:
        admin.goto(address)
        found = Axe().run(admin).response["violations"]
        serious = [each for each in found if each["impact"] in ("serious", "critical")]
        assert [(address, each["id"], each["nodes"][0]["html"]) for each in serious] == []
