"""Rerankers as the environment configures them: only what is configured is there."""

from typing import Any

import environ

from ragsite.secret import Secret


def rerankers(env: environ.Env) -> dict[str, Any]:
    local = {
        "max_length": env.int("RERANK_MAX_LENGTH", default=256),
        "threads": env.int("RERANK_THREADS", default=1),
    }
    if batch_size := env.int("RERANK_BATCH_SIZE", default=0):
        local["batch_size"] = batch_size
    found: dict[str, Any] = {"cosine": {"BACKEND": "retrieval.rerankers.cosine.CosineReranker"}}
    if directory := env.str("RERANK_ONNX_DIR", default=""):
        backend = "retrieval.rerankers.onnx.OnnxReranker"
        found["cross-encoder"] = {"BACKEND": backend, "OPTIONS": {"directory": directory, **local}}
    elif model := env.str("RERANK_CROSS_ENCODER", default=""):
        backend = "retrieval.rerankers.cross_encoder.CrossEncoderReranker"
        found["cross-encoder"] = {"BACKEND": backend, "OPTIONS": {"model": model, **local}}
    if url := env.str("RERANK_REMOTE_URL", default=""):
        model = env.str("RERANK_REMOTE_MODEL", default="")
        key = Secret(env.str("RERANK_REMOTE_KEY", default=""))
        backend = "retrieval.rerankers.remote.RemoteReranker"
        found["remote"] = {"BACKEND": backend, "OPTIONS": {"url": url, "model": model, "key": key}}
    if url := env.str("RERANK_LLM_URL", default=""):
        model = env.str("RERANK_LLM_MODEL", default="")
        key = Secret(env.str("RERANK_LLM_KEY", default=""))
        backend = "retrieval.rerankers.llm.LlmReranker"
        found["llm"] = {"BACKEND": backend, "OPTIONS": {"url": url, "model": model, "key": key}}
    return found
