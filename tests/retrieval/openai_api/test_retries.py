"""The official client sends a request again when its connection breaks: nothing is created twice.

Between the client and the service stands a proxy that passes the first request on and then drops
the connection in place of the response.
"""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import openai
import pytest

from documents.models import Collection, CollectionBatch, Document, Namespace
from ragsite.database.tenancy import namespace

from ...client import Api
from ...project.answer_site import Site


class DroppingProxy:
    """Drops the response to the first request after `arm`; passes on everything else."""

    def __init__(self, target: int) -> None:
        self.target, self.armed, self.dropped = target, False, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self.listener.getsockname()[1])

    def arm(self) -> None:
        self.armed = True

    def serve(self) -> None:
        with suppress(OSError):  # until the listener is closed
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self._pass_on, args=(client,), daemon=True).start()

    def _pass_on(self, client: socket.socket) -> None:
        with client, socket.create_connection(("127.0.0.1", self.target)) as server:
            upward = threading.Thread(target=_copy, args=(client, server), daemon=True)
            upward.start()
            with suppress(OSError):
                while data := server.recv(65536):
                    if self.armed:  # the service has done its work
                        self.armed = False
                        self.dropped += 1
                        break
                    client.sendall(data)
            for end in (client, server):
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
            upward.join(10)


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)


@contextmanager
def dropping(target: int) -> Iterator[DroppingProxy]:
    proxy = DroppingProxy(target)
    thread = threading.Thread(target=proxy.serve, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        with suppress(OSError):
            proxy.listener.shutdown(socket.SHUT_RDWR)
        proxy.listener.close()
        thread.join(10)


@pytest.fixture
def proxy(site: Site) -> Iterator[DroppingProxy]:
    with dropping(site.port) as made:
        yield made


@pytest.fixture
def client(proxy: DroppingProxy, api: Api) -> Iterator[openai.OpenAI]:
    url = f"http://127.0.0.1:{proxy.port}/v1"
    with openai.OpenAI(base_url=url, api_key=api.key, max_retries=2, timeout=60) as made:
        yield made


def test_creating_is_done_once_however_often_it_is_sent(
    proxy: DroppingProxy,
    client: openai.OpenAI,
    tenant: Namespace,
    work: Callable[[], int],
):
    def once(call: Callable[[], Any]) -> Any:
        before = proxy.dropped
        proxy.arm()
        made = call()
        assert proxy.dropped == before + 1  # it was sent twice
        return made

    file = once(lambda: client.files.create(file=("a.md", b"# A\n\nB."), purpose="assistants"))
    work()
    named = once(lambda: client.vector_stores.create(name="ports", file_ids=[file.id]))
    unnamed = once(lambda: client.vector_stores.create(metadata={"run": "1"}))
    once(lambda: client.vector_stores.files.create(unnamed.id, file_id=file.id))
    batch = once(lambda: client.vector_stores.file_batches.create(named.id, file_ids=[file.id]))
    assert batch.file_counts.completed == 1
    with namespace(tenant.pk):
        assert Document.objects.count() == 1
        assert {str(pk.hex) for pk in Collection.objects.values_list("pk", flat=True)} == {
            named.id.removeprefix("vs_"),
            unnamed.id.removeprefix("vs_"),
        }
        assert CollectionBatch.objects.count() == 1
    assert client.vector_stores.retrieve(named.id).file_counts.total == 1


def test_changing_and_asking_again_is_harmless(
    proxy: DroppingProxy, client: openai.OpenAI, work: Callable[[], int]
):
    file = client.files.create(file=("a.md", b"# A\n\nTwelve lights burn."), purpose="assistants")
    work()
    store = client.vector_stores.create(name="ports", file_ids=[file.id])
    for call in (
        lambda: client.vector_stores.update(store.id, metadata={"a": "b"}),
        lambda: client.vector_stores.files.update(
            file.id, vector_store_id=store.id, attributes={"year": 2020}
        ),
        lambda: client.vector_stores.search(store.id, query="How many lights burn?"),
        lambda: client.responses.create(model="ragsite", input="How many lights burn?"),
        lambda: client.embeddings.create(model="ragsite-embedding", input="lights"),
    ):
        proxy.arm()
        assert call()
    assert proxy.dropped == 5
