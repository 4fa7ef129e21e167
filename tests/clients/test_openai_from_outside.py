"""The official OpenAI client, unchanged, against the whole service: from a file to a cited answer,
sync and async, with the keys of two tenants and one that only reads."""

import asyncio
import re
from collections.abc import Callable, Iterator
from typing import Any

import openai
import pytest

from tests.project.service import Service

KILN = b"# Kiln\n\n## Firing\n\nHeat the kiln to 1240 degrees for nine hours.\n"
QUOTE = "Heat the kiln to 1240 degrees for nine hours."
QUESTION = "How hot must the kiln be?"
ASK: list[Any] = [{"role": "user", "content": QUESTION}]


def new_key(service: Service, *options: str) -> str:
    made = service.command("api_key", "create", *options).stdout
    found = re.search(r"rs_[\w-]+", made)
    assert found, made
    return found[0]


@pytest.fixture(scope="module")
def keys(service: Service) -> dict[str, str]:
    service.command("namespace", "create", "stranger")
    return {
        "owner": service.key,
        "reader": new_key(service, "--namespace", "default", "--scopes", "read"),
        "stranger": new_key(service, "--namespace", "stranger"),
    }


@pytest.fixture
def client_of(service: Service, keys: dict[str, str]) -> Iterator[Callable[[str], openai.OpenAI]]:
    made: list[openai.OpenAI] = []

    def create(name: str) -> openai.OpenAI:
        made.append(openai.OpenAI(base_url=f"{service.url}/v1", api_key=keys[name], timeout=120))
        return made[-1]

    yield create
    for client in made:
        client.close()


def file_search(store: str) -> list[Any]:
    return [{"type": "file_search", "vector_store_ids": [store]}]


def test_from_a_file_to_a_cited_answer(client_of: Callable[[str], openai.OpenAI]):
    client = client_of("owner")
    file = client.files.create(file=("kiln.md", KILN), purpose="assistants")
    done = client.files.wait_for_processing(file.id, poll_interval=0.2)
    assert done.status == "processed"
    assert client.files.content(file.id).read() == KILN
    store = client.vector_stores.create(name="pottery", file_ids=[file.id])
    uploads: Any = [("clay.md", b"# Clay\n\nClay rests for two days."), ("glaze.md", b"Ash glaze.")]
    batch = client.vector_stores.file_batches.upload_and_poll(
        store.id, files=uploads, poll_interval_ms=200
    )
    assert (batch.status, batch.file_counts.completed) == ("completed", 2)
    one = client.vector_stores.files.upload_and_poll(
        vector_store_id=store.id, file=("wheel.md", b"The wheel turns."), poll_interval_ms=200
    )
    assert one.status == "completed"
    assert client.vector_stores.retrieve(store.id).file_counts.completed == 4
    best: Any = client.vector_stores.search(store.id, query=QUESTION).data[0]
    (whole,) = client.vector_stores.files.content(best.file_id, vector_store_id=store.id)
    assert whole.text is not None
    assert QUOTE in best.quote == whole.text[best.span["start"] : best.span["end"]]

    answer = client.chat.completions.create(model="ragsite", messages=ASK)
    assert QUOTE in (answer.choices[0].message.content or "")
    assert answer._request_id
    with client.chat.completions.stream(model="ragsite", messages=ASK) as stream:
        final = stream.until_done().get_final_completion()
    assert final.choices[0].message.content == answer.choices[0].message.content
    with client.responses.stream(
        model="ragsite", input=QUESTION, tools=file_search(store.id)
    ) as events:
        response = events.until_done().get_final_response()
    assert QUOTE in response.output_text
    assert [item.type for item in response.output] == ["file_search_call", "message"]


def test_the_async_client_does_the_same(service: Service, keys: dict[str, str]):
    async def run() -> None:
        url = f"{service.url}/v1"
        async with openai.AsyncOpenAI(base_url=url, api_key=keys["owner"], timeout=120) as client:
            store = await client.vector_stores.create(name="async")
            batch = await client.vector_stores.file_batches.upload_and_poll(
                store.id, files=[("kiln.md", KILN)], poll_interval_ms=200
            )
            assert batch.file_counts.completed == 1
            found = [one async for one in client.vector_stores.search(store.id, query=QUESTION)]
            assert [one.filename for one in found] == ["kiln.md"]
            assert await (await client.files.content(found[0].file_id)).aread() == KILN
            chunks = await client.chat.completions.create(
                model="ragsite", messages=ASK, stream=True
            )
            assert QUOTE in "".join([c.choices[0].delta.content or "" async for c in chunks])
            async with client.responses.stream(
                model="ragsite", input=QUESTION, tools=file_search(store.id)
            ) as events:
                assert QUOTE in (await events.get_final_response()).output_text
            vectors = await client.embeddings.create(model="ragsite-embedding", input=[QUESTION])
            assert len(vectors.data[0].embedding) > 100
            assert [file.id async for file in client.files.list(limit=1)]

    asyncio.run(run())


def test_another_tenant_finds_nothing_and_a_reader_changes_nothing(
    client_of: Callable[[str], openai.OpenAI],
):
    owner, reader, stranger = client_of("owner"), client_of("reader"), client_of("stranger")
    file = owner.files.create(file=("secret.md", KILN + b"\nSecret."), purpose="user_data")
    owner.files.wait_for_processing(file.id, poll_interval=0.2)
    store = owner.vector_stores.create(name="secret", file_ids=[file.id])

    for call in (
        lambda: stranger.files.retrieve(file.id),
        lambda: stranger.files.content(file.id),
        lambda: stranger.files.delete(file.id),
        lambda: stranger.vector_stores.retrieve(store.id),
        lambda: stranger.vector_stores.search(store.id, query=QUESTION),
        lambda: stranger.vector_stores.create(name="mine", file_ids=[file.id]),
        lambda: stranger.responses.create(
            model="ragsite", input=QUESTION, tools=file_search(store.id)
        ),
    ):
        with pytest.raises(openai.NotFoundError):
            call()
    assert stranger.files.list().data == []
    none = stranger.chat.completions.create(model="ragsite", messages=ASK)
    assert none.choices[0].message.annotations == []

    assert reader.vector_stores.search(store.id, query=QUESTION).data
    assert reader.files.content(file.id).read().startswith(KILN)
    for change in (
        lambda: reader.files.create(file=("a.md", b"A."), purpose="assistants"),
        lambda: reader.files.delete(file.id),
        lambda: reader.vector_stores.create(name="x"),
        lambda: reader.vector_stores.delete(store.id),
    ):
        with pytest.raises(openai.PermissionDeniedError):
            change()
    assert owner.files.retrieve(file.id).status == "processed"
