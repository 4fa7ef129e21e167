"""Fixtures of the tests of vector stores: a server, the official client, files and a store."""

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import openai
import pytest

from tests.client import Api
from tests.project.answer_site import Site, serving

Work = Callable[[], int]

TEXTS = {
    "lighthouse.md": "# The lighthouse\n\nThe keeper lights the lamp at dusk.\n\n"
    "## Visits\n\nThe tower is open to visitors on Sundays.\n",
    "harbour.md": "# The harbour\n\nBoats leave before dawn, when the lamp is still lit.\n",
    "kitchen.txt": "Knead the dough for ten minutes. A lamp hangs above the oven.\n",
}


@pytest.fixture
def site(db: None) -> Iterator[Site]:
    with serving() as made:
        yield made


@pytest.fixture
def client_for(site: Site) -> Callable[..., openai.OpenAI]:
    def create(key: str, **options: Any) -> openai.OpenAI:
        url = f"http://localhost:{site.port}/v1"
        return openai.OpenAI(base_url=url, api_key=key, max_retries=0, **options)

    return create


@pytest.fixture
def official(client_for: Callable[..., openai.OpenAI], api: Api) -> openai.OpenAI:
    return client_for(api.key)


@pytest.fixture
def files(api: Api, work: Work) -> dict[str, str]:
    """Ids of indexed files, by name."""
    sent = api.upload(*TEXTS.items()).body["results"]
    assert work() == len(TEXTS)
    ids = [f"file-{uuid.UUID(result['document_id']).hex}" for result in sent]
    return dict(zip(TEXTS, ids, strict=True))


@pytest.fixture
def store(official: openai.OpenAI, files: dict[str, str]) -> str:
    made = official.vector_stores.create(name="coast").id
    for name, attributes in {
        "lighthouse.md": {"year": 2020, "kind": "tower", "open": True},
        "harbour.md": {"year": 2024, "kind": "port", "a.b": "x"},
    }.items():
        official.vector_stores.files.create(made, file_id=files[name], attributes=attributes)
    return made


def refused(call: Callable[[], Any]) -> tuple[int, str | None]:
    """The status and the parameter of an error."""
    with pytest.raises(openai.APIStatusError) as caught:
        call()
    return caught.value.status_code, caught.value.body["param"]
