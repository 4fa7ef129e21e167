"""Requests with an Idempotency-Key: a repeated request is carried out only once.

The first one claims the key, does the work, and stores its response for a day. A repeated one with
the same body gets that response. One with another body, or while the first is running, is refused.
After an error nothing is stored, so the request can be repeated.
"""

import json
import re
import uuid
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import Q
from django.db.models.functions import Now

from documents.models import IdempotentRequest
from ragsite.database.tenancy import namespace

KEPT = timedelta(hours=24)
_MARGIN = timedelta(minutes=5)  # longer than any wait; after that the first request counts as lost
_ID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}")

Requests = IdempotentRequest.objects


class KeyReused(Exception):
    """The key was used before with another body."""


class InProgress(Exception):
    """The first request with this key is still running."""


@dataclass(frozen=True, slots=True)
class RequestClaim:
    """The right to carry out the request and to store its answer."""

    namespace_id: uuid.UUID
    row: int
    token: uuid.UUID


@dataclass(frozen=True, slots=True)
class EarlierAnswer:
    status: int
    body: Any


def begin(
    namespace_id: uuid.UUID, *, caller: uuid.UUID, key: str, fingerprint: str
) -> RequestClaim | EarlierAnswer:
    """Claim the key, or return the answer of the first request. Raises KeyReused, InProgress."""
    token = uuid.uuid4()
    until = Now() + timedelta(seconds=settings.INGEST_MAX_WAIT) + _MARGIN
    with namespace(namespace_id):
        own = Requests.filter(namespace=namespace_id, caller=caller, key=key)
        own.filter(created_at__lt=Now() - KEPT).delete()
        new = IdempotentRequest(
            namespace_id=namespace_id,
            caller=caller,
            key=key,
            fingerprint=fingerprint,
            lease_token=token,
            lease_until=until,
        )
        Requests.bulk_create([new], ignore_conflicts=True)
        found = own.select_for_update().first()
        if found is None:  # the first request has just failed
            raise InProgress
        if found.fingerprint != fingerprint:
            raise KeyReused
        if found.status is not None:
            return EarlierAnswer(found.status, found.answer)
        if found.lease_token != token:
            # The first one may have died: then its lease runs out.
            over = Q(lease_until=None) | Q(lease_until__lt=Now())
            if not own.filter(over).update(lease_token=token, lease_until=until):
                raise InProgress
        return RequestClaim(namespace_id, found.pk, token)


def finish(claim: RequestClaim, *, status: int, body: Any) -> None:
    """Store the answer for repeated requests."""
    named = {uuid.UUID(found) for found in _ID.findall(json.dumps(body))}
    with namespace(claim.namespace_id):
        Requests.filter(pk=claim.row, lease_token=claim.token).update(
            status=status, answer=body, document_ids=sorted(named), lease_until=None
        )


def give_up(claim: RequestClaim) -> None:
    """Release the key: the request failed and may be repeated."""
    with namespace(claim.namespace_id):
        Requests.filter(pk=claim.row, lease_token=claim.token).delete()


def forget(document_ids: list[uuid.UUID]) -> None:
    """Delete answers that name these documents, which are being deleted. Inside namespace()."""
    Requests.filter(document_ids__overlap=document_ids).delete()


def delete_expired(namespace_id: uuid.UUID) -> None:
    with namespace(namespace_id):
        Requests.filter(namespace=namespace_id, created_at__lt=Now() - KEPT).delete()
