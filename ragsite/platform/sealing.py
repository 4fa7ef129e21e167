"""Encrypt secrets with SECRET_KEY that the service needs again in plain text: a copy of the
database alone does not reveal them."""

import base64
import hashlib

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings


class SealBroken(Exception):
    """It was sealed with another SECRET_KEY, or changed since."""


def seal(secret: str, *, purpose: str) -> str:
    """Encrypt a secret. `purpose` prevents it from being used for another purpose."""
    return _box(purpose).encrypt(secret.encode()).decode()


def unseal(sealed: str, *, purpose: str) -> str:
    """Raises SealBroken."""
    try:
        return _box(purpose).decrypt(sealed.encode()).decode()
    except InvalidToken:
        raise SealBroken(purpose) from None


def _box(purpose: str) -> Fernet:
    key = hashlib.sha256(f"ragsite.{purpose}:{settings.SECRET_KEY}".encode()).digest()
    return Fernet(base64.urlsafe_b64encode(key))
