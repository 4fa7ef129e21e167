"""The rule that makes citations exact: version.text[start:end] == chunk.content."""

from collections.abc import Iterator
from dataclasses import dataclass

from . import mending
from .checks import PAGE, AuditScope, Mend, read

PROGRESS_EVERY = 500  # versions
BATCH_BYTES = 4_000_000  # characters of texts that are read together

_VERSIONS = """
    SELECT version.id::text, octet_length(version.text)
    FROM documents_documentversion version
    WHERE version.namespace_id = %(namespace)s AND version.id > %(after)s::uuid
      AND EXISTS (SELECT FROM documents_chunk WHERE version_id = version.id)
    ORDER BY version.id LIMIT %(page)s
"""
_TEXTS = """
    SELECT id::text, document_id::text, text FROM documents_documentversion
    WHERE namespace_id = %(namespace)s AND id = ANY (%(versions)s::uuid[])
"""
_SPANS = """
    SELECT id::text, start, "end", content FROM documents_chunk
    WHERE namespace_id = %(namespace)s AND version_id = %(version)s::uuid
      AND id > %(after)s::uuid ORDER BY id LIMIT %(page)s
"""
_VERSIONS_OF = """
    SELECT DISTINCT version_id::text FROM documents_chunk
    WHERE namespace_id = %(namespace)s AND document_id = ANY (%(documents)s::uuid[])
"""
_FIRST = "00000000-0000-0000-0000-000000000000"


@dataclass(frozen=True, slots=True)
class SpansAreExact:
    """Each passage equals the text at its span. Sliced in Python, as clients do."""

    name: str = "spans"
    what: str = "documents have passages that are not the text at their place"
    mend: Mend | None = mending.INDEX_AGAIN

    def broken(self, audited: AuditScope) -> Iterator[str]:
        done, after, known = 0, _FIRST, {"namespace": audited.tenant, "page": PAGE}
        found: set[str] = set()
        while page := read(_VERSIONS, {**known, "after": after}):
            for versions in _batches(page):
                for document_id in _inexact(audited, versions) - found:
                    found.add(document_id)
                    yield document_id
                done += len(versions)
                if done // PROGRESS_EVERY > (done - len(versions)) // PROGRESS_EVERY:
                    audited.progress(f"{audited.slug}: spans of {done:,} versions checked")
            after = page[-1][0]

    def still_broken(self, audited: AuditScope, ids: list[str]) -> set[str]:
        rows = read(_VERSIONS_OF, {"namespace": audited.tenant, "documents": ids})
        found: set[str] = set()
        for (version_id,) in rows:
            found |= _inexact(audited, [version_id])
        return found


def _batches(page: list[tuple[str, int]]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for version_id, length in page:
        if batch and size + length > BATCH_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(version_id)
        size += length
    if batch:
        yield batch


def _inexact(audited: AuditScope, versions: list[str]) -> set[str]:
    found = set()
    for version_id, document_id, text in read(
        _TEXTS, {"namespace": audited.tenant, "versions": versions}
    ):
        if not _is_exact(audited, version_id, text):
            found.add(document_id)
    return found


def _is_exact(audited: AuditScope, version_id: str, text: str) -> bool:
    after = _FIRST
    known = {"namespace": audited.tenant, "version": version_id, "page": PAGE}
    while page := read(_SPANS, {**known, "after": after}):
        if any(text[start:end] != content for _, start, end, content in page):
            return False
        after = page[-1][0]
    return True
