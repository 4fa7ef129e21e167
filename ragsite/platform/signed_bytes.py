"""Sign cache entries before they leave the process, and verify them when they are read.

Someone who can write to the cache server can delete entries, but cannot forge one.
"""

import hashlib
import hmac

from django.conf import settings

DIGEST = hashlib.sha256
SIZE = DIGEST().digest_size


class SignedBytes:
    """A serializer for Django's Redis cache that stores bytes; counters (incr) are not
    supported."""

    def dumps(self, value: bytes) -> bytes:
        return _signature(value) + value

    def loads(self, data: bytes) -> bytes | None:
        """Return None, which Django's cache treats as a miss, if the signature is not valid."""
        signature, body = data[:SIZE], data[SIZE:]
        return body if hmac.compare_digest(signature, _signature(body)) else None


def _signature(body: bytes) -> bytes:
    key = DIGEST(b"ragsite.cache:" + settings.SECRET_KEY.encode()).digest()
    return hmac.new(key, body, DIGEST).digest()
