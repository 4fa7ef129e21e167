"""Settings for passwords, logins, the audit log, the operator API and TLS."""

import environ

PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]


def operator_api(env: environ.Env) -> bool:
    """Whether operator keys can manage namespaces and keys over the API."""
    return bool(env.bool("OPERATOR_API", default=False))


def audit_days(env: environ.Env) -> int:
    """How long audit events are kept; the database refuses to delete younger than 30 days."""
    return int(env.int("AUDIT_DAYS", default=365))


def login_throttle(env: environ.Env) -> dict[str, int]:
    """See documents/accounts/login_throttle.py."""
    return {
        "failures": env.int("LOGIN_FAILURES", default=5),
        "failures_per_user": env.int("LOGIN_FAILURES_PER_USER", default=50),
        "failures_per_address": env.int("LOGIN_FAILURES_PER_ADDRESS", default=30),
        "lock_seconds": env.int("LOGIN_LOCK_SECONDS", default=60),
        "lock_max_seconds": env.int("LOGIN_LOCK_MAX_SECONDS", default=3600),
    }


class Tls:
    """Settings that depend on whether a proxy terminates TLS in front of us (BEHIND_TLS)."""

    def __init__(self, env: environ.Env, *, behind: bool) -> None:
        year = 365 * 24 * 3600
        self.hsts_seconds = env.int("HSTS_SECONDS", default=year) if behind else 0
        self.hsts_subdomains = behind and env.bool("HSTS_INCLUDE_SUBDOMAINS", default=False)
        self.redirect = behind and env.bool("TLS_REDIRECT", default=True)
        # Requested by monitors on this host or in this cluster, without TLS.
        self.not_redirected = [r"^livez$", r"^readyz$", r"^metrics$"]
        # W005 and W021: it is unknown whether all hosts of the domain have TLS. The others all
        # report missing TLS, which ragsite.W001 does once, with advice.
        without_tls = ["security.W004", "security.W008", "security.W012", "security.W016"]
        self.silenced = ["security.W005", "security.W021", *([] if behind else without_tls)]
