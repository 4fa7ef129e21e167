"""`.env.example` and the settings agree: the same names, and the defaults that the code has."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import environ
from django.conf import settings

from ragsite.settings.limits import DEFAULT_RATE_LIMITS

ROOT = Path(settings.BASE_DIR)

# Set by the supervisor and the tests; read by ragsite/postgres/embedded.py.
READ_ELSEWHERE = {"RAGSITE_SUPERVISED", "RAGSITE_PG_FSYNC"}
# Unset by default; the file shows what a value looks like.
SHOWN_BY_EXAMPLE = {
    "CACHE_URL",
    "DATABASE_POOLER_URL",
    "DATABASE_REPLICA_URL",
    "DATABASE_URL",
    "EMBEDDERS",
    "EMBEDDING_DIM",
    "EMBEDDING_LOCAL_MODEL",
    "EMBEDDING_LOCAL_OPTIONS",
    "EMBEDDING_MODEL_NAME",
    "EMBEDDING_OLLAMA_DIMENSIONS",
    "EMBEDDING_OLLAMA_MODEL",
    "EMBEDDING_OLLAMA_OPTIONS",
    "EMBEDDING_OLLAMA_URL",
    "EMBEDDING_ONNX_DIR",
    "EMBEDDING_ONNX_OPTIONS",
    "EMBEDDING_OPENAI_DIMENSIONS",
    "EMBEDDING_OPENAI_MODEL",
    "EMBEDDING_OPENAI_OPTIONS",
    "EMBEDDING_OPENAI_URL",
    "LANGUAGE_MODELS",
    "LLM_ANTHROPIC_MODEL",
    "LLM_ANTHROPIC_OPTIONS",
    "LLM_OLLAMA_MODEL",
    "LLM_OLLAMA_OPTIONS",
    "LLM_OLLAMA_URL",
    "LLM_OPENAI_MODEL",
    "LLM_OPENAI_OPTIONS",
    "LLM_OPENAI_URL",
    "RERANK_LLM_URL",
    "RERANK_REMOTE_URL",
    "SUPABASE_DB_URL",
    "SUPABASE_URL",
}
# The default depends on something else, which the comment in the file says.
COMPUTED = {
    "DATABASE_STARTUP_OPTIONS",  # false with DATABASE_POOLER_URL
    "ENV_FILE",  # in the project's folder
    "HSTS_SECONDS",  # 365 days, named `year`
    "LOG_FORMAT",  # text at a terminal
    "RAGSITE_HOME",  # in the project's folder
    "RATE_LIMITS",  # merged with DEFAULT_RATE_LIMITS
    "REQUEST_MAX_BYTES",  # four times INGEST_MAX_BYTES
    "STORAGE_OPTIONS",  # within RAGSITE_HOME
}


def documented() -> dict[str, str]:
    """Each `# NAME=value` of the file."""
    text = (ROOT / ".env.example").read_text()
    return dict(re.findall(r"^#? ?([A-Z][A-Z_0-9]*)=(.*)$", text, re.MULTILINE))


def reads() -> Iterator[tuple[str, str, ast.expr | None]]:
    """Each `env.kind("NAME", default=…)` of the settings: its kind, name and default."""
    for path in (ROOT / "ragsite" / "settings").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            named = node.args and isinstance(node.args[0], ast.Constant)
            if ast.unparse(node.func.value) in ("env", "self.env") and named:
                (default,) = [k.value for k in node.keywords if k.arg == "default"] or [None]
                yield node.func.attr, ast.literal_eval(node.args[0]), default


def constant(default: ast.expr) -> Any:
    """The value of an expression of constants, such as 50 * 1024 * 1024."""
    return eval(compile(ast.Expression(default), "default", "eval"), {"__builtins__": {}})


def as_read(kind: str, text: str) -> Any:
    """What django-environ makes of a text."""
    env = environ.Env()
    env.ENVIRON = {"VALUE": text}
    return getattr(env, kind)("VALUE") if text or kind in ("str", "list") else None


def test_every_setting_is_in_env_example_and_back():
    assert {name for _, name, _ in reads()} | READ_ELSEWHERE == set(documented())


def test_every_default_in_env_example_is_the_one_the_code_has():
    shown = documented()
    wrong = []
    for kind, name, default in reads():
        if name in SHOWN_BY_EXAMPLE | COMPUTED:
            continue
        assert default is not None, f"{name} has no default"
        expected = constant(default)
        found = as_read(kind, shown[name])
        if kind == "list":
            expected = [str(one) for one in expected]
        if found != expected:
            wrong.append(f"{name}: {shown[name]!r} in .env.example, {expected!r} in the settings")
    assert not wrong


def test_what_is_shown_by_example_is_unset_by_default():
    defaults = {name: default for _, name, default in reads() if name in SHOWN_BY_EXAMPLE}
    assert set(defaults) == SHOWN_BY_EXAMPLE
    assert not [name for name, default in defaults.items() if default and constant(default)]


def test_computed_numbers_are_shown_as_they_come_out():
    assert {name for _, name, _ in reads()} >= COMPUTED
    assert as_read("int", documented()["REQUEST_MAX_BYTES"]) == 4 * 50 * 1024 * 1024
    assert as_read("int", documented()["HSTS_SECONDS"]) == 365 * 24 * 3600
    assert as_read("json", documented()["RATE_LIMITS"]) == DEFAULT_RATE_LIMITS
