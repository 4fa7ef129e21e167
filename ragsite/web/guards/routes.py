"""Which request bodies each route accepts: how large, and from whom.

A route that is not listed here gets the rule of the API: a key, and a body of moderate size. New
routes are therefore guarded by default.
"""

from dataclasses import dataclass
from enum import Enum

from django.conf import settings

STRANGER_BYTES = 64 * 1024  # maximum body of an unknown caller

LARGE_BODY_PATHS = frozenset({"/api/v1/ingest", "/api/rag/index", "/v1/files"})
LARGE_PAGES = frozenset(  # for people who are signed in
    {"/admin/documents/document/upload/", "/library/upload"}
)
OPEN_PATHS = frozenset(
    {
        *("/", "/livez", "/readyz", "/metrics", "/api/schema", "/api/docs"),
        *("/admin/login/", "/sign-in", "/sign-out"),
    }
)
OPEN_PREFIXES = ("/static/", "/d/", "/s/")
SESSION_PREFIXES = ("/admin/", "/ask/", "/library")
# They check keys themselves (operator_auth.py) and accept only small bodies.
OPERATOR_PREFIXES = ("/api/v1/namespaces", "/api/v1/namespace-removals")


class Proof(Enum):
    """The credentials required for a larger body; NONE if it is never allowed."""

    KEY = "key"
    SESSION = "session"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class BodyRule:
    max_bytes: int
    proof: Proof


def body_rule(path: str) -> BodyRule:
    if path in OPEN_PATHS or path.startswith((*OPEN_PREFIXES, *OPERATOR_PREFIXES)):
        return BodyRule(STRANGER_BYTES, Proof.NONE)
    if path in LARGE_PAGES:
        return BodyRule(settings.REQUEST_MAX_BYTES, Proof.SESSION)
    if path.startswith(SESSION_PREFIXES):
        return BodyRule(settings.BODIES["max_bytes"], Proof.SESSION)
    if path in LARGE_BODY_PATHS:
        return BodyRule(settings.REQUEST_MAX_BYTES, Proof.KEY)
    return BodyRule(settings.BODIES["max_bytes"], Proof.KEY)


def needs_key(path: str) -> bool:
    return body_rule(path).proof is Proof.KEY
