"""Verify the signature of a webhook, before anything in it is believed."""

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from typing import Any

from .errors import RagsiteError

TOLERANCE_SECONDS = 300


class InvalidSignature(RagsiteError):
    """It was not sent by this service, was changed on its way, or is too old."""


def verify_webhook(
    body: bytes,
    headers: Mapping[str, str],
    secret: str,
    *,
    tolerance: float = TOLERANCE_SECONDS,
) -> dict[str, Any]:
    """Return the event: `type`, `timestamp` and `data`. Raises InvalidSignature.

    `body` is what was received, byte by byte: JSON that was parsed and written again has another
    signature. An event may come more than once, always with the same `webhook-id`.
    """
    lowered = {name.lower(): value for name, value in headers.items()}
    try:
        identity, moment = lowered["webhook-id"], lowered["webhook-timestamp"]
        signatures = lowered["webhook-signature"].split(" ")
        sent_at = int(moment)
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except KeyError as missing:
        raise InvalidSignature(f"The header {missing} is missing.") from None
    except (ValueError, binascii.Error):
        raise InvalidSignature("The timestamp or the secret is not one.") from None
    if abs(time.time() - sent_at) > tolerance:
        raise InvalidSignature("It was signed too long ago, or this machine's clock is wrong.")
    digest = hmac.new(key, f"{identity}.{moment}.".encode() + body, hashlib.sha256).digest()
    expected = f"v1,{base64.b64encode(digest).decode()}".encode()
    if not any(hmac.compare_digest(expected, one.encode()) for one in signatures):
        raise InvalidSignature("No signature fits.")
    event: dict[str, Any] = json.loads(body)
    return event
