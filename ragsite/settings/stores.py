"""Search stores outside of the database: QDRANT_… and CHROMA_…, or any class by STORES."""

from typing import Any

import environ


def stores(env: environ.Env) -> dict[str, Any]:
    """Return every store that a profile can use, besides pgvector."""
    found: dict[str, Any] = {}
    if url := env.str("QDRANT_URL", default=""):
        found["qdrant"] = {
            "BACKEND": "documents.stores.qdrant.QdrantStore",
            "OPTIONS": {
                "url": url,
                "api_key": env.str("QDRANT_API_KEY", default=""),
                "ef_search": env.int("QDRANT_EF_SEARCH", default=128),
                "write_seconds": env.float("STORE_WRITE_SECONDS", default=30.0),
            },
        }
    url, path = env.str("CHROMA_URL", default=""), env.str("CHROMA_PATH", default="")
    if url or path:
        found["chroma"] = {
            "BACKEND": "documents.stores.chroma.ChromaStore",
            "OPTIONS": {
                "url": url,
                "path": "" if url else path,
                "token": env.str("CHROMA_TOKEN", default=""),
                "write_seconds": env.float("STORE_WRITE_SECONDS", default=30.0),
            },
        }
    return {**found, **env.json("STORES", default={})}


def searching(env: environ.Env) -> dict[str, Any]:
    """Return how long a search waits for a store, how many changes it makes up for, and what names
    of collections begin with."""
    return {
        "prefix": env.str("STORE_PREFIX", default="ragsite_"),
        "seconds": env.float("STORE_SEARCH_SECONDS", default=1.0),
        "pending": env.int("STORE_MAX_PENDING", default=500),
    }
