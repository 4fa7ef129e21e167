"""The library, the viewer and shared links, as people use them in a real browser."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from ..documents.test_pdf_extractor import make_pdf
from ..project.service import ROOT, Service
from .test_ask_page import ask

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=alert(1)><svg onload=alert(2)>.md"
SENTENCE = "The keeper of the Skerry light is named Ingrid Halvorsen."
PDF = make_pdf(
    [
        [(72, 760, 20, "**Skerry light station"), (72, 720, 12, "Opened in 1887 on bare rock.")],
        [
            (72, 760, 16, "**Staff"),
            (72, 700, 12, SENTENCE),
            (72, 660, 12, "Two assistants live there from May to October."),
        ],
    ]
)


@pytest.fixture
def library(signed_in: Any) -> Any:
    signed_in.goto("/library")
    signed_in.wait_for_selector("h1")
    return signed_in


def put(page: Any, *files: tuple[str, bytes], tags: str = "") -> None:
    """Choose files, as with the button."""
    if page.locator("#adding").is_hidden():
        page.click("#add")
    page.fill("#new-tags", tags)
    payloads = [
        {"name": name, "mimeType": "application/octet-stream", "buffer": data}
        for name, data in files
    ]
    page.set_input_files("#files", payloads)


def unique(request: Any) -> str:
    """Texts differ from test to test: the same content again would be a duplicate."""
    return f"{request.node.name} {os.urandom(4).hex()}"


def ended(page: Any, state: str, count: int = 1) -> Any:
    found = page.locator(f"#uploads li.is-{state}")
    found.nth(count - 1).wait_for(timeout=180_000)
    return found


def serious(page: Any) -> list[Any]:
    found = Axe().run(page).response["violations"]
    return [
        (each["id"], each["nodes"][0]["html"])
        for each in found
        if each["impact"] in ("serious", "critical")
    ]


def fits(page: Any) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


def test_upload_ask_and_see_the_passage_on_its_page(library: Any, request: Any):
    name = f"skerry-{os.urandom(3).hex()}.pdf"
    put(library, (name, PDF + f"\n% {unique(request)}\n".encode()), tags="islands")
    assert "Ready" in ended(library, "ready").inner_text()
    row = library.locator("#documents tr", has_text=name)
    row.locator(".status.ready").wait_for()
    assert "islands" in row.inner_text()
    library.screenshot(path=library.shots, full_page=True)

    library.goto("/")
    library.wait_for_selector("#question")
    answer = ask(library, "Who is the keeper of the Skerry light?")
    assert "Halvorsen" in answer.inner_text()
    with library.context.expect_page() as opened:
        answer.locator("a.chip").first.click()
    viewer = opened.value
    viewer.locator(".paper .spot").first.wait_for()
    assert "Page 2 of 2" in viewer.locator(".page-bar").inner_text()
    viewer.wait_for_function("document.querySelector('.paper img').naturalWidth > 500")
    spot = viewer.locator(".paper .spot").first.bounding_box()
    paper = viewer.locator(".paper img").bounding_box()
    # The sentence stands 700 points above the foot of a page of 842.
    assert abs((spot["y"] - paper["y"]) / paper["height"] - (842 - 712) / 842) < 0.02
    assert abs((spot["x"] - paper["x"]) / paper["width"] - 72 / 595) < 0.02
    assert fits(viewer)
    viewer.screenshot(path=str(library.shots).replace(".png", "-viewer.png"))
    viewer.get_by_role("button", name="Larger").click()
    viewer.wait_for_function("document.querySelector('.paper').dataset.zoom === '1'")
    assert fits(viewer)
    if viewer.locator(".tabs").is_visible():
        viewer.get_by_role("button", name="Text", exact=True).click()
    assert "Halvorsen" in viewer.locator("mark").inner_text()
    assert viewer.locator("mark").is_visible()
    assert serious(viewer) == []
    with viewer.expect_download() as download:
        viewer.get_by_text("Download the original").click()
    assert Path(download.value.path()).read_bytes().startswith(b"%PDF")
    if viewer.locator(".tabs").is_visible():
        viewer.get_by_role("button", name="Page", exact=True).click()
    viewer.get_by_role("link", name="Previous page").click()
    viewer.wait_for_function("document.querySelector('.place').textContent === 'Page 1 of 2'")
    assert viewer.locator(".spot").count() == 0


def test_many_files_dropped_at_once_each_have_a_line(library: Any, request: Any):
    mark = unique(request)
    library.evaluate(
        """(mark) => {
            const transfer = new DataTransfer();
            for (const n of [1, 2, 3, 4, 5]) {
                transfer.items.add(new File([`# ${n}\\n\\n${mark} ${n}.`], `drop-${n}.md`));
            }
            for (const type of ["dragover", "drop"]) {
                document.dispatchEvent(
                    new DragEvent(type, { dataTransfer: transfer, bubbles: true, cancelable: true })
                );
            }
        }""",
        mark,
    )
    ended(library, "ready", 5)
    assert "5 added" in library.locator("#uploads-title").inner_text()
    library.get_by_text("Clear finished").click()
    assert library.locator("#uploads").is_hidden()


def test_a_failed_file_says_why_and_can_be_tried_again(library: Any, request: Any):
    name = f"scan-{os.urandom(3).hex()}.pdf"
    put(library, (name, make_pdf([[]]) + unique(request).encode()), ("program.exe", b"MZ\0\1\0"))
    failed = ended(library, "failed", 2)
    texts = failed.all_inner_texts()
    assert any("text" in text and name in text for text in texts)
    assert any("program.exe" in text for text in texts)
    library.screenshot(path=library.shots, full_page=True)
    row = library.locator("#documents tr", has_text=name)
    row.locator(".failure").wait_for()
    row.get_by_role("button", name="Try again").click()
    row.locator(".status.failed").wait_for(timeout=120_000)


def test_search_filter_tag_and_delete(library: Any, request: Any):
    name = f"tide-table-{os.urandom(3).hex()}.md"
    put(library, (name, f"# Tide table\n\n{unique(request)}".encode()))
    ended(library, "ready")
    library.fill("#filters [name=q]", name)
    library.get_by_role("button", name="Search").click()
    row = library.locator("#documents tbody tr")
    assert row.count() == 1
    row.get_by_role("button", name="Tags").click()
    library.fill("#tags-field", "sea, tides")
    library.get_by_role("button", name="Save").click()
    library.locator(".tags .badge", has_text="tides").wait_for()
    row.get_by_role("button", name="Delete").click()
    library.screenshot(path=library.shots)
    library.get_by_role("button", name="Keep it").click()
    assert row.count() == 1
    row.get_by_role("button", name="Delete").click()
    library.locator("#delete-dialog").get_by_role("button", name="Delete").click()
    library.get_by_text("No document matches.").wait_for()


def test_hostile_file_names_and_titles_stay_inert(library: Any, request: Any):
    text = f"# <script>alert(3)</script>\n\n{unique(request)}"
    put(library, (HOSTILE, text.encode()), tags="<b onclick=alert(4)>tag</b>")
    ended(library, "ready")
    library.locator("#documents tr", has_text="onerror").first.wait_for()
    assert library.locator("main img, main svg, main script, main b").count() == 0
    library.locator("#documents tr", has_text="onerror").first.get_by_role(
        "button", name="Delete"
    ).click()
    assert library.locator("dialog img, dialog script").count() == 0
    library.keyboard.press("Escape")
    with library.context.expect_page() as opened:
        library.locator("#documents tr", has_text="onerror").first.locator("a.title").click()
    opened.value.wait_for_load_state()
    assert opened.value.locator("main img, main script").count() == 0
    assert fits(library)


def test_one_long_word_does_not_widen_the_page(library: Any, request: Any):
    word = "Donaudampfschifffahrt" * 12
    put(library, (f"{word[:150]}.md", f"# {word}\n\n{unique(request)}".encode()), tags=word[:190])
    ended(library, "ready")
    library.locator("#documents tr", has_text="Donau").first.wait_for()
    assert fits(library)


def test_axe_and_keyboard(library: Any):
    library.wait_for_selector("#documents table")
    assert serious(library) == []
    library.locator("body").press("Control+Home")
    reached = set()
    for _ in range(30):
        library.keyboard.press("Tab")
        reached.add(library.evaluate("document.activeElement.textContent.trim().slice(0, 20)"))
    assert {"Ask", "Library", "Add documents"} <= reached
    if library.locator("#adding").is_hidden():
        library.get_by_role("button", name="Add documents").focus()
        library.keyboard.press("Enter")
    assert library.locator("#adding").is_visible()
    assert serious(library) == []
    library.screenshot(path=library.shots, full_page=True)


def test_signing_in_on_the_page_of_people(page: Any):
    page.goto("/")
    page.screenshot(path=str(page.shots).replace(".png", "-welcome.png"))
    assert serious(page) == []
    page.get_by_role("link", name="Sign in").click()
    page.fill("#id_username", "operator")
    page.fill("#id_password", "wrong")
    page.keyboard.press("Enter")
    assert "wrong" in page.locator(".error").inner_text()
    assert serious(page) == []
    page.screenshot(path=page.shots)


def test_a_shared_link_asks_and_opens_passages_until_it_is_revoked(page: Any, service: Service):
    address = manage(service, "link", "create", "default", "--name", "browser").strip()
    page.goto(address)
    page.get_by_text("Shared link", exact=True).wait_for()
    page.screenshot(path=str(page.shots).replace(".png", "-start.png"), full_page=True)
    answer = ask(page, "How long is the warranty on a lamp?")
    assert "3 years" in answer.inner_text()
    assert page.get_by_text("Helpful", exact=True).count() == 0
    page.screenshot(path=page.shots, full_page=True)
    with page.context.expect_page() as opened:
        answer.locator("a.chip").first.click()
    opened.value.wait_for_load_state()
    assert "3 years" in opened.value.locator("mark").inner_text()
    assert serious(page) == []
    manage(service, "link", "revoke", address.removeprefix("/s/").partition("_")[0])
    opened.value.reload()
    assert "expired" in opened.value.locator("h1").inner_text()
    page.fill("#question", "And for the battery?")
    page.keyboard.press("Enter")
    page.locator(".answer .error").wait_for()
    assert "no longer works" in page.locator(".answer .error").inner_text()


def manage(service: Service, *arguments: str) -> str:
    return subprocess.run(
        [sys.executable, "manage.py", "namespace", *arguments],
        cwd=ROOT,
        env=service.environment,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
