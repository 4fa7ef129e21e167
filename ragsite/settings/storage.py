"""Storage of originals: on disk, in a bucket (STORAGE_BUCKET), or in any Django storage; and search
stores besides the database: QDRANT_…, CHROMA_…, or any class in STORES."""

from pathlib import Path
from typing import Any

import environ

from ragsite.settings.aliases import SupabaseAliases

ON_DISK = "django.core.files.storage.FileSystemStorage"
BUCKET = "documents.intake.object_storage.OriginalsBucket"

UPLOAD_HANDLERS = [
    "django.core.files.uploadhandler.MemoryFileUploadHandler",
    "ragsite.web.parsing.TidyUploadHandler",
]


def originals(env: environ.Env, supabase: SupabaseAliases, *, home: Path) -> dict[str, Any]:
    """Return Django's default storage. STORAGE_BACKEND and STORAGE_OPTIONS take precedence."""
    bucket = env.str("STORAGE_BUCKET", default="") or _supabase_bucket(env, supabase)
    backend = env.str("STORAGE_BACKEND", default="") or (BUCKET if bucket else ON_DISK)
    default = {"location": str(home / "storage")} if backend == ON_DISK else {}
    if backend == BUCKET:
        default = _bucket_options(env, supabase, bucket)
    return {"BACKEND": backend, "OPTIONS": {**default, **env.json("STORAGE_OPTIONS", default={})}}


def _supabase_bucket(env: environ.Env, supabase: SupabaseAliases) -> str:
    """Return Supabase's bucket. It is opened with S3 keys from its dashboard; without them there is
    an error (ragsite/alias_checks.py)."""
    return supabase.bucket if env.str("STORAGE_ACCESS_KEY", default="") and supabase.url else ""


def _bucket_options(env: environ.Env, supabase: SupabaseAliases, bucket: str) -> dict[str, Any]:
    endpoint = env.str("STORAGE_ENDPOINT_URL", default="")
    if not endpoint and bucket == supabase.bucket and supabase.url:
        endpoint = f"{supabase.url.rstrip('/')}/storage/v1/s3"
    options = {
        "bucket_name": bucket,
        "endpoint_url": endpoint or None,
        "region_name": env.str("STORAGE_REGION", default="us-east-1"),
        "access_key": env.str("STORAGE_ACCESS_KEY", default="") or None,
        "secret_key": env.str("STORAGE_SECRET_KEY", default="") or None,
        "location": env.str("STORAGE_PREFIX", default=""),
        "link_seconds": env.int("STORAGE_LINK_SECONDS", default=300),
        "link_endpoint_url": env.str("STORAGE_LINK_ENDPOINT_URL", default=""),
    }
    return {name: value for name, value in options.items() if value is not None}


# -- search stores outside of the database (docs/stores.md) ----------------------------------


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


def store_searching(env: environ.Env) -> dict[str, Any]:
    """Return how long a search waits for a store, how many missing changes it compensates, and the
    prefix of collections."""
    return {
        "prefix": env.str("STORE_PREFIX", default="ragsite_"),
        "seconds": env.float("STORE_SEARCH_SECONDS", default=1.0),
        "pending": env.int("STORE_MAX_PENDING", default=500),
    }
