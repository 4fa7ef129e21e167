"""The configured answer writers: the extractive one always, models if they are set up."""

from typing import Any

import environ

from ragsite.platform.logs import current_request_id
from ragsite.platform.secret import Secret

BACKENDS = {
    "extractive": "retrieval.answering.writers.extractive.ExtractiveWriter",
    "openai": "documents.language_models.openai.OpenAIModel",
    "ollama": "documents.language_models.ollama.OllamaModel",
    "anthropic": "documents.language_models.anthropic.AnthropicModel",
}
REMOTE = set(BACKENDS) - {"extractive"}


def language_models(env: environ.Env) -> dict[str, Any]:
    """Return the models by the alias that requests and namespaces use."""
    found = {"extractive": _entry("extractive", {})}
    if url := env.str("LLM_OPENAI_URL", default=""):
        named = {
            "url": url,
            "key": env.str("LLM_OPENAI_KEY", default=""),
            "model": env.str("LLM_OPENAI_MODEL", default=""),
            "context_tokens": env.int("LLM_OPENAI_CONTEXT_TOKENS", default=8192),
        }
        found["openai"] = _entry("openai", {**named, **env.json("LLM_OPENAI_OPTIONS", default={})})
    if url := env.str("LLM_OLLAMA_URL", default=""):
        named = {
            "url": url,
            "model": env.str("LLM_OLLAMA_MODEL", default=""),
            "context_tokens": env.int("LLM_OLLAMA_CONTEXT_TOKENS", default=8192),
        }
        found["ollama"] = _entry("ollama", {**named, **env.json("LLM_OLLAMA_OPTIONS", default={})})
    if key := env.str("LLM_ANTHROPIC_KEY", default=""):
        named = {
            "url": env.str("LLM_ANTHROPIC_URL", default="https://api.anthropic.com"),
            "key": key,
            "model": env.str("LLM_ANTHROPIC_MODEL", default=""),
        }
        options = env.json("LLM_ANTHROPIC_OPTIONS", default={})
        found["anthropic"] = _entry("anthropic", {**named, **options})
    for alias, more in env.json("LANGUAGE_MODELS", default={}).items():
        found[alias] = _entry(more.get("BACKEND", ""), more.get("OPTIONS", {}))
    return found


def caps(env: environ.Env) -> dict[str, float]:
    """Return the caps on tokens and cost of language models, per namespace and calendar month; 0
    means no cap."""
    return {
        "month_tokens": env.int("LLM_MONTH_MAX_TOKENS", default=0),
        "month_cost": env.float("LLM_MONTH_MAX_COST", default=0.0),
    }


def answers(env: environ.Env) -> dict[str, Any]:
    return {
        "model": env.str("ANSWER_MODEL", default="extractive"),
        "min_relevance": env.float("ANSWER_MIN_RELEVANCE", default=0.2),
        "max_tokens": env.int("ANSWER_MAX_TOKENS", default=1000),
        "seconds": env.float("ANSWER_SECONDS", default=120.0),
        "prompt_file": env.str("ANSWER_PROMPT_FILE", default=""),
        "verifier": env.str("ANSWER_VERIFIER", default=""),  # an alias of LANGUAGE_MODELS
        "verifier_style": env.str("ANSWER_VERIFIER_STYLE", default="llm"),  # or minicheck
    }


def chunking(env: environ.Env) -> dict[str, Any]:
    """Settings of the llm chunker: an alias of LANGUAGE_MODELS (blank: refused), and the seconds
    for one response of the model."""
    return {
        "model": env.str("CHUNKING_MODEL", default=""),
        "seconds": env.float("CHUNKING_SECONDS", default=60.0),
    }


def _entry(backend: str, options: dict[str, Any]) -> dict[str, Any]:
    """Build an entry. `backend` is one of this project's by its short name, or a dotted path."""
    hidden = {"key": Secret(options["key"])} if "key" in options else {}
    traced = {"request_id": current_request_id} if backend in REMOTE else {}
    return {"BACKEND": BACKENDS.get(backend, backend), "OPTIONS": {**options, **hidden, **traced}}
