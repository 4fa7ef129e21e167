"""Steps of a reindex: start → (build.py) → switch or roll back → reclaim, or cancel.

The command, the API and the admin call these.
"""

import logging
import uuid
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.db.models import F, Q
from django.db.models.functions import Now
from django_q.tasks import async_task

from documents.accounts import audit
from documents.errors import IngestError
from documents.intake import intake
from documents.jobs import queue
from documents.memory import vectors as fact_vectors
from documents.models import (
    Chunk,
    Document,
    DocumentVersion,
    FactVector,
    IndexProfile,
    Namespace,
    Reindex,
    TermFrequency,
    TermStatistics,
)
from documents.models.indexing import INGESTION_VERSION
from documents.profiles import profiles, vector_indexes
from ragsite.database.tenancy import namespace, operator

from . import build

logger = logging.getLogger(__name__)

State = Reindex.State


class ReindexError(IngestError):
    """The step is not possible; str(error) says why and what to do."""

    code = "reindex_refused"


class NoSuchReindex(ReindexError):
    code = "no_reindex"


class Behind(ReindexError):
    """Some documents are not indexed under the profile yet."""

    code = "reindex_behind"


class TooEarly(ReindexError):
    code = "reindex_too_early"


@dataclass(frozen=True, slots=True)
class ReindexProgress:
    """How many documents a reindex has indexed, and how long the rest will take."""

    documents: int
    done: int
    failed: int
    seconds_left: float | None  # None: not known yet

    @property
    def missing(self) -> int:
        return self.documents - self.done - self.failed


def start(namespace_id: uuid.UUID, profile: IndexProfile) -> Reindex:
    """Start building a profile next to the live one, unless that is under way already."""
    profiles.require_fitting(profile, profiles.embedder_of(profile))
    with namespace(namespace_id):
        tenant = _locked(namespace_id)
        known = current(namespace_id)
        if known is not None and known.profile_id == profile.pk:
            return known
        _require_free(tenant, known, profile)
        reindex = Reindex.objects.create(
            namespace_id=namespace_id, profile=profile, replaces=tenant.active_profile
        )
        queue.wake_workers()
        _audit("reindex.start", reindex)
    logger.info("reindex.started", extra={"reindex_id": str(reindex.pk)})
    return reindex


def require_possible(namespace_id: uuid.UUID, profile: IndexProfile) -> None:
    """Raise what `start` would raise, without starting."""
    profiles.require_fitting(profile, profiles.embedder_of(profile))
    with namespace(namespace_id):
        tenant = Namespace.objects.get(pk=namespace_id)
        _require_free(tenant, current(namespace_id), profile)


def _require_free(tenant: Namespace, known: Reindex | None, profile: IndexProfile) -> None:
    if known is not None:
        raise ReindexError(
            f"This namespace is on its way to {known.profile.name!r} ({known.state}): reclaim or "
            "cancel that reindex first."
        )
    if tenant.active_profile_id == profile.pk:
        raise ReindexError(f"The namespace is indexed under {profile.name!r} already.")


def switch(namespace_id: uuid.UUID, *, accept_failures: bool = False) -> Reindex:
    """Make searches use the new profile. Raises Behind while documents are missing."""
    with namespace(namespace_id):
        _locked(namespace_id)  # publishers wait until the active profile has changed
        reindex = _open_in_state(namespace_id, State.BUILT, "switch to")
        left = build.missing(
            namespace_id, reindex.profile_id, failed=list(reindex.failures), at_most=1
        )
        if left:
            raise Behind(
                f"Some documents are not indexed under {reindex.profile.name!r} yet. Try again."
            )
        if fact_vectors.missing(namespace_id, reindex.profile, at_most=1):
            raise Behind(
                f"Some facts are not embedded under {reindex.profile.name!r} yet. Try again."
            )
        live = DocumentVersion.objects.filter(state=DocumentVersion.State.LIVE)
        failed = live.filter(pk__in=list(reindex.failures)).count()
        if failed and not accept_failures:
            raise ReindexError(
                f"{failed} {'document' if failed == 1 else 'documents'} could not be indexed under "
                f"{reindex.profile.name!r} and would no longer be found: delete or replace what "
                "failed, or accept the failures."
            )
        _set_active_profile(namespace_id, reindex.profile)
        _write(reindex, state=State.SWITCHED, switched_at=Now())
        _audit("reindex.switch", reindex, failures_accepted=failed)
    build.describe_documents(namespace_id)
    logger.info("reindex.switched", extra={"reindex_id": str(reindex.pk)})
    return reindex


