"""Signatures in the format of Standard Webhooks: HMAC-SHA256 over id, time and body."""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterable

PREFIX = "whsec_"
SECRET_BYTES = 32


def new_secret() -> str:
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def headers_for(
    event_id: str, timestamp: int, body: bytes, secrets_: Iterable[str]
) -> dict[bytes | str, bytes | str]:
    """Return the three headers. While a secret is being replaced, there is a signature by each."""
    signatures = [signature(event_id, timestamp, body, secret) for secret in secrets_]
    return {
        "webhook-id": event_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(signatures),
    }


def signature(event_id: str, timestamp: int, body: bytes, secret: str) -> str:
    key = base64.b64decode(secret.removeprefix(PREFIX))
    signed = f"{event_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
