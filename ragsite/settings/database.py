"""Connections to the database: its owner, the two serving roles, a pooler and replicas."""

import hashlib
import hmac
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import environ
from django.core.exceptions import ImproperlyConfigured

from ragsite.postgres.embedded import EmbeddedServer

from . import limits

# libpq's option, in an address with several hosts, that selects the host. Each address sets it
# itself.
CHOICES_OF_HOST = {"target_session_attrs", "load_balance_hosts"}


@dataclass(frozen=True, slots=True)
class Connections:
    """The settings of connections; `url` is empty for the embedded server."""

    env: environ.Env
    url: str
    embedded: EmbeddedServer | None
    secret_key: str
    role_prefix: str
    timeouts: dict[str, dict[str, float]]
    prepare_after: int
    has_startup_options: bool
    pool_size: int

    @property
    def is_web(self) -> bool:
        return self.env.str("RAGSITE_PROCESS", default="") == "web"

    def all(self) -> dict[str, dict[str, Any]]:
        found = {
            # Serves every request and job: owns nothing, sees one namespace at a time.
            "default": self._role("app", self.env.str("DATABASE_APP_URL", default="")),
            # The admin and the commands that span namespaces.
            "operator": self._role("operator", self.env.str("DATABASE_OPERATOR_URL", default="")),
            # Migrations and vector indexes only. Never through the pooler: it holds locks of its
            # session for longer than a transaction.
            "owner": self._owner(),
        }
        if replica := self.env.str("DATABASE_REPLICA_URL", default=""):
            # A streaming replica with the same roles: serves searches, never writes.
            found["replica"] = self._elsewhere(found["default"], replica)
        return found

    def timeouts_of(self, kind: str) -> dict[str, float]:
        """Return the long timeouts for commands and jobs, whatever their role, and the short ones
        for web requests."""
        if not self.is_web:
            return self.timeouts["worker"]
        return self.timeouts["operator" if kind == "operator" else "web"]

    def _owner(self) -> dict[str, Any]:
        if self.embedded:
            socket_dir = str(self.embedded.socket_dir())
            database = {"NAME": "ragsite", "USER": "postgres", "HOST": socket_dir, "PORT": 5432}
        else:
            database = self.env.db_url_config(self.url)
            if "postgresql" not in database.get("ENGINE", ""):
                raise ImproperlyConfigured(
                    "DATABASE_URL must be a PostgreSQL address: "
                    "postgres://USER:PASSWORD@HOST:PORT/NAME"
                )
            database["HOST"] = unquote(database["HOST"])  # %2Fvar%2Frun: a socket's folder
        return {**database, "ENGINE": "ragsite.postgres", "CONN_HEALTH_CHECKS": True}

    def _role(self, kind: str, own_url: str) -> dict[str, Any]:
        if own_url:
            own = self.env.db_url_config(own_url)
            database = {**self._owner(), **own, "ENGINE": "ragsite.postgres"}
        else:
            role = f"{self.role_prefix}_{kind}"
            database = {**self._owner(), "USER": role, "PASSWORD": self._password(kind)}
            if pooler := self.env.str("DATABASE_POOLER_URL", default=""):
                database = self._elsewhere(database, pooler)
                # Outside of transactions each FETCH could go to another connection.
                database["DISABLE_SERVER_SIDE_CURSORS"] = True
        options = dict(database.get("OPTIONS", {}))
        options["prepare_threshold"] = self.prepare_after or None
        if self.has_startup_options:
            options = limits.with_timeouts(options, self.timeouts_of(kind))
        # A pool only in the web process, which has many threads; it would not survive the fork by
        # which django-q2 starts its workers.
        if self.is_web:
            options["pool"] = {"min_size": 1, "max_size": self.pool_size, "timeout": 10}
            database["CONN_HEALTH_CHECKS"] = False  # ragsite/postgres/base.py has a faster check
        else:
            database["CONN_MAX_AGE"] = 600
        return {**database, "OPTIONS": options}

    def _password(self, role: str) -> str:
        """Derive a password that is the same on every host with the same SECRET_KEY; `migrate` sets
        it on the role."""
        key, words = self.secret_key.encode(), f"role:{role}".encode()
        return hmac.new(key, words, hashlib.sha256).hexdigest()

    def _elsewhere(self, database: dict[str, Any], url: str) -> dict[str, Any]:
        """Return the same login on another server, or through a pooler."""
        server = self.env.db_url_config(url)
        kept = {
            option: value
            for option, value in database.get("OPTIONS", {}).items()
            if option not in CHOICES_OF_HOST
        }
        return {
            **database,
            "HOST": unquote(server["HOST"]),
            "PORT": server["PORT"],
            "NAME": server["NAME"],
            "OPTIONS": {**kept, **server.get("OPTIONS", {})},
        }
