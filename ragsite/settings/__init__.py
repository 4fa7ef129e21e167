"""Every setting, read once from the environment (.env.example explains each). Imports no app."""

import os
import secrets
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import environ

from ragsite.platform.private_files import make_folder
from ragsite.postgres.embedded import EmbeddedServer
from ragsite.settings import (
    aliases,
    database,
    embedding,
    extraction,
    language_models,
    limits,
    logs,
    observability,
    outbound,
    rerank,
    security,
    storage,
    web,
)
from ragsite.settings.api import REST_FRAMEWORK, SPECTACULAR_SETTINGS  # noqa: F401
from ragsite.settings.navigation import ADMIN_NAVIGATION  # noqa: F401

BASE_DIR = Path(__file__).resolve().parent.parent.parent
env = environ.Env()
ENV_PATH = env.str("ENV_FILE", default=str(BASE_DIR / ".env"))
environ.Env.read_env(ENV_PATH)

# -- where the service stores everything --------------------------------------
HOME = Path(env.str("RAGSITE_HOME", default=str(BASE_DIR / "var"))).expanduser().resolve()


def _kept_secret(name: str) -> str:
    """Return a secret that is created at the first start and kept in HOME, mode 0600."""
    path = HOME / name
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        make_folder(HOME, mode=0o711)
        draft = path.with_name(f".{name}.{os.getpid()}")
        draft.touch(mode=0o600)
        draft.write_text(secrets.token_urlsafe(50))
        with suppress(FileExistsError):  # another process was first: use its secret
            os.link(draft, path)
        draft.unlink()
        return path.read_text().strip()


# -- the web -------------------------------------------------------------------
SECRET_KEY = env.str("SECRET_KEY", default="")
SECRET_KEY_IS_GENERATED = not SECRET_KEY
SECRET_KEY = SECRET_KEY or _kept_secret("secret_key")
PRODUCTION = env.bool("PRODUCTION", default=False)
DEBUG = env.bool("DEBUG", default=False)
HOST = env.str("HOST", default="127.0.0.1")
PORT = env.int("PORT", default=8000)
WEB_PROCESSES = web.processes(env)
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])
PUBLIC_URL = env.str("PUBLIC_URL", default="").rstrip("/")
PASSAGE_LINK_DAYS = env.int("PASSAGE_LINK_DAYS", default=30)
CORS_ORIGINS = env.list("CORS_ORIGINS", default=[])
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])
BEHIND_TLS = env.bool("BEHIND_TLS", default=False)
TRUSTED_PROXIES = env.int("TRUSTED_PROXIES", default=0)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = BEHIND_TLS
if BEHIND_TLS:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
_tls = security.Tls(env, behind=BEHIND_TLS)
SECURE_HSTS_SECONDS = _tls.hsts_seconds
SECURE_HSTS_INCLUDE_SUBDOMAINS = _tls.hsts_subdomains
SECURE_SSL_REDIRECT = _tls.redirect
SECURE_REDIRECT_EXEMPT = _tls.not_redirected
SILENCED_SYSTEM_CHECKS = _tls.silenced
CSRF_FAILURE_VIEW = "ragsite.web.error_pages.csrf_failure"

ROOT_URLCONF = "ragsite.urls"
ASGI_APPLICATION = "ragsite.asgi.application"
USE_TZ = True
TIME_ZONE = "UTC"
USE_I18N = False
STATIC_URL = "static/"

INSTALLED_APPS = [
    "ragsite",
    "documents",
    "retrieval",
    "evaluation",
    "ragsite.admin_app.OperatorAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "django_q",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
]

