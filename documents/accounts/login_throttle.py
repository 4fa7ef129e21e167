"""Throttle password guessing: failed logins are counted, and too many of them lock the login for a
while.

There are three counters, one row each: user and address together (few failures allowed), the user
from any address, and the address for any user (many allowed). Each further lock lasts twice as
long, up to a maximum. From an address where the user signed in recently only the first counter
applies, so that an attacker elsewhere cannot lock the operator out.
"""

from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.db import connections, transaction
from django.db.models import Q
from django.db.models.functions import Now

from documents.metadata import text
from documents.models import LoginThrottle
from ragsite.access.client_address import network_of
from ragsite.database.tenancy import operator

from . import audit

KNOWN_FOR = timedelta(days=30)  # an address that the user has signed in from

# The attempt is counted before the password is checked, so that a hundred simultaneous guesses
# count as a hundred. Failures are reset after an hour, locks after a day. Returns no row while
# locked.
_TAKE = """
    INSERT INTO documents_loginthrottle AS t (key, failures, locks, last_attempt_at)
    VALUES (%(key)s, 1, 0, now())
    ON CONFLICT (key) DO UPDATE SET
        failures = CASE WHEN t.last_attempt_at < now() - interval '1 hour' THEN 1
                        ELSE t.failures + 1 END,
        locks = CASE WHEN t.last_attempt_at < now() - interval '1 day' THEN 0 ELSE t.locks END,
        last_attempt_at = now()
    WHERE t.locked_until IS NULL OR t.locked_until <= now()
    RETURNING failures, locks
"""
_LOCK = """
    UPDATE documents_loginthrottle
    SET failures = 0, locks = locks + 1, locked_until = now() + make_interval(secs => %(seconds)s)
    WHERE key = %(key)s
"""


@dataclass(frozen=True, slots=True)
class Attempt:
    """The user who tries to sign in, and the address. The user may not exist."""

    username: str
    address: str

    @property
    def user(self) -> str:
        return text(self.username).strip().casefold()[:150]

    @property
    def pair_key(self) -> str:
        return f"pair:{self.user}@{self.address}"

    def limits(self) -> dict[str, int]:
        """The failures that each counter allows, the narrowest counter first."""
        limits = settings.LOGIN_THROTTLE
        return {
            self.pair_key: limits["failures"],
            f"user:{self.user}": limits["failures_per_user"],
            f"address:{self.address}": limits["failures_per_address"],
        }


def take_slot(attempt: Attempt) -> bool:
    """Count an attempt before its password is checked; False if it is locked out."""
    with operator(), transaction.atomic(using="operator"):
        limits = attempt.limits()
        if _is_known(attempt):
            limits = {attempt.pair_key: limits[attempt.pair_key]}
        # An attempt that the first counter locks out is not counted by the others.
        return all(_take(key, limit) for key, limit in limits.items())


def record_success(attempt: Attempt) -> None:
    """Reset the counters after a correct password, and remember the address."""
    with operator(), transaction.atomic(using="operator"):
        LoginThrottle.objects.filter(pk=attempt.pair_key).update(
            failures=0, locks=0, locked_until=None, last_success_at=Now()
        )
        with connections["operator"].cursor() as cursor:
            cursor.execute(
                "UPDATE documents_loginthrottle SET failures = greatest(failures - 1, 0) "
                "WHERE key = ANY (%s)",
                [[key for key in attempt.limits() if key != attempt.pair_key]],
            )


def unlock(*, username: str = "", address: str = "", everything: bool = False) -> int:
    """Reset the failures of a user, an address, or all; return how many locks that removed."""
    with operator(), transaction.atomic(using="operator"):
        user = Attempt(username, address).user
        chosen = Q()
        if username:
            chosen |= Q(key=f"user:{user}") | Q(key__startswith=f"pair:{user}@")
        if address:
            network = network_of(address)
            chosen |= Q(key=f"address:{network}") | Q(key__endswith=f"@{network}")
        if not (chosen or everything):
            return 0
        rows = LoginThrottle.objects.filter(chosen)
        opened = rows.filter(locked_until__gt=Now()).count()
        rows.update(failures=0, locks=0, locked_until=None)
        target = audit.Target("login", label=username or address or "all")
        audit.record("login.unlock", count=opened, target=target)
        return opened


def delete_stale() -> None:
    """Delete counters that no longer matter. Called by housekeeping."""
    with operator():
        LoginThrottle.objects.filter(
            Q(last_success_at=None) | Q(last_success_at__lt=Now() - KNOWN_FOR),
            last_attempt_at__lt=Now() - timedelta(days=1),
        ).delete()


def _is_known(attempt: Attempt) -> bool:
    return LoginThrottle.objects.filter(
        pk=attempt.pair_key, last_success_at__gt=Now() - KNOWN_FOR
    ).exists()


def _take(key: str, limit: int) -> bool:
    with connections["operator"].cursor() as cursor:
        cursor.execute(_TAKE, {"key": key})
        taken = cursor.fetchone()
        if taken is None:
            return False
        failures, locks = taken
        if failures <= limit:
            return True
        throttle = settings.LOGIN_THROTTLE
        seconds = min(throttle["lock_seconds"] * 2 ** min(locks, 20), throttle["lock_max_seconds"])
        cursor.execute(_LOCK, {"key": key, "seconds": seconds})
        kind, _, label = key.partition(":")
        details = {"by": kind, "seconds": seconds, "failures": limit}
        audit.record("login.lock", target=audit.Target("login", label=label), details=details)
        return False
