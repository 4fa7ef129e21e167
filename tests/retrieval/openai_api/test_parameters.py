"""No option of the official client's is passed over in silence: what means nothing here, or has a
value that cannot be meant, is 400 and named."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from openai.resources import VectorStores
from openai.resources.chat import Completions
from openai.resources.embeddings import Embeddings
from openai.resources.responses import Responses
from openai.resources.vector_stores import FileBatches, Files

from ...client import Api

OF_THE_CLIENT = {"self", "extra_headers", "extra_query", "extra_body", "timeout", "vector_store_id"}
NOBODY_MEANS = [[1]]
ASK = [{"role": "user", "content": "How many lights?"}]
VALID: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "chat/completions": (Completions.create, {"model": "ragsite", "messages": ASK}),
    "responses": (Responses.create, {"model": "ragsite", "input": "How many lights?"}),
    "embeddings": (Embeddings.create, {"model": "ragsite-embedding", "input": "Lights."}),
    "vector_stores": (VectorStores.create, {"name": "ports"}),
    "vector_stores/{store}": (VectorStores.update, {}),
    "vector_stores/{store}/search": (VectorStores.search, {"query": "lights"}),
    "vector_stores/{store}/files": (Files.create, {"file_id": "file-" + "0" * 32}),
    "vector_stores/{store}/file_batches": (FileBatches.create, {"file_ids": ["file-" + "0" * 32]}),
}


def options() -> Iterator[tuple[str, str]]:
    for path, (method, _) in VALID.items():
        for name in inspect.signature(method).parameters:
            if name not in OF_THE_CLIENT:
                yield path, name


@pytest.fixture
def store(api: Api) -> str:
    return str(api.post("v1/vector_stores", {"name": "lights"}).body["id"])


@pytest.mark.parametrize("path", VALID)
def test_each_option_of_the_client_is_used_or_refused_by_name(api: Api, store: str, path: str):
    names = [name for of, name in options() if of == path]
    assert len(names) >= 2
    for name in names:
        body = {**VALID[path][1], name: NOBODY_MEANS}
        if name == "files":
            body.pop("file_ids")
        answer = api.post(f"v1/{path.format(store=store)}", body)
        assert answer.status == 400, (name, answer.body)
        assert answer.body["error"]["param"].split(".")[0] == name
        assert answer.body["error"]["message"].startswith(name)


def test_what_identifies_the_caller_changes_nothing(api: Api):
    names = {"user": "ada", "safety_identifier": "a1", "prompt_cache_key": "k"}
    for path in ("chat/completions", "responses"):
        answer = api.post(f"v1/{path}", {**VALID[path][1], **names})
        assert answer.status == 200, answer.body
    part = {"type": "text", "text": "How many lights?", "cache_control": {"type": "ephemeral"}}
    asked = {"model": "ragsite", "messages": [{"role": "user", "content": [part]}]}
    assert api.post("v1/chat/completions", asked).status == 200


@pytest.mark.parametrize(
    ("path", "fields", "advice"),
    [
        ("chat/completions", {"tools": [{"type": "function"}]}, "over MCP"),
        ("chat/completions", {"n": 2}, "or send 1."),
        ("chat/completions", {"response_format": {"type": "json_object"}}, '{"type":"text"}'),
        ("chat/completions", {"seed": 7}, "Leave it out."),
        ("chat/completions", {"model": "gpt-5"}, "Use one of: ragsite, ragsite-extractive."),
        ("chat/completions", {"model": "ragsite-embedding"}, "Use one of: ragsite, "),
        ("embeddings", {"model": "text-embedding-3-small"}, "Use one of: ragsite-embedding."),
        ("embeddings", {"input": [[1, 2, 3]]}, "check_embedding_ctx_length=False"),
        ("responses", {"service_tier": "flex"}, 'or send "auto" or "default".'),
    ],
)
def test_a_refusal_says_what_to_do_instead(
    api: Api, path: str, fields: dict[str, Any], advice: str
):
    answer = api.post(f"v1/{path}", {**VALID[path][1], **fields})
    assert answer.status == (404 if "model" in fields else 400)
    assert answer.body["error"]["param"] == next(iter(fields))
    assert advice in answer.body["error"]["message"]
