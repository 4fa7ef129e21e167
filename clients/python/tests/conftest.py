"""A service of this checkout, run by its own environment (.venv), with two documents in it."""

from collections.abc import Iterator

import pytest
from ragsite_client import Client

from tests.project.service import ROOT, Service

KILN = "# Kiln\n\n## Firing\n\nHeat the kiln 🔥 to 1240 degrees for nine hours.\n"
PAGE = "# Wheel\n\nThe wheel turns at 240 rpm.\n"


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    python = str(ROOT / ".venv" / "bin" / "python")
    service = Service(tmp_path_factory.mktemp("clients"), python=python)
    try:
        service.start("--no-samples")
        with Client(service.url, service.key) as client:
            taken = client.ingest_texts(
                [
                    {"content": KILN, "source_uri": "https://example.com/kiln", "tags": ["kiln"]},
                    {"content": PAGE, "source_uri": "notes/wheel.md", "metadata": {"year": 2026}},
                ],
                wait=120,
            )
            assert (taken.indexed, taken.failed) == (2, 0)
        yield service
    finally:
        service.kill_everything()


@pytest.fixture(autouse=True)
def _in_the_environment(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGSITE_URL", service.url)
    monkeypatch.setenv("RAGSITE_API_KEY", service.key)
