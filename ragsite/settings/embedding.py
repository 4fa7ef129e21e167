"""The configured embedders: the bundled one always, others if the environment names them."""

from pathlib import Path
from typing import Any

import environ

from ragsite.platform.secret import Secret
from ragsite.settings.aliases import EmbeddingAliases

BACKENDS = {
    "local": "documents.embedders.sentence_transformers.SentenceTransformersEmbedder",
    "onnx": "documents.embedders.onnx.OnnxEmbedder",
    "openai": "documents.embedders.openai.OpenAIEmbedder",
    "ollama": "documents.embedders.ollama.OllamaEmbedder",
    "hashing": "documents.embedders.hashing.HashingEmbedder",
}


def embedders(
    env: environ.Env, *, home: Path, threads: int, aliases: EmbeddingAliases
) -> dict[str, Any]:
    """Return the embedders by the alias that index profiles use."""
    size = env.int("EMBEDDING_BATCH_SIZE", default=64)
    local = {
        "threads": env.int("EMBEDDING_THREADS", default=0) or threads,
        "batch_size": size,
        "runtime": env.str("EMBEDDING_RUNTIME", default="auto"),
        "proofs": str(home / "models"),
    }
    found = {"default": _entry("local", local), "hashing": _entry("hashing", {})}
    if model := aliases.model_for("local", env.str("EMBEDDING_LOCAL_MODEL", default="")):
        options = env.json("EMBEDDING_LOCAL_OPTIONS", default={})
        found["local"] = _entry("local", {**local, "model": model, **options})
    if directory := env.str("EMBEDDING_ONNX_DIR", default=""):
        options = env.json("EMBEDDING_ONNX_OPTIONS", default={})
        shared = {"threads": local["threads"], "batch_size": size}
        found["onnx"] = _entry("onnx", {"directory": directory, **shared, **options})
    if url := env.str("EMBEDDING_OPENAI_URL", default=""):
        named = {
            "url": url,
            "key": env.str("EMBEDDING_OPENAI_KEY", default=""),
            "model": aliases.model_for("openai", env.str("EMBEDDING_OPENAI_MODEL", default="")),
            "dimensions": aliases.dimensions_for(
                "openai", env.int("EMBEDDING_OPENAI_DIMENSIONS", default=0)
            ),
            "batch_size": size,
        }
        options = env.json("EMBEDDING_OPENAI_OPTIONS", default={})
        found["openai"] = _entry("openai", {**named, **options})
    if url := env.str("EMBEDDING_OLLAMA_URL", default=""):
        named = {
            "url": url,
            "model": aliases.model_for("ollama", env.str("EMBEDDING_OLLAMA_MODEL", default="")),
            "dimensions": aliases.dimensions_for(
                "ollama", env.int("EMBEDDING_OLLAMA_DIMENSIONS", default=0)
            ),
            "batch_size": size,
        }
        options = env.json("EMBEDDING_OLLAMA_OPTIONS", default={})
        found["ollama"] = _entry("ollama", {**named, **options})
    for alias, more in env.json("EMBEDDERS", default={}).items():
        backend = more.get("BACKEND", "")
        found[alias] = _entry(backend, more.get("OPTIONS", {}))
    return found


def caps(env: environ.Env) -> dict[str, float]:
    """Return the caps on tokens and cost of embedding; 0 means no cap."""
    return {
        "job_tokens": env.int("EMBEDDING_JOB_MAX_TOKENS", default=0),
        "job_cost": env.float("EMBEDDING_JOB_MAX_COST", default=0.0),
        "month_tokens": env.int("EMBEDDING_MONTH_MAX_TOKENS", default=0),
        "month_cost": env.float("EMBEDDING_MONTH_MAX_COST", default=0.0),
    }


def _entry(backend: str, options: dict[str, Any]) -> dict[str, Any]:
    """Build an entry. `backend` is one of this project's by its short name, or a dotted path."""
    hidden = {"key": Secret(options["key"])} if "key" in options else {}
    return {"BACKEND": BACKENDS.get(backend, backend), "OPTIONS": {**options, **hidden}}
