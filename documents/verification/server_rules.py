"""Rules about the whole server: the wall between tenants stands, and no upload's file is left."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from ragsite.database.isolation import role
from ragsite.platform import temporary_files

from .checks import AuditScope, Mend, QueryCheck

# For each table with tenants' rows, exactly one policy of the role that serves requests.
_OPEN_TABLES = """
    SELECT class.relname AS id FROM pg_class class
    WHERE class.relkind IN ('r', 'p') AND class.relnamespace = 'public'::regnamespace
      AND (class.relname = 'documents_namespace'
           OR EXISTS (SELECT FROM pg_attribute
                      WHERE attrelid = class.oid AND attname = 'namespace_id'))
      AND NOT (class.relrowsecurity AND class.relforcerowsecurity
           AND (SELECT count(*) = 1 AND bool_and(qual LIKE '%%current_namespace%%'
                                             AND with_check LIKE '%%current_namespace%%')
                FROM pg_policies WHERE schemaname = 'public' AND tablename = class.relname
                  AND '{role}' = ANY (roles)))
"""
_MIGHTY_ROLES = """
    SELECT rolname AS id FROM pg_roles
    WHERE rolname = '{role}'
      AND (rolsuper OR rolbypassrls
           OR EXISTS (SELECT FROM pg_class
                      WHERE relowner = pg_roles.oid AND relnamespace = 'public'::regnamespace))
"""


def wall_checks() -> Iterator[QueryCheck]:
    """Yield rules about the catalogue, which a restore or an administrator may have changed."""
    yield QueryCheck(
        "isolation",
        "tables of tenants are not kept apart by forced row-level security",
        _OPEN_TABLES.format(role=role("app")),
    )
    yield QueryCheck(
        "isolation",
        "database roles of requests own tables, are superusers or bypass row-level security",
        _MIGHTY_ROLES.format(role=role("app")),
    )


def _delete(audited: AuditScope, ids: list[str]) -> int:
    return temporary_files.remove_left_behind()


_DELETE = Mend(_delete, "deleted")


@dataclass(frozen=True, slots=True)
class UploadsLeaveNoFiles:
    """The temporary folder of this host holds nothing that is older than any request."""

    name: str = "orphans"
    what: str = "temporary files are left of uploads that were cut off"
    mend: Mend | None = _DELETE

    def broken(self, audited: AuditScope) -> Iterator[str]:
        folder = Path(settings.FILE_UPLOAD_TEMP_DIR)
        yield from (str(path.relative_to(folder)) for path in temporary_files.left_behind())

    def still_broken(self, audited: AuditScope, ids: list[str]) -> set[str]:
        return set(ids) & set(self.broken(audited))
