"""The rerankers that the environment configures."""

from typing import Any

import environ
from django.core.exceptions import ImproperlyConfigured

from ragsite.platform.secret import Secret

PRESETS = {  # the URL that /rerank is appended to, and the model
    "together": ("https://api.together.xyz/v1", "mixedbread-ai/mxbai-rerank-large-v2"),
    "cohere": ("https://api.cohere.com/v2", "rerank-v3.5"),
    "jina": ("https://api.jina.ai/v1", "jina-reranker-v2-base-multilingual"),
}
LLM_BY_ALIAS = "retrieval.reranking.llm_by_alias"


def rerankers(env: environ.Env) -> dict[str, Any]:
    local = {
        "max_length": env.int("RERANK_MAX_LENGTH", default=256),
        "threads": env.int("RERANK_THREADS", default=1),
    }
    if batch_size := env.int("RERANK_BATCH_SIZE", default=0):
        local["batch_size"] = batch_size
    found: dict[str, Any] = {
        "cosine": {"BACKEND": "retrieval.rerankers.cosine.CosineReranker"},
        # each namespace has its own model, or none: see manage.py train_reranker
        "learned": {"BACKEND": "retrieval.rerankers.learned.LearnedReranker"},
    }
    if directory := env.str("RERANK_ONNX_DIR", default=""):
        backend = "retrieval.rerankers.onnx.OnnxReranker"
        found["cross-encoder"] = {"BACKEND": backend, "OPTIONS": {"directory": directory, **local}}
    elif model := env.str("RERANK_CROSS_ENCODER", default=""):
        backend = "retrieval.rerankers.cross_encoder.CrossEncoderReranker"
        found["cross-encoder"] = {"BACKEND": backend, "OPTIONS": {"model": model, **local}}
    if remote := _remote(env):
        found["remote"] = {
            "BACKEND": "retrieval.rerankers.remote.RemoteReranker",
            "OPTIONS": remote,
        }
    model = env.str("RERANK_LLM_MODEL", default="")
    if url := env.str("RERANK_LLM_URL", default=""):
        key = Secret(env.str("RERANK_LLM_KEY", default=""))
        backend = "retrieval.rerankers.llm.LlmReranker"
        found["llm"] = {"BACKEND": backend, "OPTIONS": {"url": url, "model": model, "key": key}}
    elif model:
        found["llm"] = {"BACKEND": LLM_BY_ALIAS, "OPTIONS": {"model": model}}
    return found


def _remote(env: environ.Env) -> dict[str, Any]:
    """Options of the remote reranker; explicit settings override a preset's URL and model."""
    preset = env.str("RERANK_REMOTE_PRESET", default="")
    if preset and preset not in PRESETS:
        names = ", ".join(PRESETS)
        raise ImproperlyConfigured(f"RERANK_REMOTE_PRESET must be one of: {names}.")
    url, model = PRESETS.get(preset, ("", ""))
    url = env.str("RERANK_REMOTE_URL", default="") or url
    model = env.str("RERANK_REMOTE_MODEL", default="") or model
    key = Secret(env.str("RERANK_REMOTE_KEY", default=""))
    return {"url": url, "model": model, "key": key} if url else {}
