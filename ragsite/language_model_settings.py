"""Who writes answers: the built-in extractive writer always, models where the environment names
them."""

from typing import Any

import environ


def language_models(env: environ.Env) -> dict[str, Any]:
    """By the alias that requests and namespaces name."""
    return {"extractive": {"BACKEND": "retrieval.answering.extractive.ExtractiveWriter"}}


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