MIDDLEWARE = [
    "ragsite.platform.logs.request_id_middleware",
    "ragsite.access.rate_limit_middleware.rate_limit_middleware",
    "ragsite.access.operators.operator_middleware",
    "ragsite.web.content_policy.content_policy_middleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "ragsite.access.actor.actor_middleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
WHITENOISE_USE_FINDERS = True  # straight from the packages: no collectstatic step to forget
APPEND_SLASH = False

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

AUTH_PASSWORD_VALIDATORS = security.PASSWORD_VALIDATORS

# -- the database: one server, three roles (ragsite/database/roles.py) ------------------
DATABASE_URL = aliases.database_url(env)
SUPABASE = aliases.supabase(env)
DATABASE_ROLE_PREFIX = env.str("DATABASE_ROLE_PREFIX", default="ragsite")
DATABASE_POOL_SIZE = env.int("DATABASE_POOL_SIZE", default=20)
# A statement is prepared after this many uses; 0 is never, for poolers that do not support it.
DATABASE_PREPARE_AFTER = env.int("DATABASE_PREPARE_AFTER", default=3)
DATABASE_TIMEOUTS = limits.database_timeouts(env)
# False for a pooler between us and the database that refuses startup options (docs/limits.md).
DATABASE_STARTUP_OPTIONS = env.bool(
    "DATABASE_STARTUP_OPTIONS", default=not env.str("DATABASE_POOLER_URL", default="")
)
EMBEDDED_SERVER = None if DATABASE_URL else EmbeddedServer(HOME)
_CONNECTIONS = database.Connections(
    env,
    url=DATABASE_URL,
    embedded=EMBEDDED_SERVER,
    secret_key=SECRET_KEY,
    role_prefix=DATABASE_ROLE_PREFIX,
    timeouts=DATABASE_TIMEOUTS,
    prepare_after=DATABASE_PREPARE_AFTER,
    has_startup_options=DATABASE_STARTUP_OPTIONS,
    pool_size=DATABASE_POOL_SIZE,
)
DATABASES = _CONNECTIONS.all()
# A replica that has not replayed what the primary had written this long ago is not read from.
DATABASE_REPLICA_MAX_LAG = env.float("DATABASE_REPLICA_MAX_LAG_SECONDS", default=5.0)
DATABASE_ROUTERS = ["ragsite.database.tenancy.RoleRouter"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Set in each transaction if connections cannot set them; the roles have the web's timeouts.
TRANSACTION_TIMEOUTS: dict[str, str] = (
    {} if DATABASE_STARTUP_OPTIONS else limits.timeout_parameters(_CONNECTIONS.timeouts_of("app"))
)

# -- limits (docs/limits.md) ---------------------------------------------------------
RATE_LIMITS = limits.rate_limits(env)
WRONG_KEYS_PER_MINUTE = env.int("WRONG_KEYS_PER_MINUTE", default=60)
QUOTAS = limits.quotas(env)

# -- originals -------------------------------------------------------------------
STORAGES = {
    "default": storage.originals(env, SUPABASE, home=HOME),
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
FILE_UPLOAD_TEMP_DIR = str(HOME / "tmp")
make_folder(Path(FILE_UPLOAD_TEMP_DIR))
FILE_UPLOAD_HANDLERS = storage.UPLOAD_HANDLERS
FILE_UPLOAD_PERMISSIONS, FILE_UPLOAD_DIRECTORY_PERMISSIONS = 0o600, 0o700
INGEST_MAX_BYTES = env.int("INGEST_MAX_BYTES", default=50 * 1024 * 1024)
INGEST_MAX_BYTES_BY_TYPE = limits.max_bytes_by_type(env)
INGEST_MAX_BATCH = env.int("INGEST_MAX_BATCH", default=100)
REQUEST_MAX_BYTES = env.int("REQUEST_MAX_BYTES", default=4 * INGEST_MAX_BYTES)
INGEST_MAX_WAIT = env.int("INGEST_MAX_WAIT", default=60)
FACTS_PER_DOCUMENT = env.int("FACTS_PER_DOCUMENT", default=50_000)
DATA_UPLOAD_MAX_MEMORY_SIZE = REQUEST_MAX_BYTES  # ragsite/web/guards/bodies.py is the real guard
DATA_UPLOAD_MAX_NUMBER_FILES = INGEST_MAX_BATCH
# How much a client may keep open (ragsite/web/guards/).
STREAMS, BODIES = web.streams(env), web.bodies(env)
ANSWER_RUNS = web.answer_runs(env)
MCP = web.mcp(env)

# -- metrics and traces (docs/observability.md) ------------------------------------
METRICS_TOKEN = observability.metrics_token(env, home=HOME)
METRICS_PORT = env.int("METRICS_PORT", default=0)
TRACES = observability.traces(env)

# -- fetching pages ---------------------------------------------------------------
FETCHING = outbound.fetching(env)
WEBHOOKS = outbound.webhooks(env)

# -- reading files: the limits of one file (documents/extractors/sandbox_worker.py) ---------
EXTRACTION = extraction.extraction(env)

# -- OCR: pictures of text, with separate limits (documents/ocr/) -----------------
OCR, OCR_LIMITS = extraction.ocr(env), extraction.ocr_limits(env)

# -- jobs: kept in our own table; django-q2 only wakes workers (documents/jobs/queue.py) -----
JOB_WORKERS = env.int("JOB_WORKERS", default=2)
JOB_TIMEOUT = env.int("JOB_TIMEOUT", default=3600)
JOB_LEASE_SECONDS = env.int("JOB_LEASE_SECONDS", default=30)
JOB_MAX_ATTEMPTS = env.int("JOB_MAX_ATTEMPTS", default=3)
Q_CLUSTER = {
    "name": "ragsite",
    "orm": "default",
    "workers": JOB_WORKERS,
    "timeout": JOB_TIMEOUT,
    "retry": JOB_TIMEOUT + 100,
    "queue_limit": JOB_WORKERS,  # a task taken early would only wait longer
    "bulk": 1,
    "ack_failures": True,
    "max_attempts": 1,
    "recycle": 1000,
    "save_limit": 100,
    "catch_up": False,
    "scheduler": False,  # a schedule could name any function
}


# -- embedding ---------------------------------------------------------------------
def _threads() -> int:
    """Divide the cores between the workers; the web process uses one.

    A query is too short for two threads: with one core busy, its embedding took 200 ms, not 18.
    """
    if env.str("RAGSITE_PROCESS", default="") == "web":
        return 1
    return max(1, len(os.sched_getaffinity(0)) // JOB_WORKERS)


EMBEDDING_ALIASES = aliases.embedding(env)
EMBEDDERS = embedding.embedders(env, home=HOME, threads=_threads(), aliases=EMBEDDING_ALIASES)
EMBEDDING_CAPS = embedding.caps(env)
EMBEDDING_CACHE_DAYS = env.int("EMBEDDING_CACHE_DAYS", default=30)

# -- reindexing: another profile built next to the live one (documents/reindex/build.py) --
REINDEX = {
    "share": env.float("REINDEX_SHARE", default=0.5),
    "builders": env.int("REINDEX_BUILDERS", default=1),
    "grace": env.int("REINDEX_GRACE_SECONDS", default=30),
    "seconds": 20.0,  # of building at a time; then other jobs get a turn
}
# How two profiles are compared: by the first of these that has data.
PARITY_REPORTS = [
    "evaluation.experiments.parity.on_golden_set",
    "retrieval.inspection.parity.on_logged_questions",
    "retrieval.inspection.parity.on_sampled_passages",
]

# -- search --------------------------------------------------------------------------
SEARCH = {
    "candidates": env.int("SEARCH_CANDIDATES", default=50),
    "lexical_budget": env.int("SEARCH_LEXICAL_BUDGET", default=2000),
    "side_threads": env.int("SEARCH_SIDE_THREADS", default=4),
    "ef_search": env.int("SEARCH_EF_SEARCH", default=100),
    "exact_scan_rows": env.int("SEARCH_EXACT_SCAN_ROWS", default=20_000),
    "token_budget": env.int("SEARCH_TOKEN_BUDGET", default=4000),
    "conversation_token_budget": env.int("SEARCH_CONVERSATION_TOKEN_BUDGET", default=8000),
}
STORES, STORE_SEARCH = storage.stores(env), storage.store_searching(env)  # docs/stores.md
# Days that questions are kept for curating golden sets (retrieval/query_log.py); 0: none are.
QUERY_LOG_DAYS = env.int("QUERY_LOG_DAYS", default=30)
QUERY_LOG_PRIVACY = logs.query_log_privacy(env)


# -- language models, answers, chunking by a model (docs/language-models.md) -----------
LANGUAGE_MODELS = language_models.language_models(env)
LANGUAGE_MODEL_CAPS = language_models.caps(env)
ANSWERS = language_models.answers(env)
CHUNKING = language_models.chunking(env)

# -- reranking: only with configured models (retrieval/reranking.py) -------------------
RERANKERS = rerank.rerankers(env)
RERANK = {
    "deadline_ms": env.int("RERANK_DEADLINE_MS", default=700),
    "top": env.int("RERANK_TOP", default=30),
}

# -- caches (retrieval/cache/results.py) -----------------------------------------------------
CACHE_URL = env.str("CACHE_URL", default="")
CACHE_SECONDS = {
    "results": env.int("CACHE_RESULTS_SECONDS", default=300),
    "queries": env.int("CACHE_QUERIES_SECONDS", default=3600),
    "tools": env.int("TOOL_CACHE_SECONDS", default=300),
}


def _cache(name: str, entries: int) -> dict[str, Any]:
    if not CACHE_URL:
        backend = "ragsite.platform.memory_cache.MemoryCache"
        return {"BACKEND": backend, "LOCATION": name, "OPTIONS": {"MAX_ENTRIES": entries}}
    return {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": CACHE_URL,
        "KEY_PREFIX": f"ragsite-{name}",
        "OPTIONS": {
            "serializer": "ragsite.platform.signed_bytes.SignedBytes",
            "socket_connect_timeout": 0.25,
            "socket_timeout": 0.25,
        },
    }


CACHES = {
    # For Django and django-q2; not Redis, so that an outage of Redis affects our caches only.
    "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
    "results": _cache("results", entries=400),  # each of at most 256 kB
    "queries": _cache("queries", entries=2000),  # one vector each
}

# -- security (docs/security.md) ---------------------------------------------------------
AUDIT_DAYS = security.audit_days(env)
LOGIN_THROTTLE = security.login_throttle(env)
AUTHENTICATION_BACKENDS = ["documents.accounts.signing_in.ThrottledBackend"]
OPERATOR_API = security.operator_api(env)

# -- logs ------------------------------------------------------------------------------
LOG_LEVEL = env.str("LOG_LEVEL", default="INFO")
LOG_FORMAT = env.str("LOG_FORMAT", default="text" if sys.stderr.isatty() else "json")
LOGGING = logs.logging(level=LOG_LEVEL, format_=LOG_FORMAT)
