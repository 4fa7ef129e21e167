"""System checks for PRODUCTION=true: unsafe settings with which the service refuses to start.

Each of them could silently expose or lose data.
"""

import ipaddress
import stat
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register
from django.core.exceptions import ImproperlyConfigured

MIN_SECRET = 32
MIN_TOKEN = 16
# Passwords of examples and images; all lower case.
KNOWN_PASSWORDS = {
    "admin",
    "changeme",
    "change-me",
    "example",
    "password",
    "postgres",
    "ragsite",
    "root",
    "secret",
}

SettingsCheck = Callable[[], Iterable[CheckMessage]]


@register()
def fit_for_production(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Return nothing unless PRODUCTION is on: trials and development need none of this."""
    if not settings.PRODUCTION:
        return []
    return [message for rule in _RULES for message in rule()]


def require_fit_for_production() -> None:
    """Raise ImproperlyConfigured. For processes that Django starts without its checks: the web
    process, and `migrate`, which runs them too late."""
    problems = [message for message in fit_for_production(None) if message.is_serious()]
    if problems:
        raise ImproperlyConfigured("\n".join(map(str, problems)))


@register(deploy=True)
def production_is_declared(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Reported by `check --deploy` only."""
    if settings.PRODUCTION:
        return list(_advice())
    return [
        Warning(
            "PRODUCTION is off: insecure settings are reported here, but do not stop the service.",
            hint="Set PRODUCTION=true (docs/operations.md).",
            id="ragsite.W060",
        )
    ]


def _debug() -> Iterable[CheckMessage]:
    if settings.DEBUG:
        yield Error(
            "DEBUG is on: error pages show settings, code and parts of requests.",
            hint="Unset DEBUG.",
            id="ragsite.E060",
        )


def _secret_key() -> Iterable[CheckMessage]:
    how = "Set it to a random value and keep a copy: python3 -c 'import secrets; "
    how += "print(secrets.token_urlsafe(50))'."
    if settings.SECRET_KEY_IS_GENERATED:
        yield Error(
            "SECRET_KEY is not set. A key is generated in RAGSITE_HOME, so every host has a "
            "different one, and a database restored on another server cannot be used with it.",
            hint=f"{how} To keep the present one, copy it from RAGSITE_HOME/secret_key.",
            id="ragsite.E061",
        )
    elif len(settings.SECRET_KEY) < MIN_SECRET or len(set(settings.SECRET_KEY)) < 10:
        yield Error(
            "SECRET_KEY can be guessed: sessions could be forged, and the passwords of the "
            "database roles are derived from it.",
            hint=how,
            id="ragsite.E062",
        )


def _hosts() -> Iterable[CheckMessage]:
    if not settings.ALLOWED_HOSTS or any(host in ("*", ".") for host in settings.ALLOWED_HOSTS):
        yield Error(
            "ALLOWED_HOSTS accepts every host name, so a forged Host header can make links "
            "and redirects point to another site.",
            hint="Name the hosts that people use: ALLOWED_HOSTS=ragsite.example.com",
            id="ragsite.E063",
        )


def _tls() -> Iterable[CheckMessage]:
    if not settings.BEHIND_TLS:
        yield Error(
            "BEHIND_TLS is off: passwords, sessions and API keys would be sent unencrypted.",
            hint="Let a proxy end TLS and set X-Forwarded-Proto, then set BEHIND_TLS=true.",
            id="ragsite.E064",
        )
    elif settings.TRUSTED_PROXIES < 1:
        yield Error(
            "BEHIND_TLS is on and TRUSTED_PROXIES is 0: every client would have the proxy's "
            "address, so one client's wrong passwords would lock out all others.",
            hint="Set TRUSTED_PROXIES to the number of proxies that add to X-Forwarded-For.",
            id="ragsite.E065",
        )
    plain = [url for url in _own_addresses() if not url.startswith("https://") or "*" in url]
    if plain:
        yield Error(
            f"An address of this service is not https, or has a wildcard: {', '.join(plain)}.",
            hint="PUBLIC_URL and CSRF_TRUSTED_ORIGINS name whole https addresses.",
            id="ragsite.E066",
        )


def _own_addresses() -> list[str]:
    return [url for url in (settings.PUBLIC_URL, *settings.CSRF_TRUSTED_ORIGINS) if url]


def _databases() -> Iterable[CheckMessage]:
    server = settings.EMBEDDED_SERVER
    if server is not None:
        if not server.fsync:
            yield Error(
                "RAGSITE_PG_FSYNC=off: a power failure would lose or damage the database.",
                hint="Unset it; it is for tests.",
                id="ragsite.E069",
            )
        return
    for alias, database in settings.DATABASES.items():
        if not _is_elsewhere(str(database.get("HOST", ""))):
            continue
        if not database.get("OPTIONS", {}).get("sslmode"):
            yield Error(
                f"The connection to the database ({alias}) may fall back to plain text, because "
                "its address does not set sslmode.",
                hint="Add ?sslmode=verify-full (or require) to DATABASE_URL; or ?sslmode=disable "
                "if the network between them is trusted.",
                id="ragsite.E067",
            )
            break
    owner = settings.DATABASES["owner"]
    password = str(owner.get("PASSWORD", "")).lower()
    if password and (password in KNOWN_PASSWORDS or password == str(owner.get("USER")).lower()):
        yield Error(
            "The password in DATABASE_URL is a common one that is easily guessed.",
            hint="Give the database's owner a random password.",
            id="ragsite.E068",
        )


def _cache() -> Iterable[CheckMessage]:
    url = urlsplit(settings.CACHE_URL)
    if settings.CACHE_URL and _is_elsewhere(url.hostname or "") and not url.password:
        yield Error(
            "CACHE_URL names a Redis without a password: anyone who can connect can read search "
            "results of every namespace.",
            hint="redis://:PASSWORD@HOST:6379/0, or rediss:// where others share the network.",
            id="ragsite.E070",
        )


def _reading() -> Iterable[CheckMessage]:
    if settings.EXTRACTION["sandbox"]["mode"] == "off":
        yield Error(
            "EXTRACT_SANDBOX=off: a hostile file that takes over its reader reaches everything "
            "the workers reach.",
            hint="Unset it, or set EXTRACT_SANDBOX=required (docs/security.md).",
            id="ragsite.E071",
        )


def _metrics() -> Iterable[CheckMessage]:
    if settings.METRICS_TOKEN and len(settings.METRICS_TOKEN) < MIN_TOKEN:
        yield Error(
            f"METRICS_TOKEN is shorter than {MIN_TOKEN} characters and can be guessed.",
            hint="Set a random one, or unset it: then there are no metrics.",
            id="ragsite.E072",
        )


_RULES: tuple[SettingsCheck, ...] = (
    _debug,
    _secret_key,
    _hosts,
    _tls,
    _databases,
    _cache,
    _reading,
    _metrics,
)


def _advice() -> Iterable[CheckMessage]:
    if settings.EMBEDDED_SERVER is not None:
        yield Warning(
            "The embedded database is in use. It serves one machine, and only you back it up.",
            hint="Set DATABASE_URL to a PostgreSQL server (docs/operations.md).",
            id="ragsite.W061",
        )
    if (Path(settings.HOME) / "credentials.json").exists():
        yield Warning(
            "The first login and key are still in RAGSITE_HOME/credentials.json.",
            hint="Save what you need of it, then delete the file.",
            id="ragsite.W062",
        )
    if _is_open(Path(settings.ENV_PATH)):
        yield Warning(
            f"{settings.ENV_PATH} holds secrets and can be read by every user of this machine.",
            hint=f"chmod 600 {settings.ENV_PATH}",
            id="ragsite.W063",
        )


def _is_open(path: Path) -> bool:
    try:
        status = path.stat()
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and bool(status.st_mode & stat.S_IROTH)


def _is_elsewhere(host: str) -> bool:
    """Whether a host is reached over a network: not a socket's folder, not this machine."""
    host = unquote(host)
    if not host or host.startswith("/") or host == "localhost":
        return False
    try:
        return not ipaddress.ip_address(host).is_loopback
    except ValueError:
        return True
