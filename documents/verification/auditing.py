"""The pipeline: run every check, confirm what it found, and repair it if requested."""

import time
from collections.abc import Iterator, Sequence
from itertools import islice

from django.db import OperationalError

from documents.accounts import audit
from documents.models import Namespace
from ragsite.database.tenancy import operator

from .checks import PAGE, AuditScope, Check, NotChecked, Progress
from .count_rules import COUNTS
from .document_rules import LEFTOVERS, PASSAGES, STATES, VERSIONS
from .fact_rules import FACTS
from .file_rules import FILES, FoldersHaveNamespaces
from .findings import MAX_EXAMPLES, Finding, Report
from .link_rules import lease_checks, link_checks
from .server_rules import UploadsLeaveNoFiles, wall_checks
from .span_rules import SpansAreExact
from .store_rules import StoreHoldsTheChunks

# Work in progress may briefly look like a fault, so findings are checked again after this time.
PAUSE_SECONDS = 2.0


def verify(
    namespaces: Sequence[Namespace] | None = None,
    *,
    fast: bool = False,
    repair: bool = False,
    progress: Progress = lambda line: None,
) -> Report:
    """Audit these namespaces; None audits all, and what belongs to no namespace.

    `fast` compares only the sizes of originals, not their checksums. `repair` repairs what it can,
    and never deletes a document. Safe while the service runs.
    """
    report = Report()
    everything = namespaces is None
    for tenant in _all_namespaces() if namespaces is None else namespaces:
        audited = AuditScope(tenant.pk, tenant.slug, tenant.active_profile, fast, progress)
        progress(f"{tenant.slug}: checking")
        _run(_namespace_checks(), audited, report, repair=repair)
        report.namespaces += 1
    if everything:
        server = AuditScope(None, "", None, fast, progress)
        progress("the whole server: checking")
        _run(_server_checks(), server, report, repair=repair)
    return report


def _all_namespaces() -> list[Namespace]:
    """Return all namespaces except those being deleted, whose rows disappear one after another."""
    with operator():
        tenants = Namespace.objects.select_related("active_profile")
        return list(tenants.filter(deleting_since=None))


def _namespace_checks() -> Iterator[Check]:
    """Yield all checks; checks of counts come last, because repairs may change counts."""
    yield from link_checks()
    yield from lease_checks(of_namespace=True)
    yield from STATES
    yield from VERSIONS
    yield from FILES
    yield from LEFTOVERS
    yield from PASSAGES
    yield SpansAreExact()
    yield from FACTS
    yield from COUNTS
    yield StoreHoldsTheChunks()


def _server_checks() -> Iterator[Check]:
    yield from lease_checks(of_namespace=False)
    yield FoldersHaveNamespaces()
    yield from wall_checks()
    yield UploadsLeaveNoFiles()


def _run(checks: Iterator[Check], audited: AuditScope, report: Report, *, repair: bool) -> None:
    for check in checks:
        report.checks += 1
        try:
            _run_one(check, audited, report, repair=repair)
        except (OSError, OperationalError) as error:
            report.findings.append(_unchecked(check, audited, error))


def _run_one(check: Check, audited: AuditScope, report: Report, *, repair: bool) -> None:
    mended, left = _Tally(), _Tally()
    acted = 0
    for ids in _confirmed(check, audited):
        broken = ids
        if repair and check.mend is not None:
            acted += check.mend.apply(audited, ids)
            still = check.still_broken(audited, ids)
            broken = [each for each in ids if each in still]
            mended.add([each for each in ids if each not in still])
        left.add(broken)
    how = check.mend.done if check.mend is not None else ""
    done = f"{acted:,} {how}" if acted else ""
    if mended.count:
        report.repaired.append(_finding(check, audited, mended, done))
    if left.count:
        report.findings.append(_finding(check, audited, left, done))
    if acted and audited.namespace_id is not None:
        details = {"check": check.name, "what": check.what, "done": how}
        audit.record("verify.repair", namespace=audited.tenant, count=acted, details=details)


def _confirmed(check: Check, audited: AuditScope) -> Iterator[list[str]]:
    """Yield, page by page, the ids that break the rule now and again after a pause."""
    found = check.broken(audited)
    while page := list(islice(found, PAGE)):
        _pause()
        still = check.still_broken(audited, page)
        if ids := [each for each in page if each in still]:
            yield ids


def _pause() -> None:
    time.sleep(PAUSE_SECONDS)


class _Tally:
    """The number of findings, and examples."""

    def __init__(self) -> None:
        self.count = 0
        self.examples: list[str] = []

    def add(self, ids: Sequence[str]) -> None:
        self.count += len(ids)
        self.examples += ids[: MAX_EXAMPLES - len(self.examples)]


def _finding(check: Check, audited: AuditScope, tally: _Tally, done: str) -> Finding:
    return Finding(
        check=check.name,
        namespace=audited.slug,
        what=check.what,
        count=tally.count,
        examples=tuple(tally.examples),
        can_repair=check.mend is not None,
        repair=done,
    )


def _unchecked(check: Check, audited: AuditScope, error: Exception) -> Finding:
    why = f", because of {type(error).__name__}"
    if isinstance(error, NotChecked):
        why = f" ({str(error).rstrip('.')})"
    what = f"could not be checked{why}: whether {check.what}"
    return Finding(check.name, audited.slug, what, 1, (), can_repair=False)
