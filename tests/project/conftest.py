"""A web process without a worker, with small limits: for tests that hold things open."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest

from .service import Service

LIMITS = {
    "DATABASE_POOL_SIZE": "4",
    "STREAMS_PER_KEY": "26",
    "SEND_TIMEOUT": "10",
    "BODY_TIMEOUT": "4",
    "HEADER_TIMEOUT": "3",
    "LARGE_BODIES": "3",
    "LARGE_BODIES_PER_NAMESPACE": "2",
    "INGEST_MAX_WAIT": "5",
}


@dataclass(frozen=True)
class WebService:
    service: Service
    key: str
    other_key: str

    def client(self, key: str = "") -> httpx2.Client:
        return self.service.client(key or self.key)

    def get(self, path: str, *, key: str = "") -> httpx2.Response:
        with self.client(key) as client:
            return client.get(path)


@pytest.fixture(scope="session")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebService]:
    service = Service(tmp_path_factory.mktemp("web"), extra=LIMITS)
    service.home.mkdir(exist_ok=True)

    def run(*arguments: str) -> str:
        done = service.command(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    try:
        run("migrate")
        keys: list[Any] = []
        for slug in ("one", "two"):
            run("namespace", "create", slug)
            keys.append(run("api_key", "create", "--namespace", slug))
        service.start("--only", "web")
        yield WebService(service, *keys)
    finally:
        service.kill_everything()