def roll_back(namespace_id: uuid.UUID) -> Reindex:
    """Make searches use the old profile again; chunks it lacks are built in the background."""
    with namespace(namespace_id):
        _locked(namespace_id)
        reindex = _open_in_state(namespace_id, State.SWITCHED, "go back from")
        _set_active_profile(namespace_id, reindex.replaces)
        _write(reindex, state=State.BUILT, switched_at=None)
        _audit("reindex.rollback", reindex)
    build.describe_documents(namespace_id)
    logger.info("reindex.rolled_back", extra={"reindex_id": str(reindex.pk)})
    return reindex


def reclaim(namespace_id: uuid.UUID) -> None:
    """Give up the old profile permanently. Its chunks are deleted in the background."""
    with namespace(namespace_id):
        _locked(namespace_id)
        reindex = _open_in_state(namespace_id, State.SWITCHED, "reclaim from")
        safe = Reindex.objects.filter(
            switched_at__lte=Now() - timedelta(seconds=settings.REINDEX["grace"])
        )
        if not safe.filter(pk=reindex.pk).exists():
            raise TooEarly(
                "Searches that began before the switch may still read the old chunks: try again "
                f"{settings.REINDEX['grace']} s after it."
            )
        _write(reindex, state=State.RECLAIMED, ended_at=Now(), has_work=False)
        _audit("reindex.reclaim", reindex)
        _sweep_soon(namespace_id)


def cancel(namespace_id: uuid.UUID) -> None:
    """Give up a profile that was not switched to. Its chunks are deleted in the background."""
    with namespace(namespace_id):
        _locked(namespace_id)
        reindex = _open_in_state(namespace_id, (State.BUILDING, State.BUILT), "cancel")
        _write(reindex, state=State.CANCELLED, ended_at=Now(), has_work=False, lease_token=None)
        _audit("reindex.cancel", reindex)
        _sweep_soon(namespace_id)


def sweep(namespace_id: uuid.UUID) -> int:
    """Delete chunks, words and indexes of reclaimed and cancelled profiles; return how many chunks.

    Safe to kill: the next sweep finds what is left.
    """
    with namespace(namespace_id):
        active = Namespace.objects.values_list("active_profile_id", flat=True).get(pk=namespace_id)
        opened = Reindex.objects.filter(state__in=Reindex.OPEN)
        kept = {active, *opened.values_list("profile_id", flat=True)}
        kept |= set(opened.values_list("replaces_id", flat=True))
        ended = Reindex.objects.select_related("profile", "replaces")
        gone = {
            each.replaces if each.state == State.RECLAIMED else each.profile
            for each in ended.filter(state__in=(State.RECLAIMED, State.CANCELLED))
        }
        gone = {
            profile
            for profile in gone
            if profile.pk not in kept
            and any(
                rows.objects.filter(namespace=namespace_id, profile=profile).exists()
                for rows in (Chunk, FactVector)
            )
        }
    return sum(_delete_profile_chunks(namespace_id, profile) for profile in gone)


