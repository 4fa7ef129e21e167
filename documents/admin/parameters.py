"""What addresses and hidden fields of the admin's own pages say, read without trusting it."""

import uuid

from django.http import Http404


def asked_uuid(value: str) -> uuid.UUID:
    """404 for what is no id, as for an id that nobody has."""
    try:
        return uuid.UUID(value)
    except ValueError:
        raise Http404 from None
