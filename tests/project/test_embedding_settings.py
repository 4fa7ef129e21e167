"""Embedders as the environment configures them, each in a process of its own."""

import json
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
        ({}, "default hashing"),
        ({"EMBEDDING_LOCAL_MODEL": "org/m"}, "default hashing local"),
        ({"EMBEDDING_ONNX_DIR": "/m"}, "default hashing onnx"),
        (
            {"EMBEDDING_OPENAI_URL": "http://x", "EMBEDDING_OLLAMA_URL": "http://y"},
            "default hashing openai ollama",
        ),
        ({"EMBEDDERS": '{"tei": {"BACKEND": "openai"}}'}, "default hashing tei"),
    ],
)
def test_only_what_is_configured_is_there(environment: dict[str, str], expected: str):
    assert printed("print(*settings.EMBEDDERS)", **environment) == expected


def test_every_configured_embedder_can_be_made():
    code = (
        "import django; django.setup()\n"
        "from documents.profiles.profiles import load_embedder\n"
        "for alias in ('openai', 'ollama', 'tei'): print(load_embedder(alias).identity)"
    )
    identities = printed(
        code,
        DJANGO_SETTINGS_MODULE="ragsite.settings",
        EMBEDDING_OPENAI_URL="https://api.openai.com/v1",
        EMBEDDING_OPENAI_KEY=KEY,
        EMBEDDING_OPENAI_MODEL="text-embedding-3-small",
        EMBEDDING_OPENAI_DIMENSIONS="512",
        EMBEDDING_OPENAI_OPTIONS='{"shorten": "server", "price": 0.02}',
        EMBEDDING_OLLAMA_URL="http://127.0.0.1:11434",
        EMBEDDING_OLLAMA_MODEL="nomic-embed-text",
        EMBEDDING_OLLAMA_DIMENSIONS="768",
        EMBEDDING_OLLAMA_OPTIONS='{"keep_alive": "10m"}',
        EMBEDDERS=json.dumps(
            {
                "tei": {
                    "BACKEND": "openai",
                    "OPTIONS": {"url": "http://tei/v1", "model": "bge", "dimensions": 384},
                }
            }
        ),
    )
    assert identities.splitlines() == [
        "openai/text-embedding-3-small/512/normalized",
        "ollama/nomic-embed-text/768/normalized",
        "openai/bge/384/normalized",
    ]


def test_keys_are_handed_over_but_never_printed():
    more = {"tei": {"BACKEND": "openai", "OPTIONS": {"url": "http://x", "key": KEY}}}
    code = (
        "print(settings.EMBEDDERS)\n"
        f"assert settings.EMBEDDERS['openai']['OPTIONS']['key'] == {KEY!r}\n"
        f"assert settings.EMBEDDERS['tei']['OPTIONS']['key'] == {KEY!r}"
    )
    shown = printed(
        code,
        EMBEDDING_OPENAI_URL="http://x",
        EMBEDDING_OPENAI_KEY=KEY,
        EMBEDDERS=json.dumps(more),
    )
    assert KEY not in shown
    assert "http://x" in shown


def test_caps_and_runtime_come_from_the_environment():
    code = "print(settings.EMBEDDING_CAPS, settings.EMBEDDERS['default']['OPTIONS']['runtime'])"
    shown = printed(code, EMBEDDING_MONTH_MAX_COST="2.5", EMBEDDING_RUNTIME="torch")
    assert "'month_cost': 2.5" in shown
    assert shown.endswith("torch")
    assert printed(code).endswith("auto")
