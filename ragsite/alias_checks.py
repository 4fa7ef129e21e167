"""System checks for settings under alternative names (EMBEDDING_MODEL_NAME, SUPABASE_…): which of
two wins, and which cannot work."""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Info, Warning, register

from ragsite.settings.storage import BUCKET, ON_DISK


@register()
def supabase_database(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    if settings.SUPABASE.is_database_ignored:
        return [
            Warning(
                "DATABASE_URL and SUPABASE_DB_URL name different databases: DATABASE_URL is used.",
                id="ragsite.W020",
            )
        ]
    if settings.SUPABASE.is_transaction_pooler and (
        settings.DATABASE_PREPARE_AFTER or settings.DATABASE_STARTUP_OPTIONS
    ):
        return [
            Warning(
                "SUPABASE_DB_URL names the transaction pooler (port 6543), which keeps neither "
                "prepared statements nor startup options.",
                hint="Use the direct or the session pooler's address (port 5432), or set "
                "DATABASE_PREPARE_AFTER=0 and DATABASE_STARTUP_OPTIONS=false.",
                id="ragsite.W021",
            )
        ]
    return []


@register()
def supabase_storage(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """The Supabase settings do not suffice to open the bucket; without this error files would
    silently be kept on disk."""
    bucket = settings.SUPABASE.bucket
    if not bucket or settings.STORAGES["default"]["BACKEND"] != ON_DISK:
        return []
    key = "SUPABASE_SERVICE_ROLE_KEY" if settings.SUPABASE.has_key else "a service role key"
    return [
        Error(
            f"SUPABASE_STORAGE_BUCKET is set, but originals would be kept on disk: {key} opens "
            "Supabase's own API, and object storage is reached by S3 here.",
            hint="Make S3 access keys in the Supabase dashboard and set STORAGE_ACCESS_KEY and "
            "STORAGE_SECRET_KEY, SUPABASE_URL and STORAGE_REGION. Or unset the bucket.",
            id="ragsite.E020",
        )
    ]


@register()
def object_storage(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    if settings.STORAGES["default"]["BACKEND"] != BUCKET or find_spec("boto3"):
        return []
    return [
        Error(
            "STORAGE_BUCKET is set, but boto3 is not installed.",
            hint=".venv/bin/pip install -r requirements/s3.txt",
            id="ragsite.E023",
        )
    ]


@register()
def embedding_model(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    aliases = settings.EMBEDDING_ALIASES
    if not aliases.model or aliases.embedder == "default":
        return []
    own = settings.EMBEDDERS[aliases.embedder]["OPTIONS"].get("model", "")
    if own != aliases.model:
        return [
            Warning(
                f"EMBEDDING_MODEL_NAME is {aliases.model!r}, and the embedder "
                f"{aliases.embedder!r} has the model {own!r} by its own setting, which is used.",
                id="ragsite.W022",
            )
        ]
    return [
        Info(
            f"EMBEDDING_MODEL_NAME is the model of the embedder {aliases.embedder!r}. A namespace "
            "uses it once its index profile does.",
            hint=f"manage.py profile create NAME --embedder {aliases.embedder}, then manage.py "
            "reindex --profile NAME (docs/reindex.md).",
            id="ragsite.I020",
        )
    ]
