"""Temporary copies of a namespace's documents under another profile, for measuring."""

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from django.core.files.base import File

from documents.accounts import keys, quotas
from documents.ingestion import removal, terms
from documents.intake import intake, originals
from documents.jobs.drain import run_until_done
from documents.models import (
    CONVERSATION_MEDIA_TYPE,
    Document,
    DocumentVersion,
    IndexProfile,
    Namespace,
)
from evaluation.errors import EvaluationError
from ragsite.database.tenancy import namespace, operator
from ragsite.platform.wording import plural

SLUG = "scratch-"


class CopyFailed(EvaluationError):
    code = "copy_failed"


@dataclass(frozen=True, slots=True)
class Scratch:
    namespace_id: uuid.UUID
    own_ids: Mapping[uuid.UUID, uuid.UUID]  # ids of the copies → ids of the originals


@contextmanager
def copied(
    tenant: Namespace,
    profile: IndexProfile,
    *,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Iterator[Scratch]:
    """Copy everything searchable into a new namespace indexed under the profile; deleted, with its
    files, at the end of the block. For operators' commands."""
    with operator():
        copy = keys.create_namespace(
            f"{SLUG}{uuid.uuid4().hex[:12]}",
            name=f"Copy of {tenant.slug} under {profile.name}",
            profile=profile,
            language=tenant.language,
        )
        # the copy may be as large as the original
        quotas.set_quotas(copy, dict.fromkeys(quotas.NAMES, 0))
    try:
        yield _fill(copy, tenant, progress)
    finally:
        _remove(copy)


def _fill(copy: Namespace, tenant: Namespace, progress: Callable[[int, int], None]) -> Scratch:
    with namespace(tenant.pk):
        versions = list(
            DocumentVersion.objects.filter(state=DocumentVersion.State.LIVE)
            .exclude(media_type=CONVERSATION_MEDIA_TYPE)  # not split by the profile's chunker
            .select_related("document")
            .defer("text", "outline")
        )
    own_ids, job_ids = {}, []
    for version in versions:
        described = version.document.given
        with originals.opened(version.storage_key, sha256=version.content_sha256) as file:
            receipt = intake.accept(
                copy.pk,
                intake.Submission(
                    content=File(file, name=version.file_name or "original"),
                    file_name=version.file_name,
                    media_type=version.media_type,
                    encoding=version.encoding,
                    source_uri=version.document.source_uri,
                    title=described.get("title"),
                    tags=described.get("tags"),
                    metadata=described.get("metadata"),
                    on_duplicate="keep",
                ),
            )
        own_ids[receipt.document_id] = version.document_id
        if receipt.job_id:
            job_ids.append(receipt.job_id)
    if failed := run_until_done(copy.pk, job_ids, progress=progress):
        first = failed[0]
        raise CopyFailed(
            f"{plural(len(failed), 'document')} cannot be indexed under "
            f"{copy.active_profile.name!r}; the first is {first.source_uri}: {first.error_code}."
        )
    terms.count(copy.pk, copy.active_profile)
    return Scratch(copy.pk, own_ids)


def _remove(copy: Namespace) -> None:
    with namespace(copy.pk):
        documents = list(Document.objects.values_list("pk", flat=True))
    for document_id in documents:
        removal.remove(copy.pk, document_id)
    with operator():
        Namespace.objects.filter(pk=copy.pk).delete()
