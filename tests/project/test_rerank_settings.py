"""Rerankers and caches as the environment configures them, each in a process of its own."""

import os
import subprocess
import sys

import pytest

KEY = "sk-very-secret"


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
        ({}, "cosine"),
        ({"RERANK_ONNX_DIR": "/m"}, "cosine cross-encoder"),
        ({"RERANK_CROSS_ENCODER": "org/m"}, "cosine cross-encoder"),
        ({"RERANK_REMOTE_URL": "http://x", "RERANK_LLM_URL": "http://y"}, "cosine remote llm"),
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


def test_a_cache_url_moves_our_caches_and_no_other_to_redis():
    code = "print(*(c['BACKEND'].split('.')[-1] for c in settings.CACHES.values()))"
    assert printed(code) == "LocMemCache MemoryCache MemoryCache"
    expected = "LocMemCache RedisCache RedisCache"
    assert printed(code, CACHE_URL="redis://127.0.0.1:6379/0") == expected
