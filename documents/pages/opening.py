"""Access to a document's page by link: the checks that all views of the viewer share."""

import uuid
from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse

from documents.accounts import links as public_links
from documents.models import DocumentVersion, Namespace, NamespaceLink
from ragsite.access.actor import KEY, set_actor
from ragsite.access.client_address import client_address, network_of
from ragsite.database.tenancy import namespace

from .links import InvalidLink, LinkedDocument, read_token
from .people import namespaces_of, signed_in

# The link is a credential: it must not be passed to other sites, caches or search engines.
HEADERS = {
    "Cache-Control": "private, no-store",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow",
}
GONE, NOT_FOUND = 410, 404


class NotOpened(Exception):
    """The link does not open anything: NOT_FOUND, or GONE if it has worked before."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


@dataclass(frozen=True, slots=True)
class Opening:
    """A valid link to one version of one document."""

    linked: LinkedDocument
    path: str  # path of the document's page; the paths of its pictures begin with it
    # whether the user is signed in and may see the namespace
    person: AbstractBaseUser | None = None
    via: NamespaceLink | None = None  # the public link, if it was opened through one

    def versions(self) -> "QuerySet[DocumentVersion]":
        """Return this version, if it still exists. Inside namespace()."""
        return DocumentVersion.objects.filter(
            document_id=self.linked.document_id,
            number=self.linked.version,
            published_at__isnull=False,
            namespace__deleting_since__isnull=True,
        ).select_related("document")

    def version(self) -> DocumentVersion:
        """Return the version without its text. Raises NotOpened if the document or version was
        deleted."""
        with namespace(self.linked.namespace_id):
            version = self.versions().defer("text").first()
        if version is None:
            raise NotOpened(NOT_FOUND)
        return version


def open_document(request: HttpRequest, token: str, key: str = "") -> Opening:
    """Check a link. Raises NotOpened. `key` is that of the public link, if the address has one. An
    expired link still works for users who may see the namespace."""
    if key:
        return _opened_via(open_public_link(request, key), token, key)
    linked = _linked(token)
    person = _person(request, linked.namespace_id)
    if linked.is_expired and person is None:
        raise NotOpened(GONE)
    return Opening(linked, reverse("passage", args=[token]), person)


def open_public_link(request: HttpRequest, key: str) -> NamespaceLink:
    """Return the public link, and count the request. Raises NotOpened or RateLimited."""
    link = public_links.find(key)
    if link is None:
        raise NotOpened(NOT_FOUND)
    if not link.is_active:
        raise NotOpened(GONE)
    set_actor(KEY, f"link {link.prefix}")
    public_links.admit(link, network_of(client_address(request)))
    return link


def _opened_via(link: NamespaceLink, token: str, key: str) -> Opening:
    linked = _linked(token, shared=link.pk)
    if linked.namespace_id != link.namespace_id:
        raise NotOpened(NOT_FOUND)
    if linked.is_expired:
        raise NotOpened(GONE)
    return Opening(linked, reverse("shared-passage", args=[key, token]), via=link)


def _linked(token: str, *, shared: uuid.UUID | None = None) -> LinkedDocument:
    try:
        return read_token(token, shared=shared)
    except InvalidLink:
        raise NotOpened(NOT_FOUND) from None


def _person(request: HttpRequest, namespace_id: uuid.UUID) -> AbstractBaseUser | None:
    person = signed_in(request)
    return person if person and _sees(person, namespace_id) else None


def _sees(person: AbstractBaseUser, namespace_id: uuid.UUID) -> bool:
    visible: list[Namespace] = namespaces_of(person)
    return any(each.pk == namespace_id for each in visible)
