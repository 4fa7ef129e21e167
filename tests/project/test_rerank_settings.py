"""Rerankers and caches as the environment configures them, each in a process of its own."""

import os
import subprocess
import sys

import pytest

KEY = "sk-very-secret"
ALWAYS = "cosine learned"


def printed(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", f"from ragsite import settings\n{code}"],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, ALWAYS),
        ({"RERANK_ONNX_DIR": "/m"}, f"{ALWAYS} cross-encoder"),
        ({"RERANK_CROSS_ENCODER": "org/m"}, f"{ALWAYS} cross-encoder"),
        (
            {"RERANK_REMOTE_URL": "http://x", "RERANK_LLM_URL": "http://y"},
            "cosine learned remote llm",
        ),
        (
            {"RERANK_REMOTE_PRESET": "jina", "RERANK_LLM_MODEL": "ollama"},
            "cosine learned remote llm",
        ),
    ],
)
def test_only_what_is_configured_is_there(environment: dict[str, str], expected: str):
    assert printed("print(*settings.RERANKERS)", **environment) == expected


def test_an_exported_model_comes_before_torch():
    backend = printed(
        "print(settings.RERANKERS['cross-encoder'])",
        RERANK_ONNX_DIR="/m",
        RERANK_CROSS_ENCODER="org/m",
        RERANK_MAX_LENGTH="128",
    )
    assert "OnnxReranker" in backend
    assert "'max_length': 128" in backend


def test_keys_are_handed_over_but_never_printed():
    code = (
        "print(settings.RERANKERS)\n"
        f"assert settings.RERANKERS['remote']['OPTIONS']['key'] == {KEY!r}\n"
        f"assert settings.RERANKERS['llm']['OPTIONS']['key'] == {KEY!r}"
    )
    environment = {"RERANK_REMOTE_URL": "http://x", "RERANK_LLM_URL": "http://y"}
    assert KEY not in printed(code, RERANK_REMOTE_KEY=KEY, RERANK_LLM_KEY=KEY, **environment)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        (
            {"RERANK_REMOTE_PRESET": "together"},
            "https://api.together.xyz/v1 mixedbread-ai/mxbai-rerank-large-v2",
        ),
        ({"RERANK_REMOTE_PRESET": "cohere"}, "https://api.cohere.com/v2 rerank-v3.5"),
        (
            {"RERANK_REMOTE_PRESET": "jina"},
            "https://api.jina.ai/v1 jina-reranker-v2-base-multilingual",
        ),
        (
            {
                "RERANK_REMOTE_PRESET": "cohere",
                "RERANK_REMOTE_URL": "http://proxy/v2",
                "RERANK_REMOTE_MODEL": "rerank-v4.0",
            },
            "http://proxy/v2 rerank-v4.0",
        ),
    ],
)
def test_a_preset_knows_address_and_model(environment: dict[str, str], expected: str):
    code = (
        "options = settings.RERANKERS['remote']['OPTIONS']\nprint(options['url'], options['model'])"
    )
    assert printed(code, **environment) == expected


def test_an_unknown_preset_is_refused_with_those_there_are():
    with pytest.raises(subprocess.CalledProcessError) as caught:
        printed("", RERANK_REMOTE_PRESET="voyage")
    assert "must be one of: together, cohere, jina." in caught.value.stderr


def test_a_cache_url_moves_our_caches_and_no_other_to_redis():
    code = "print(*(c['BACKEND'].split('.')[-1] for c in settings.CACHES.values()))"
    assert printed(code) == "LocMemCache MemoryCache MemoryCache"
    expected = "LocMemCache RedisCache RedisCache"
    assert printed(code, CACHE_URL="redis://127.0.0.1:6379/0") == expected
