"""Public links of namespaces: created and revoked by operators, looked up at each request."""

import hmac
import re
import secrets
from datetime import datetime, timedelta

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils import timezone

from documents.models import Namespace, NamespaceLink
from ragsite.access import rate_counters, rate_limits
from ragsite.database.tenancy import operator

from . import audit
from .keys import PREFIX_BYTES, SECRET_BYTES, digest

RATE_CLASS = "link"
VISITORS = 10  # all visitors of a link together may make this many times the requests of one
_KEY = re.compile(r"([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_USE_INTERVAL = timedelta(minutes=1)  # seconds between updates of the last use


def create(
    namespace: Namespace, *, name: str = "", expires_at: datetime | None = None
) -> tuple[NamespaceLink, str]:
    """Create a link and return it with its address, which is not stored. Inside operator()."""
    if namespace.deleting_since is not None:
        raise ValidationError("The namespace is being deleted.", code="being_deleted")
    if expires_at is not None and expires_at <= timezone.now():
        raise ValidationError("The link would have expired already.", code="expired")
    prefix, secret = secrets.token_hex(PREFIX_BYTES), secrets.token_urlsafe(SECRET_BYTES)
    link = NamespaceLink(
        namespace=namespace,
        name=name,
        prefix=prefix,
        secret_sha256=digest(secret),
        expires_at=expires_at,
    )
    link.full_clean()
    details = {"expires_at": expires_at and expires_at.isoformat()}
    with transaction.atomic(using="operator"):
        link.save()
        audit.record("link.create", namespace=namespace, target=link, details=details)
    path = reverse("shared-ask", args=[f"{prefix}_{secret}"])
    return link, f"{settings.PUBLIC_URL.rstrip('/')}{path}"


def revoke(links: QuerySet[NamespaceLink]) -> int:
    """Revoke these links; return how many were not revoked yet. Inside operator()."""
    with transaction.atomic(using="operator"):
        open_ones = links.filter(revoked_at=None).select_for_update(of=("self",))
        revoked = list(open_ones.select_related("namespace"))
        ids = [link.pk for link in revoked]
        NamespaceLink.objects.filter(pk__in=ids).update(revoked_at=timezone.now())
        for link in revoked:
            audit.record("link.revoke", namespace=link.namespace, target=link)
    return len(revoked)


def find(key: str) -> NamespaceLink | None:
    """Return the link of this key, active or not; None for an unknown key, and for one whose
    namespace is being deleted."""
    match = _KEY.fullmatch(key)
    if match is None:
        return None
    prefix, secret = match.groups()
    with operator():
        known = NamespaceLink.objects.filter(prefix=prefix, namespace__deleting_since=None)
        link = known.select_related("namespace").first()
        if link is None or not hmac.compare_digest(digest(secret), link.secret_sha256):
            return None
        if link.is_active:
            _note_use(link)
    return link


def _note_use(link: NamespaceLink) -> None:
    before = timezone.now() - _USE_INTERVAL
    unused = Q(last_used_at=None) | Q(last_used_at__lt=before)
    NamespaceLink.objects.filter(unused, pk=link.pk).update(last_used_at=timezone.now())


def admit(link: NamespaceLink, network: str) -> None:
    """Count a visitor's request. Raises RateLimited beyond the limit."""
    limit: int = settings.RATE_LIMITS[RATE_CLASS]
    if not limit:
        return
    buckets = ((f"link/{link.pk}/{network}", limit), (f"link/{link.pk}", limit * VISITORS))
    for bucket, allowed in buckets:
        count = rate_counters.count(bucket, allowed)
        admission = rate_limits.admission(RATE_CLASS, allowed, count)
        if not admission.is_allowed:
            raise rate_limits.RateLimited(
                f"Too many questions. Try again in {admission.reset_seconds} s.",
                retry_after=admission.reset_seconds,
                admission=admission,
            )
