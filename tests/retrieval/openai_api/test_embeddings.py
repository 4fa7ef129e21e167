"""/v1/embeddings with the official client, unchanged, over a real server."""

import asyncio
import base64
import struct
from collections.abc import Callable
from typing import Any

import openai
import pytest

from documents.models import EmbeddingUsage, IndexProfile, Namespace
from documents.profiles.profiles import embedder_of
from ragsite.database.tenancy import namespace

from ...client import Api
from ...project.answer_site import Site
from .conftest import client_options

MODEL = "ragsite-embedding"
TEXTS = ["The keeper lights the lamp.", "Boats leave before dawn.", "The lamp — für ß 🚢"]


@pytest.fixture
def official(client_of: Callable[[Api], openai.OpenAI], api: Api) -> openai.OpenAI:
    return client_of(api)


def profile_of(tenant: Namespace) -> IndexProfile:
    with namespace(tenant.pk):
        return Namespace.objects.select_related("active_profile").get().active_profile


def test_vectors_are_those_of_the_index_in_the_order_of_the_texts(
    official: openai.OpenAI, tenant: Namespace
):
    embedder = embedder_of(profile_of(tenant))
    made = official.embeddings.create(model=MODEL, input=TEXTS)
    assert (made.object, made.model) == ("list", MODEL)
    assert [one.index for one in made.data] == [0, 1, 2]
    for one, expected in zip(made.data, embedder.embed_batch(TEXTS), strict=True):
        assert one.embedding == pytest.approx(expected, abs=1e-6)
    assert made.usage.prompt_tokens == made.usage.total_tokens > 0
    (alone,) = official.embeddings.create(model=MODEL, input=TEXTS[1]).data
    assert alone.embedding == pytest.approx(made.data[1].embedding, abs=1e-6)


def test_floats_and_base64_are_the_same_numbers(api: Api):
    def embedding(encoding: str) -> Any:
        body = {"model": MODEL, "input": TEXTS[0], "encoding_format": encoding}
        return api.post("v1/embeddings", body).body["data"][0]["embedding"]

    floats, encoded = embedding("float"), base64.b64decode(embedding("base64"))
    assert list(struct.unpack(f"<{len(floats)}f", encoded)) == pytest.approx(floats, abs=1e-6)


def test_questions_are_embedded_as_questions(official: openai.OpenAI, tenant: Namespace):
    made = official.embeddings.create(
        model=MODEL, input=TEXTS[0], extra_body={"input_type": "query"}
    )
    expected = embedder_of(profile_of(tenant)).embed_query(TEXTS[0])
    assert made.data[0].embedding == pytest.approx(expected, abs=1e-6)


def test_the_async_client_works_too(site: Site, api: Api):
    async def embed() -> Any:
        async with openai.AsyncOpenAI(**client_options(site, api.key)) as client:
            return await client.embeddings.create(model=MODEL, input=TEXTS)

    assert len(asyncio.run(embed()).data) == len(TEXTS)


@pytest.mark.parametrize(
    ("fields", "status", "param"),
    [
        ({"model": "text-embedding-3-small"}, 404, "model"),
        ({"input": []}, 400, "input"),
        ({"input": ""}, 400, "input"),
        ({"input": ["a", ""]}, 400, "input"),
        ({"input": [1, 2, 3]}, 400, "input"),
        ({"input": [[1, 2, 3]]}, 400, "input"),
        ({"input": 2049 * ["a"]}, 400, "input"),
        ({"input": "a\x00b"}, 400, "input"),
        ({"dimensions": 7}, 400, "dimensions"),
        ({"encoding_format": "hex"}, 400, "encoding_format"),
        ({"input_type": "title"}, 400, "input_type"),
        ({"colour": "red"}, 400, "colour"),
    ],
)
def test_what_has_no_meaning_here_is_refused_by_name(
    api: Api, fields: dict[str, Any], status: int, param: str
):
    answer = api.post("v1/embeddings", {"model": MODEL, "input": "a lamp", **fields})
    assert (answer.status, answer.body["error"]["param"]) == (status, param), answer.body


def test_a_text_longer_than_the_model_reads_is_refused(api: Api):
    answer = api.post("v1/embeddings", {"model": MODEL, "input": ["a", "lamp " * 400_000]})
    assert (answer.status, answer.body["error"]["param"]) == (400, "input")
    assert "Text 1" in answer.body["error"]["message"]


def test_a_read_only_key_is_enough_and_a_key_without_scopes_is_not(
    client_of: Callable[[Api], openai.OpenAI], api_of: Callable[..., Api], tenant: Namespace
):
    reader = client_of(api_of(tenant, ("read",)))
    assert reader.embeddings.create(model=MODEL, input="a lamp").data
    writer = client_of(api_of(tenant, ("write",)))
    with pytest.raises(openai.PermissionDeniedError):
        writer.embeddings.create(model=MODEL, input="a lamp")


def test_tokens_are_booked_to_the_namespace(official: openai.OpenAI, tenant: Namespace):
    made = official.embeddings.create(model=MODEL, input=TEXTS)
    with namespace(tenant.pk):
        booked = sum(EmbeddingUsage.objects.values_list("tokens", flat=True))
    assert booked == made.usage.total_tokens
