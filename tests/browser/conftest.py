"""A real browser (Debian's Chromium) on the whole service as its users run it."""

import json
import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from ..project.service import Service, until
from . import chromium

# `make test` collects these tests without running them, and without requirements/browser.txt.
collect_ignore_glob = [] if find_spec("axe_playwright_python") else ["test_*.py"]

FLAGS = [
    "--no-sandbox",  # CI runs as root
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SIZES = {"wide": (1400, 900), "phone": (390, 844)}


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One service for all tests: each must bear what others left behind."""
    service = Service(tmp_path_factory.mktemp("browser"))
    try:
        service.start()
        until(lambda: "Try it:" in service.log, seconds=240)
        yield service
    finally:
        service.kill_everything()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    path = chromium.find()
    assert path, "There is no Chromium: `make test-browser` installs it where apt is available."
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield launched
        launched.close()


@pytest.fixture(params=[("wide", "light"), ("phone", "dark")], ids=lambda p: "-".join(p))
def page(request: Any, browser: Any, service: Service) -> Iterator[Any]:
    """A page that reports script errors and requests to other hosts as failures."""
    size, scheme = request.param
    width, height = SIZES[size]
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme=scheme,
        base_url=service.url,
        permissions=["clipboard-read", "clipboard-write"],
    )
    context.set_default_timeout(60_000)
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("dialog", lambda dialog: (problems.append("a dialog"), dialog.dismiss()))
    context.on("request", lambda sent: _check_host(sent.url, service, problems))
    page.shots = _shots(request.node.originalname, f"{size}-{scheme}")  # type: ignore[attr-defined]
    yield page
    context.close()
    assert problems == []


def _check_host(url: str, service: Service, problems: list[str]) -> None:
    if not url.startswith((service.url, "data:", "blob:")):
        problems.append(f"a request to {url}")


def _shots(test: str, kind: str) -> Path:
    folder = Path(os.environ.get("SCREENSHOTS", "var/screenshots")) / kind
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{test.removeprefix('test_')}.png"


@pytest.fixture
def signed_in(page: Any, service: Service) -> Any:
    page.goto("/admin/login/?next=/")
    page.fill("#id_username", "operator")
    page.fill(
        "#id_password", json.loads((service.home / "credentials.json").read_text())["password"]
    )
    page.click("input[type=submit]")
    page.wait_for_selector("#question")
    page.wait_for_load_state()  # its scripts have run
    return page
