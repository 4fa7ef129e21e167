"""Settings under the names of the owner's documents: followed, overruled, or refused aloud."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ADDRESS = "postgres://postgres:pw@db.example.com:{port}/postgres"
SETTINGS = {"DJANGO_SETTINGS_MODULE": "ragsite.settings", "ENV_FILE": os.devnull}
STORAGE = {"SUPABASE_STORAGE_BUCKET": "files", "SUPABASE_URL": "https://abc.supabase.co"}
S3 = {"STORAGE_BACKEND": "storages.backends.s3.S3Storage", "STORAGE_OPTIONS": "{}"}


def run(code: str, home: Path, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **SETTINGS, "RAGSITE_HOME": str(home), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def setting(expression: str, home: Path, **environment: str) -> str:
    return run(f"from ragsite import settings\nprint({expression})", home, **environment)


def messages(home: Path, **environment: str) -> dict[str, str]:
    """What the checks of these names say, by id."""
    code = (
        "import django; django.setup()\n"
        "from django.core.checks import run_checks\n"
        "for one in run_checks():\n"
        "    if one.id[9:11] == '02': print(one.id[8:], one.msg, one.hint)"
    )
    lines = run(code, home, **environment).splitlines()
    return {line.partition(" ")[0]: line for line in lines}


# -- database -----------------------------------------------------------------------------


def test_supabase_db_url_is_the_database_where_no_other_is_named(tmp_path: Path):
    address = ADDRESS.format(port=5432)
    host = "settings.DATABASES['owner']['HOST'], settings.EMBEDDED_SERVER"
    assert setting(host, tmp_path, SUPABASE_DB_URL=address) == "db.example.com None"
    assert messages(tmp_path, SUPABASE_DB_URL=address) == {}


def test_database_url_counts_where_both_are_set_and_that_is_said(tmp_path: Path):
    both = {
        "DATABASE_URL": "postgres://owner@own.example.com/ragsite",
        "SUPABASE_DB_URL": ADDRESS.format(port=5432),
    }
    host = "settings.DATABASES['owner']['HOST']"
    assert setting(host, tmp_path, **both) == "own.example.com"
    assert list(messages(tmp_path, **both)) == ["W020"]


def test_the_transaction_pooler_is_warned_of_until_it_is_provided_for(tmp_path: Path):
    pooler = {"SUPABASE_DB_URL": ADDRESS.format(port=6543)}
    assert list(messages(tmp_path, **pooler)) == ["W021"]
    ready = {"DATABASE_PREPARE_AFTER": "0", "DATABASE_STARTUP_OPTIONS": "false"}
    assert messages(tmp_path, **pooler, **ready) == {}


# -- storage ------------------------------------------------------------------------------


def test_a_bucket_that_cannot_be_opened_is_an_error_that_says_what_is_missing(tmp_path: Path):
    said = messages(tmp_path, **STORAGE, SUPABASE_SERVICE_ROLE_KEY="jwt-very-secret")
    assert list(said) == ["E020"]
    assert "SUPABASE_SERVICE_ROLE_KEY opens Supabase's own API" in said["E020"]
    assert "set STORAGE_ACCESS_KEY and STORAGE_SECRET_KEY" in said["E020"]
    assert "jwt-very-secret" not in said["E020"]


def test_supabases_bucket_is_opened_by_s3_keys(tmp_path: Path):
    keys = {"STORAGE_ACCESS_KEY": "a", "STORAGE_SECRET_KEY": "very-secret"}
    shown = setting("settings.STORAGES['default']", tmp_path, **STORAGE, **keys)
    assert "documents.intake.object_storage.OriginalsBucket" in shown
    assert "'bucket_name': 'files'" in shown
    assert "'endpoint_url': 'https://abc.supabase.co/storage/v1/s3'" in shown
    assert messages(tmp_path, **STORAGE, **keys) == {}


def test_a_bucket_of_another_provider(tmp_path: Path):
    named = {"STORAGE_BUCKET": "own", "STORAGE_ENDPOINT_URL": "https://s3.example.com"}
    shown = setting("settings.STORAGES['default']['OPTIONS']", tmp_path, **named)
    assert "'bucket_name': 'own'" in shown
    assert "'endpoint_url': 'https://s3.example.com'" in shown
    disk = setting("settings.STORAGES['default']['OPTIONS']", tmp_path)
    assert disk == str({"location": str(tmp_path / "storage")})


def test_a_storage_backend_of_its_own_settles_it_and_a_key_alone_asks_for_nothing(tmp_path: Path):
    assert messages(tmp_path, **STORAGE, **S3) == {}
    alone = {"SUPABASE_URL": "https://abc.supabase.co", "SUPABASE_SERVICE_ROLE_KEY": "jwt"}
    assert messages(tmp_path, **alone) == {}


def test_commands_do_not_start_with_such_a_bucket(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "manage.py", "check"],
        env={**os.environ, **SETTINGS, "RAGSITE_HOME": str(tmp_path), **STORAGE},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "ragsite.E020" in done.stderr


# -- embedding ----------------------------------------------------------------------------

WITH_MODEL = (
    "*[n for n, e in settings.EMBEDDERS.items() if e['OPTIONS'].get('model') == 'org/some-model']"
)
OPENAI = {"EMBEDDING_OPENAI_URL": "http://127.0.0.1:1/v1"}
OLLAMA = {"EMBEDDING_OLLAMA_URL": "http://127.0.0.1:1"}


@pytest.mark.parametrize(
    ("environment", "embedder"),
    [
        ({}, "local"),
        (OPENAI, "openai"),
        (OLLAMA, "ollama"),
        ({**OPENAI, **OLLAMA}, "openai"),
    ],
)
def test_embedding_model_name_is_the_model_of_the_embedder_that_is_set_up(
    tmp_path: Path, environment: dict[str, str], embedder: str
):
    named = {"EMBEDDING_MODEL_NAME": "org/some-model", **environment}
    assert setting(WITH_MODEL, tmp_path, **named) == embedder
    said = messages(tmp_path, **named)
    assert list(said) == ["I020"]
    assert f"profile create NAME --embedder {embedder}" in said["I020"]


@pytest.mark.parametrize("name", ["all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"])
def test_the_bundled_models_name_changes_nothing(tmp_path: Path, name: str):
    named = {"EMBEDDING_MODEL_NAME": name, "EMBEDDING_DIM": "384"}
    assert setting("*settings.EMBEDDERS", tmp_path, **named) == "default hashing"
    assert messages(tmp_path, **named) == {}


def test_an_embedders_own_setting_counts_more_and_that_is_said(tmp_path: Path):
    both = {**OPENAI, "EMBEDDING_OPENAI_MODEL": "own", "EMBEDDING_MODEL_NAME": "other"}
    model = "settings.EMBEDDERS['openai']['OPTIONS']['model']"
    assert setting(model, tmp_path, **both) == "own"
    assert list(messages(tmp_path, **both)) == ["W022"]


def test_embedding_dim_is_that_of_an_api_that_names_none(tmp_path: Path):
    dimensions = "settings.EMBEDDERS['openai']['OPTIONS']['dimensions']"
    asked = {**OPENAI, "EMBEDDING_OPENAI_MODEL": "m", "EMBEDDING_DIM": "1536"}
    assert setting(dimensions, tmp_path, **asked) == "1536"
    assert messages(tmp_path, **asked) == {}
    other = {**asked, "EMBEDDING_OPENAI_DIMENSIONS": "512"}
    assert setting(dimensions, tmp_path, **other) == "512"
    assert list(messages(tmp_path, **other)) == ["E021"]


def test_embedding_dim_that_is_not_the_models_is_an_error(tmp_path: Path):
    assert messages(tmp_path, EMBEDDING_DIM="384") == {}
    said = messages(tmp_path, EMBEDDING_DIM="1536")
    assert list(said) == ["E021"]
    assert "'default' gives vectors of 384 dimensions" in said["E021"]


# -- chunking -----------------------------------------------------------------------------


def test_a_chunking_model_that_is_not_there_is_an_error(tmp_path: Path):
    assert list(messages(tmp_path, CHUNKING_MODEL="nobody")) == ["E022"]
    assert list(messages(tmp_path, CHUNKING_MODEL="extractive")) == ["E022"]
    assert messages(tmp_path) == {}
