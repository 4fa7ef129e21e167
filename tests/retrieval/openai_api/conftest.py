"""A real server on loopback, the library behind it, and the official client for any key."""

from collections.abc import Callable, Iterator
from typing import Any

import openai
import pytest

from ragsite.platform.backends import load_backend

from ... import chat_server
from ...client import Api
from ...project.answer_site import Site, serving


@pytest.fixture
def site(settings: Any) -> Iterator[Site]:
    settings.STREAMS = {**settings.STREAMS, "send_timeout": 1.0}
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "answer": 0}
    with serving() as made:
        yield made


def client_options(site: Site, key: str) -> dict[str, Any]:
    return {
        "base_url": f"http://127.0.0.1:{site.port}/v1",
        "api_key": key,
        "max_retries": 0,
        "timeout": 60,
    }


@pytest.fixture
def client_of(site: Site) -> Iterator[Callable[[Api], openai.OpenAI]]:
    made: list[openai.OpenAI] = []

    def create(api: Api) -> openai.OpenAI:
        made.append(openai.OpenAI(**client_options(site, api.key)))
        return made[-1]

    yield create
    for client in made:
        client.close()


@pytest.fixture
def openai_client(client_of: Callable[[Api], openai.OpenAI], library: Api) -> openai.OpenAI:
    """For the tenant who has the library."""
    return client_of(library)


@pytest.fixture
def model(settings: Any) -> Iterator[chat_server.Site]:
    """A language model behind HTTP, which says what a test wants: `ragsite-chat`."""
    load_backend.cache_clear()
    with chat_server.provider() as provider:
        settings.LANGUAGE_MODELS = {
            **settings.LANGUAGE_MODELS,
            "chat": {
                "BACKEND": "documents.language_models.openai.OpenAIModel",
                "OPTIONS": {"url": provider.url("normal"), "model": "m", "retries": 0},
            },
        }
        yield provider
    load_backend.cache_clear()
