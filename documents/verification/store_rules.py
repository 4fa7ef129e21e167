"""Rules about search stores outside of the database: they contain the chunks of the tables."""

from collections.abc import Iterator
from uuid import UUID

from documents.stores import auditing, feeding, outbox
from documents.stores.base import StoreFailed, StoreMisfit
from ragsite.database.tenancy import namespace

from .checks import AuditScope, Mend, NotChecked


def _sync_again(audited: AuditScope, ids: list[str]) -> int:
    """Queue the documents; if the store has too many chunks of a namespace, rebuild the
    namespace."""
    profile = audited.active_profile
    if str(audited.tenant) in ids:
        feeding.rebuild(audited.tenant, profile)
    else:
        with namespace(audited.tenant):
            outbox.note(audited.tenant, profile.pk, [UUID(each) for each in ids])
    feeding.wake_workers()
    return len(ids)


class StoreHoldsTheChunks:
    """A document that waits in the outbox to be synced is not a fault."""

    name = "search_store"
    what = "document whose passages the search store lacks or does not find, or too many passages"
    mend: Mend | None = Mend(_sync_again, "queued to be synced again")

    def broken(self, audited: AuditScope) -> Iterator[str]:
        if audited.active_profile.is_stored_outside:
            try:
                yield from auditing.outdated_documents(audited.tenant, audited.active_profile)
            except (StoreFailed, StoreMisfit) as error:
                raise NotChecked(str(error)) from error

    def still_broken(self, audited: AuditScope, ids: list[str]) -> set[str]:
        return set(ids) & set(self.broken(audited))
