"""Ids as OpenAI's clients know them: a prefix and the 32 hexadecimal digits of our UUID."""

import re
import uuid

from .views import not_found

STORE, FILE, BATCH = "vs_", "file-", "vsfb_"
_WHAT = {STORE: "vector store", FILE: "file", BATCH: "file batch"}
_DIGITS = re.compile(r"[0-9a-f]{32}")


def shown_id(prefix: str, pk: uuid.UUID) -> str:
    return f"{prefix}{pk.hex}"


def read_id(prefix: str, value: str, param: str) -> uuid.UUID:
    """Raise the same not_found for a malformed id as for an unknown one."""
    digits = value.removeprefix(prefix)
    if not value.startswith(prefix) or not _DIGITS.fullmatch(digits):
        raise missing(prefix, param)
    return uuid.UUID(digits)


def missing(prefix: str, param: str) -> Exception:
    return not_found(param, _WHAT[prefix])
