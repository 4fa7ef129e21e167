"""Settings that keep strangers out and the trace in; read by ragsite/settings/."""

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
    """Whether namespaces and keys can be managed over the API, by keys of the installation."""
    return bool(env.bool("OPERATOR_API", default=False))


def audit_days(env: environ.Env) -> int:
    """How long audit events are kept; the database keeps them for 30 days in any case."""
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
    """What holds where a proxy ends TLS before us (BEHIND_TLS), and what does not."""

    def __init__(self, env: environ.Env, *, behind: bool) -> None:
        year = 365 * 24 * 3600
        self.hsts_seconds = env.int("HSTS_SECONDS", default=year) if behind else 0
        self.hsts_subdomains = behind and env.bool("HSTS_INCLUDE_SUBDOMAINS", default=False)
        self.redirect = behind and env.bool("TLS_REDIRECT", default=True)
        # Asked by machines on this host or in this cluster, without TLS.
        self.not_redirected = [r"^livez$", r"^readyz$"]
        # W005 and W021: whether all hosts of the domain have TLS is not ours to say.
        # The others all say "no TLS", which ragsite.W001 says once, with what to do.
        without_tls = ["security.W004", "security.W008", "security.W012", "security.W016"]
        self.silenced = ["security.W005", "security.W021", *([] if behind else without_tls)]