def index_outdated(namespace_id: uuid.UUID) -> list[uuid.UUID]:
    """Queue every document that an older ingestion version has indexed; return the jobs' ids."""
    with namespace(namespace_id):
        profile_id = Namespace.objects.values_list("active_profile_id", flat=True).get()
    with operator():
        # The release decides how documents are read and split; the profile only records it.
        profile = IndexProfile.objects.get(pk=profile_id)
        if profile.ingestion_version < INGESTION_VERSION:
            profile.ingestion_version = INGESTION_VERSION
            profile.save(update_fields=["ingestion_version"])
    with namespace(namespace_id):
        older = Q(ingestion_version=None) | Q(ingestion_version__lt=profile.ingestion_version)
        outdated = Document.objects.filter(older, status=Document.Status.READY)
        ids = list(outdated.values_list("pk", flat=True))
    receipts = [intake.resubmit(namespace_id, document_id) for document_id in ids]
    if ids:
        audit.record("document.reindex", namespace=namespace_id, count=len(ids))
    return [receipt.job_id for receipt in receipts if receipt.job_id]


def current(namespace_id: uuid.UUID) -> Reindex | None:
    """Return the open reindex, if there is one. Inside namespace()."""
    reindexes = Reindex.objects.select_related("profile", "replaces")
    return reindexes.filter(namespace_id=namespace_id, state__in=Reindex.OPEN).first()


def progress(reindex: Reindex) -> ReindexProgress:
    """Count what is done, failed and left. Inside namespace()."""
    live = DocumentVersion.objects.filter(
        namespace_id=reindex.namespace_id, state=DocumentVersion.State.LIVE
    )
    documents, failed = live.count(), live.filter(pk__in=list(reindex.failures)).count()
    left = len(
        build.missing(reindex.namespace_id, reindex.profile_id, failed=list(reindex.failures))
    )
    seconds: float | None = 0.0 if not left else None
    if left and reindex.documents_built:
        seconds = left * reindex.seconds_worked / reindex.documents_built
    return ReindexProgress(documents, documents - left - failed, failed, seconds)


def _locked(namespace_id: uuid.UUID) -> Namespace:
    """Lock the namespace, always first: publishers hold its row against a change of profile."""
    tenants = Namespace.objects.select_for_update(of=("self",)).select_related("active_profile")
    return tenants.get(pk=namespace_id)


def _open_in_state(namespace_id: uuid.UUID, states: str | tuple[str, ...], what: str) -> Reindex:
    allowed = (states,) if isinstance(states, str) else states
    reindex = current(namespace_id)
    if reindex is None:
        raise NoSuchReindex(f"There is nothing to {what}: no reindex has been started.")
    if reindex.state in allowed:
        return reindex
    if reindex.state == State.BUILDING:
        raise Behind(f"The index under {reindex.profile.name!r} is still being built.")
    raise ReindexError(
        f"There is nothing to {what}: the reindex to {reindex.profile.name!r} is {reindex.state}."
    )


def _audit(action: str, reindex: Reindex, **details: object) -> None:
    moved = {"from": reindex.replaces.name, "to": reindex.profile.name}
    audit.record(action, target=reindex, details={**moved, **details})


def _write(reindex: Reindex, **fields: object) -> None:
    """Update the reindex and, unless has_work=False, wake a builder for missing documents."""
    fields = {"has_work": True, **fields}
    Reindex.objects.filter(pk=reindex.pk).update(**fields)
    reindex.state = str(fields["state"])
    if fields["has_work"]:
        queue.wake_workers()


def _set_active_profile(namespace_id: uuid.UUID, profile: IndexProfile) -> None:
    chunks = Chunk.objects.filter(namespace=namespace_id, profile=profile).count()
    Namespace.objects.filter(pk=namespace_id).update(
        active_profile=profile, chunk_count=chunks, revision=F("revision") + 1
    )


def _sweep_soon(namespace_id: uuid.UUID) -> None:
    # If this task is lost, housekeeping does it within the hour.
    async_task("documents.tasks.sweep_reindexed", str(namespace_id), save=False)


def _delete_profile_chunks(namespace_id: uuid.UUID, profile: IndexProfile) -> int:
    removed = build.remove_chunks(namespace_id, profile.pk)
    with namespace(namespace_id):
        for statistics in (TermFrequency, TermStatistics):
            statistics.objects.filter(namespace=namespace_id, profile=profile).delete()
    vector_indexes.drop_if_unused(profile)
    logger.info("reindex.removed", extra={"profile": profile.name, "chunks": removed})
    return removed
