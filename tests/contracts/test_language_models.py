"""Every language model against one contract, and what each does in its own way."""

from collections.abc import Iterator
from typing import Any

import pytest

from documents.language_models.anthropic import AnthropicModel
from documents.language_models.base import ChatRequest, LanguageModel, Message
from documents.language_models.ollama import OllamaModel
from documents.language_models.openai import OpenAIModel
from documents.language_models.remote import RemoteLanguageModel

from ..chat_server import Site, provider
from .language_model_contract import (
    ANSWER,
    KEY,
    MESSAGES,
    REQUEST,
    Build,
    LanguageModelContract,
    soon,
)


@pytest.fixture
def site() -> Iterator[Site]:
    with provider() as server:
        server.reply_with(ANSWER)
        server.pause = 0.02
        yield server


def builder(kind: type[RemoteLanguageModel], site: Site) -> Build:
    def build(behaviour: str, *, url: str = "", **options: Any) -> LanguageModel:
        return kind(url or site.url(behaviour), model="some-model", key=KEY, **options)

    return build


class TestOpenAI(LanguageModelContract):
    @pytest.fixture
    def build(self, site: Site) -> Build:
        return builder(OpenAIModel, site)

    def test_what_is_asked_for(self, build: Build, site: Site) -> None:
        request = ChatRequest(MESSAGES, max_tokens=7, temperature=0, stop=("x",), json_mode=True)
        build("normal").complete(request, deadline=soon())
        body = dict(site.last.body)
        del body["messages"]
        assert body == {
            "model": "some-model",
            "max_tokens": 7,
            "temperature": 0,
            "stop": ["x"],
            "response_format": {"type": "json_object"},
            "stream": True,
            "stream_options": {"include_usage": True},
        }

    def test_a_refusal_is_told_apart(self, build: Build) -> None:
        assert build("refuses").complete(REQUEST, deadline=soon()).finish == "refused"

    def test_an_old_server_is_asked_for_less_and_that_is_remembered(
        self, build: Build, site: Site
    ) -> None:
        model = build("old-server")
        request = ChatRequest(MESSAGES, json_mode=True)
        answer = model.complete(request, deadline=soon())
        assert (answer.text, len(site.requests)) == (ANSWER, 3)
        assert answer.usage.is_estimated
        model.complete(request, deadline=soon())
        assert len(site.requests) == 4

    def test_the_field_of_the_limit_can_be_named(self, build: Build, site: Site) -> None:
        model = build("new-server", max_tokens_field="max_completion_tokens")
        assert model.complete(REQUEST, deadline=soon()).text == ANSWER
        assert site.last.body["max_completion_tokens"] == REQUEST.max_tokens

    def test_the_address_may_end_with_the_path(self, build: Build, site: Site) -> None:
        for ending in ("/v1", "/v1/", "/v1/chat/completions"):
            model = build("normal", url=site.url("normal") + ending)
            model.complete(REQUEST, deadline=soon())
            assert site.last.path == "/normal/v1/chat/completions"


class TestOllama(LanguageModelContract):
    @pytest.fixture
    def build(self, site: Site) -> Build:
        return builder(OllamaModel, site)

    def test_what_is_asked_for(self, build: Build, site: Site) -> None:
        model = build(
            "normal", context_tokens=16384, keep_alive="10m", think=False, options={"top_k": 20}
        )
        request = ChatRequest(MESSAGES, max_tokens=7, temperature=0, stop=("x",), json_mode=True)
        model.complete(request, deadline=soon())
        body = dict(site.last.body)
        del body["messages"]
        assert body == {
            "model": "some-model",
            "stream": True,
            "format": "json",
            "keep_alive": "10m",
            "think": False,
            "options": {
                "num_ctx": 16384,
                "num_predict": 7,
                "temperature": 0,
                "stop": ["x"],
                "top_k": 20,
            },
        }

    def test_a_server_that_does_not_know_think_is_asked_without(
        self, build: Build, site: Site
    ) -> None:
        answer = build("old-server", think=False).complete(REQUEST, deadline=soon())
        assert (answer.text, len(site.requests)) == (ANSWER, 2)


class TestAnthropic(LanguageModelContract):
    @pytest.fixture
    def build(self, site: Site) -> Build:
        return builder(AnthropicModel, site)

    def test_what_is_asked_for(self, build: Build, site: Site) -> None:
        request = ChatRequest(MESSAGES, max_tokens=7, temperature=1.5, stop=("x", "\n"))
        build("normal").complete(request, deadline=soon())
        assert site.last.body == {
            "model": "some-model",
            "system": MESSAGES[0].content,
            "messages": [{"role": m.role, "content": m.content} for m in MESSAGES[1:]],
            "max_tokens": 7,
            "temperature": 1.0,
            "stop_sequences": ["x"],
            "stream": True,
        }
        assert site.last.headers["anthropic-version"] == "2023-06-01"
        assert "authorization" not in site.last.headers

    def test_a_refusal_is_told_apart(self, build: Build) -> None:
        assert build("refuses").complete(REQUEST, deadline=soon()).finish == "refused"

    def test_empty_turns_are_left_out_and_the_user_begins(self, build: Build, site: Site) -> None:
        turns = (Message("assistant", "Hi"), Message("user", " "), Message("user", "Why?"))
        build("normal").complete(ChatRequest(turns), deadline=soon())
        assert [message["role"] for message in site.last.messages] == ["user", "assistant", "user"]

    def test_the_address_may_end_with_v1(self, build: Build, site: Site) -> None:
        build("normal", url=site.url("normal") + "/v1").complete(REQUEST, deadline=soon())
        assert site.last.path == "/normal/v1/messages"


@pytest.mark.parametrize("kind", [OpenAIModel, OllamaModel, AnthropicModel])
@pytest.mark.parametrize(
    "options",
    [
        {"model": ""},
        {"context_tokens": 0},
        {"retries": -1},
        {"price_in": -1.0},
        {"idle_seconds": 0},
        {"url": "ftp://host"},
        {"url": "http://user:secret@host"},
        {"key": "a b"},
        {"headers": {"X": "a\r\nb: c"}},
    ],
)
def test_wrong_options_are_refused_when_it_is_built(
    kind: type[RemoteLanguageModel], options: dict[str, Any]
) -> None:
    with pytest.raises(ValueError, match=r"must|needs|holds|characters") as caught:
        kind(**{"url": "http://127.0.0.1:1", "model": "m", **options})
    assert "secret" not in str(caught.value)
