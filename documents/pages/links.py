"""Signed links that open a document at a passage, for people who have no API key."""

import uuid
from dataclasses import dataclass
from urllib.parse import urlencode

from django.conf import settings
from django.core import signing
from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import base36_to_int, int_to_base36

_SECONDS_PER_DAY = 86_400


@dataclass(frozen=True, slots=True)
class LinkedDocument:
    """The target of a link: one version of one document."""

    namespace_id: uuid.UUID
    document_id: uuid.UUID
    version: int
    is_expired: bool = False


@dataclass(frozen=True, slots=True)
class SharedVia:
    """The public link through which a passage is opened: its id and its key."""

    link_id: uuid.UUID
    key: str


class InvalidLink(ValueError):
    """The link was not signed by this installation, or was changed."""


def passage_url(
    *,
    namespace_id: uuid.UUID,
    document_id: uuid.UUID,
    version: int,
    start: int | None = None,
    end: int | None = None,
    base_url: str = "",
    shared: SharedVia | None = None,
) -> str:
    """Return a link to the document's page, which highlights the passage if there is a span.

    PUBLIC_URL takes precedence over `base_url`, the address of the request. A link with `shared`
    works only through that public link, and no longer than it.
    """
    value = f"{namespace_id.hex}{document_id.hex}{int_to_base36(version)}"
    token = _signer(shared.link_id if shared else None).sign(value)
    if shared:
        path = reverse("shared-passage", args=[shared.key, token])
    else:
        path = reverse("passage", args=[token])
    url = f"{settings.PUBLIC_URL or base_url.rstrip('/')}{path}"
    if start is None or end is None:
        return url
    return f"{url}?{urlencode({'start': start, 'end': end})}#passage"


def read_token(token: str, *, shared: uuid.UUID | None = None) -> LinkedDocument:
    """Return the target of a token, even of an expired one. Raises InvalidLink for a token that
    this installation did not sign."""
    signer = _signer(shared)
    try:
        value = signer.unsign(token)
        linked = uuid.UUID(value[:32]), uuid.UUID(value[32:64]), base36_to_int(value[64:])
    except (signing.BadSignature, ValueError):
        raise InvalidLink from None
    try:
        signer.unsign(token, max_age=settings.PASSAGE_LINK_DAYS * _SECONDS_PER_DAY)
    except signing.SignatureExpired:
        return LinkedDocument(*linked, is_expired=True)
    return LinkedDocument(*linked)


def _signer(link_id: uuid.UUID | None) -> signing.TimestampSigner:
    salt = f"ragsite.passage.{link_id.hex}" if link_id else "ragsite.passage"
    return signing.TimestampSigner(salt=salt, sep="~")


def base_url_of(request: HttpRequest) -> str:
    """Return the address of the request, without a path."""
    return f"{request.scheme}://{request.get_host()}"
