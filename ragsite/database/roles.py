"""The database roles, and whether the server meets the requirements.

owner     the user of DATABASE_URL: owns the tables, runs the migrations
app       serves requests and jobs; owns nothing; row-level security shows it one namespace
operator  the admin and cross-namespace commands; sees every namespace, owns nothing
definer   cannot log in; owns the few SECURITY DEFINER look-up functions
"""

from django.conf import settings
from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper
from psycopg import sql

from .isolation import role
from .timeouts import set_role_timeouts

MIN_POSTGRES = 150000
MIN_PGVECTOR = (0, 8, 4)

# Tables without a tenant that the application role may not read, or may not change.
OPERATORS_ONLY = {
    "auth_group",
    "auth_group_permissions",
    "auth_user",
    "auth_user_groups",
    "auth_user_user_permissions",
    "django_admin_log",
    "django_session",
    "documents_databaseidentity",
    "documents_requestcount",  # counted by definer functions only
    "documents_loginthrottle",
    "documents_namespaceremoval",
    "documents_operatorkey",
}
READ_ONLY = {
    "documents_indexprofile",
    "documents_namespaceaccess",
    "django_content_type",
    "auth_permission",
}
# Rows that neither the application nor an operator may change or delete.
APPEND_ONLY = {"documents_auditevent"}
# A row of django-q2's schedule names a function to run, so no serving role may write one.
OWNERS_ONLY = {"django_q_schedule"}
# The queue belongs to the application; operators only read its length.
OPERATORS_READ = {"django_q_ormq", "django_q_task"}


class UnsuitableDatabase(Exception):
    """The message says what is wrong and what to do."""


def require_supported(connection: BaseDatabaseWrapper) -> None:
    """PostgreSQL ≥ 15 and pgvector ≥ 0.8.4: older pgvector leaks memory and corrupts indexes."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('server_version_num')::int, version()")
        number, version = cursor.fetchone()
        if number < MIN_POSTGRES:
            raise UnsuitableDatabase(
                f"Ragsite needs PostgreSQL 15 or newer, and this is {version.split(',')[0]}. "
                "Upgrade it, or unset DATABASE_URL to use the embedded server."
            )
        cursor.execute(
            "SELECT default_version, installed_version FROM pg_available_extensions "
            "WHERE name = 'vector'"
        )
        available, installed = cursor.fetchone() or (None, None)
    if available is None:
        raise UnsuitableDatabase(
            "This PostgreSQL server has no pgvector extension. Install pgvector 0.8.4 or newer "
            "on it, or unset DATABASE_URL to use the embedded server."
        )
    in_use = installed or available
    if tuple(int(part) for part in in_use.split(".")[:3]) < MIN_PGVECTOR:
        remedy = "Install a newer one on the server"
        if installed and installed != available:
            remedy += " and run ALTER EXTENSION vector UPDATE in this database"
        raise UnsuitableDatabase(
            f"Ragsite needs pgvector 0.8.4 or newer, and this server has {in_use}. {remedy}."
        )


def require_row_security(alias: str) -> None:
    """Raise UnsuitableDatabase if row-level security does not apply to this connection's role."""
    with connections[alias].cursor() as cursor:
        cursor.execute(
            "SELECT rolname, rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
        )
        name, unbound = cursor.fetchone()
        cursor.execute(
            "SELECT count(*) FROM pg_class c JOIN pg_roles r ON r.oid = c.relowner "
            "WHERE r.rolname = current_user AND c.relnamespace = 'public'::regnamespace"
        )
        (owned,) = cursor.fetchone()
    if unbound or owned:
        raise UnsuitableDatabase(
            f"Row-level security does not apply to the database role {name!r} (it is a superuser, "
            "has BYPASSRLS or owns tables). Leave DATABASE_APP_URL unset so that `migrate` makes "
            "a suitable role, or point it at one that owns nothing."
        )


def use_public_schema(connection: BaseDatabaseWrapper) -> None:
    """Create tables in `public` from now on, even if a schema has the user's name. A user called
    "ragsite" would by default create them in this project's schema of that name."""
    with connection.cursor() as cursor:
        cursor.execute("SET search_path TO public")


def provision(connection: BaseDatabaseWrapper) -> None:
    """Create the roles, their passwords and their rights, before the tables. Safe to run again.

    Grants and revocations share one transaction, so that no role ever has too many rights.
    """
    with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
        for kind, alias in (("app", "default"), ("operator", "operator"), ("definer", None)):
            _create_role(cursor, role(kind))
            if alias and settings.DATABASES[alias]["USER"] == role(kind):
                _set_password(cursor, role(kind), settings.DATABASES[alias]["PASSWORD"])
        set_role_timeouts(cursor)
        # Only a member of a role can make it the owner of a function.
        cursor.execute(_named("GRANT {definer} TO CURRENT_USER"))
        cursor.execute("CREATE SCHEMA IF NOT EXISTS ragsite")
        cursor.execute(_named("GRANT USAGE ON SCHEMA ragsite TO {app}, {operator}, {definer}"))
        cursor.execute(_named("GRANT CREATE ON SCHEMA ragsite TO {definer}"))
        cursor.execute(_named("GRANT USAGE ON SCHEMA public TO {app}, {operator}, {definer}"))
        for rights, what in (
            ("SELECT, INSERT, UPDATE, DELETE", "TABLES"),
            ("USAGE, SELECT", "SEQUENCES"),
        ):
            who = "IN SCHEMA public TO {app}, {operator}"
            cursor.execute(_named(f"GRANT {rights} ON ALL {what} {who}"))
            cursor.execute(
                _named(
                    "ALTER DEFAULT PRIVILEGES IN SCHEMA public "
                    f"GRANT {rights} ON {what} TO {{app}}, {{operator}}"
                )
            )
        revoke_excess_rights(connection)


def revoke_excess_rights(connection: BaseDatabaseWrapper) -> None:
    """Revoke the rights that a role does not need, once the tables exist."""
    present = set(connection.introspection.table_names())
    with connection.cursor() as cursor:
        for table in sorted(OPERATORS_ONLY & present):
            cursor.execute(_named(f"REVOKE ALL ON {table} FROM {{app}}"))
        for table in sorted(READ_ONLY & present):
            cursor.execute(_named(f"REVOKE INSERT, UPDATE, DELETE ON {table} FROM {{app}}"))
        for table in sorted(APPEND_ONLY & present):
            cursor.execute(_named(f"REVOKE UPDATE, DELETE ON {table} FROM {{app}}, {{operator}}"))
        for table in sorted(OWNERS_ONLY & present):
            cursor.execute(_named(f"REVOKE ALL ON {table} FROM {{app}}, {{operator}}"))
        for table in sorted(OPERATORS_READ & present):
            cursor.execute(_named(f"REVOKE INSERT, UPDATE, DELETE ON {table} FROM {{operator}}"))


def _create_role(cursor: CursorWrapper, name: str) -> None:
    cursor.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [name])
    if cursor.fetchone() is None:
        cursor.execute(sql.SQL("CREATE ROLE {}").format(sql.Identifier(name)))


def _set_password(cursor: CursorWrapper, name: str, password: str) -> None:
    statement = sql.SQL("ALTER ROLE {} LOGIN PASSWORD {}")
    cursor.execute(statement.format(sql.Identifier(name), sql.Literal(password)))


def _named(statement: str) -> sql.Composed:
    names = {kind: sql.Identifier(role(kind)) for kind in ("app", "operator", "definer")}
    return sql.SQL(statement).format(**names)
