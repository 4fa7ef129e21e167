"""What the documentation points to exists: files, folders, links, headings and make targets."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")],
    key=lambda page: page.relative_to(ROOT).as_posix(),
)
CURRENT = [page for page in PAGES if page.name != "CHANGELOG.md"]  # it names what was, too
FOLDERS = "documents|retrieval|evaluation|ragsite|tests|docs|requirements|templates"

_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_SOURCE = re.compile(r"(?<![\w./-])((?:[\w-]+/)*[\w-]+\.(?:py|sql))\b")
_FOLDER = re.compile(rf"`((?:{FOLDERS})/[\w./-]*)`")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)
_TARGET = re.compile(r"\bmake ([a-z]+(?:-[a-z]+)+)")


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def anchors_of(page: Path) -> set[str]:
    """As GitHub makes them of headings."""
    headings = _HEADING.findall(_FENCE.sub("", page.read_text()))
    plain = (re.sub(r"[^\w\- ]", "", heading.strip().lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in plain}


def broken_links(page: Path) -> Iterator[str]:
    for link in _LINK.findall(_FENCE.sub("", page.read_text())):
        if re.match(r"[a-z]+:", link):
            continue  # the web
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists():
            yield link
        elif anchor and target.suffix == ".md" and anchor not in anchors_of(target):
            yield f"{link}: no such heading"


@pytest.mark.parametrize("page", CURRENT, ids=name_of)
def test_every_file_that_is_named_exists(page: Path) -> None:
    text = page.read_text()
    named = {*_SOURCE.findall(text), *_FOLDER.findall(text)}
    assert not sorted(path for path in named if not (ROOT / path).exists())


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_somewhere(page: Path) -> None:
    assert not list(broken_links(page))


@pytest.mark.parametrize("page", CURRENT, ids=name_of)
def test_every_make_target_exists(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert not set(_TARGET.findall(page.read_text())) - targets


def test_every_module_that_make_runs_exists() -> None:
    named = re.findall(r"-m (evaluation[\w.]+)", (ROOT / "Makefile").read_text())
    assert named
    assert not [name for name in named if not (ROOT / f"{name.replace('.', '/')}.py").exists()]


def test_decisions_are_one_page_each_with_their_tables_of_figures_elsewhere() -> None:
    decisions = [page for page in PAGES if page.parent.name == "decisions"]
    assert len(decisions) > 25
    assert not [page.name for page in decisions if len(page.read_text().splitlines()) > 90]
    assert not [page.name for page in decisions if "--:|" in page.read_text()]
