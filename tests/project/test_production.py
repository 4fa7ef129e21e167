"""With PRODUCTION=true the service refuses insecure settings and says why; else it starts."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from ragsite.postgres.embedded import EmbeddedServer
from ragsite.production_checks import fit_for_production, production_is_declared
from ragsite.settings import BASE_DIR

pytestmark = pytest.mark.filterwarnings("ignore:Overriding setting DATABASES")

KEY = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJ"


def database(host: str, *, sslmode: str = "", password: str = "l0ng-and-random") -> dict[str, Any]:
    options = {"sslmode": sslmode} if sslmode else {}
    return {"USER": "owner", "PASSWORD": password, "HOST": host, "OPTIONS": options}


def with_database(host: str, **options: str) -> dict[str, Any]:
    each = database(host, **options)
    return {"EMBEDDED_SERVER": None, "DATABASES": {"default": each, "owner": each}}


@pytest.fixture
def safe(settings: Any) -> Any:
    settings.PRODUCTION = True
    settings.DEBUG = False
    settings.SECRET_KEY, settings.SECRET_KEY_IS_GENERATED = KEY, False
    settings.ALLOWED_HOSTS = ["ragsite.example.com"]
    settings.PUBLIC_URL = "https://ragsite.example.com"
    settings.CSRF_TRUSTED_ORIGINS = ["https://ragsite.example.com"]
    settings.BEHIND_TLS, settings.TRUSTED_PROXIES = True, 1
    settings.CACHE_URL = "redis://:l0ng-and-random@cache.example.com:6379/0"
    settings.METRICS_TOKEN = "0123456789abcdef"
    change(settings, with_database("db.example.com", sslmode="verify-full"))
    return settings


def change(settings: Any, changes: dict[str, Any]) -> None:
    for name, value in changes.items():
        setattr(settings, name, value)


def refusals() -> list[str]:
    return [str(message.id).removeprefix("ragsite.") for message in fit_for_production(None)]


def test_safe_settings_are_accepted(safe: Any):
    assert refusals() == []


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"DEBUG": True}, "E060"),
        ({"SECRET_KEY_IS_GENERATED": True}, "E061"),
        ({"SECRET_KEY": "short"}, "E062"),
        ({"SECRET_KEY": "a" * 60}, "E062"),
        ({"ALLOWED_HOSTS": ["ragsite.example.com", "*"]}, "E063"),
        ({"ALLOWED_HOSTS": []}, "E063"),
        ({"BEHIND_TLS": False}, "E064"),
        ({"TRUSTED_PROXIES": 0}, "E065"),
        ({"PUBLIC_URL": "http://ragsite.example.com"}, "E066"),
        ({"CSRF_TRUSTED_ORIGINS": ["https://*.example.com"]}, "E066"),
        (with_database("db.example.com"), "E067"),
        (with_database("10.0.0.7"), "E067"),
        (with_database("db", sslmode="require", password="Postgres"), "E068"),
        (with_database("db", sslmode="require", password="owner"), "E068"),
        ({"EMBEDDED_SERVER": EmbeddedServer(Path("/nowhere"), fsync=False)}, "E069"),
        ({"CACHE_URL": "redis://cache.example.com:6379/0"}, "E070"),
        ({"METRICS_TOKEN": "short"}, "E072"),
    ],
)
def test_what_is_insecure_is_refused(safe: Any, changes: dict[str, Any], code: str):
    change(safe, changes)
    assert refusals() == [code]
    safe.PRODUCTION = False
    assert refusals() == []


def test_reading_files_without_a_sandbox_is_refused(safe: Any):
    sandbox = {**safe.EXTRACTION["sandbox"], "mode": "off"}
    safe.EXTRACTION = {**safe.EXTRACTION, "sandbox": sandbox}
    assert refusals() == ["E071"]


@pytest.mark.parametrize(
    "changes",
    [
        with_database("db.example.com", sslmode="disable"),  # stated, so it is meant
        with_database("127.0.0.1"),
        with_database("%2Fvar%2Frun%2Fpostgresql"),
        # Advised against, but not refused.
        {"EMBEDDED_SERVER": EmbeddedServer(Path("/nowhere"), fsync=True)},
        {"CACHE_URL": "redis://localhost:6379/0"},
    ],
)
def test_connections_that_nobody_can_listen_to_need_no_tls(safe: Any, changes: dict[str, Any]):
    change(safe, changes)
    assert refusals() == []


def test_no_message_repeats_a_secret(safe: Any):
    change(safe, with_database("db", password="postgres"))
    change(safe, {"SECRET_KEY": "tiny-key", "METRICS_TOKEN": "tiny-token"})
    told = "\n".join(map(str, fit_for_production(None)))
    assert "DATABASE_URL" in told
    assert "tiny-" not in told


def test_migrate_refuses_before_it_connects(safe: Any):
    safe.DEBUG = True
    with pytest.raises(CommandError, match=r"(?s)DEBUG is on.*Unset DEBUG"):
        call_command("migrate")


def run(home: Path, *command: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("RAGSITE", "DJANGO"))}
    insecure = {"PRODUCTION": "true", "SECRET_KEY": KEY, "DEBUG": "true", "BEHIND_TLS": "false"}
    own = {"RAGSITE_HOME": str(home), "ENV_FILE": os.devnull}
    return subprocess.run(
        [sys.executable, *command],
        cwd=BASE_DIR,
        env={**kept, **own, **insecure},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    "command",
    [["manage.py", "up", "--only", "worker"], ["-c", "import ragsite.asgi"]],
    ids=["a command", "the web process by itself"],
)
def test_nothing_starts_and_the_reasons_are_given(tmp_path: Path, command: list[str]):
    done = run(tmp_path, *command)
    assert done.returncode != 0
    for reason in ("DEBUG is on", "Unset DEBUG", "BEHIND_TLS is off", "Let a proxy end TLS"):
        assert reason in done.stderr
    assert KEY not in done.stderr


def test_check_deploy_advises_production_and_names_what_is_left_open(
    safe: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def advice() -> set[str]:
        return {
            str(message.id).removeprefix("ragsite.") for message in production_is_declared(None)
        }

    assert advice() == set()
    (tmp_path / "credentials.json").write_text("{}")
    (tmp_path / "env").write_text("")
    (tmp_path / "env").chmod(0o644)
    server = replace(EmbeddedServer(tmp_path), fsync=True)
    change(safe, {"HOME": tmp_path, "ENV_PATH": str(tmp_path / "env"), "EMBEDDED_SERVER": server})
    assert advice() == {"W061", "W062", "W063"}
    (tmp_path / "env").chmod(0o600)
    (tmp_path / "credentials.json").unlink()
    assert advice() == {"W061"}
    safe.PRODUCTION = False
    assert advice() == {"W060"}
