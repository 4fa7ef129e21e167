"""Alternative names of settings (SUPABASE_…, EMBEDDING_MODEL_NAME, EMBEDDING_DIM). If both names
are set, the main one takes precedence and ragsite/alias_checks.py reports it."""

from dataclasses import dataclass

import environ

TRANSACTION_POOLER_PORT = 6543  # Supabase's
BUNDLED = "all-minilm-l6-v2"  # the embedding model that comes with the installation


@dataclass(frozen=True, slots=True)
class EmbeddingAliases:
    """The values of EMBEDDING_MODEL_NAME and EMBEDDING_DIM, and the embedder they apply to: the API
    with an address, else a local model, else the bundled one."""

    embedder: str
    model: str = ""
    dimensions: int = 0

    def model_for(self, embedder: str, own: str) -> str:
        """Return the embedder's own setting, else the alias if it applies to this embedder."""
        return own or (self.model if self.embedder == embedder else "")

    def dimensions_for(self, embedder: str, own: int) -> int:
        return own or (self.dimensions if self.embedder == embedder else 0)


@dataclass(frozen=True, slots=True)
class SupabaseAliases:
    """The SUPABASE_… settings as the checks need them, without the secrets."""

    is_database_ignored: bool
    is_transaction_pooler: bool
    bucket: str
    url: str
    has_key: bool


def database_url(env: environ.Env) -> str:
    return env.str("DATABASE_URL", default="") or env.str("SUPABASE_DB_URL", default="")


def supabase(env: environ.Env) -> SupabaseAliases:
    address = env.str("SUPABASE_DB_URL", default="")
    is_used = address == database_url(env)
    return SupabaseAliases(
        is_database_ignored=bool(address) and not is_used,
        is_transaction_pooler=is_used and f":{TRANSACTION_POOLER_PORT}/" in address,
        bucket=env.str("SUPABASE_STORAGE_BUCKET", default=""),
        url=env.str("SUPABASE_URL", default=""),
        has_key=bool(env.str("SUPABASE_SERVICE_ROLE_KEY", default="")),
    )


def embedding(env: environ.Env) -> EmbeddingAliases:
    model = env.str("EMBEDDING_MODEL_NAME", default="")
    is_bundled = model.rpartition("/")[2].lower() == BUNDLED
    if env.str("EMBEDDING_OPENAI_URL", default=""):
        embedder = "openai"
    elif env.str("EMBEDDING_OLLAMA_URL", default=""):
        embedder = "ollama"
    elif env.str("EMBEDDING_LOCAL_MODEL", default="") or (model and not is_bundled):
        embedder = "local"
    else:
        embedder = "default"
    return EmbeddingAliases(embedder, model, env.int("EMBEDDING_DIM", default=0))
