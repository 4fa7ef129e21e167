"""A service as `make run` starts it, without samples, with one small handbook."""

from collections.abc import Iterator

import pytest

from tests.project.service import Service


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    service = Service(tmp_path_factory.mktemp("clients"))
    try:
        service.start("--no-samples")
        yield service
    finally:
        service.kill_everything()
