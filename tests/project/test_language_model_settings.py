"""Language models as the environment configures them, each in a process of its own."""

import json

import pytest

from .test_embedding_settings import KEY, printed

MORE = {"vllm": {"BACKEND": "openai", "OPTIONS": {"url": "http://v/v1", "model": "m", "key": KEY}}}


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, "extractive"),
        ({"LLM_OPENAI_URL": "http://x"}, "extractive openai"),
        ({"LLM_OLLAMA_URL": "http://x", "LLM_ANTHROPIC_KEY": "k"}, "extractive ollama anthropic"),
        ({"LLM_ANTHROPIC_URL": "http://x"}, "extractive"),
        ({"LANGUAGE_MODELS": json.dumps(MORE)}, "extractive vllm"),
    ],
)
def test_only_what_is_configured_is_there(environment: dict[str, str], expected: str):
    assert printed("print(*settings.LANGUAGE_MODELS)", **environment) == expected


def test_every_configured_model_can_be_made():
    code = (
        "import django; django.setup()\n"
        "from ragsite.platform.backends import load_backend\n"
        "for alias in ('openai', 'ollama', 'anthropic', 'vllm'):\n"
        "    model = load_backend('LANGUAGE_MODELS', alias)\n"
        "    print(model.identity, model.context_tokens, model.price_in, model.price_out)"
    )
    made = printed(
        code,
        DJANGO_SETTINGS_MODULE="ragsite.settings",
        LLM_OPENAI_URL="https://api.openai.com/v1",
        LLM_OPENAI_KEY=KEY,
        LLM_OPENAI_MODEL="gpt-5-mini",
        LLM_OPENAI_CONTEXT_TOKENS="128000",
        LLM_OPENAI_OPTIONS='{"price_in": 0.25, "price_out": 2}',
        LLM_OLLAMA_URL="http://127.0.0.1:11434",
        LLM_OLLAMA_MODEL="qwen3:4b",
        LLM_OLLAMA_OPTIONS='{"think": false, "keep_alive": "10m"}',
        LLM_ANTHROPIC_KEY=KEY,
        LLM_ANTHROPIC_MODEL="claude",
        LANGUAGE_MODELS=json.dumps(MORE),
    )
    assert made.splitlines() == [
        "openai/gpt-5-mini 128000 0.25 2",
        "ollama/qwen3:4b 8192 0.0 0.0",
        "anthropic/claude 200000 0.0 0.0",
        "openai/m 8192 0.0 0.0",
    ]


def test_keys_are_handed_over_but_never_printed():
    code = (
        "print(settings.LANGUAGE_MODELS)\n"
        "for alias in ('openai', 'anthropic', 'vllm'):\n"
        f"    assert settings.LANGUAGE_MODELS[alias]['OPTIONS']['key'] == {KEY!r}"
    )
    shown = printed(
        code,
        LLM_OPENAI_URL="http://x",
        LLM_OPENAI_KEY=KEY,
        LLM_ANTHROPIC_KEY=KEY,
        LANGUAGE_MODELS=json.dumps(MORE),
    )
    assert KEY not in shown
    assert "http://x" in shown
