"""Migration operations that isolate a table by tenant."""

from django.conf import settings
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState


def role(kind: str) -> str:
    """Return a database role's name; kind is app, operator or definer (roles.py)."""
    return f"{settings.DATABASE_ROLE_PREFIX}_{kind}"


class IsolateTenants(Operation):
    """Force row-level security on a table whose `column` names the tenant of each row.

    The application role sees the current namespace's rows; the operator and the owner see all.
    `definer_reads` lets our few SECURITY DEFINER functions look up rows across tenants (they return
    ids, never content). A constant policy lets their plans use any index. `also_visible` is an SQL
    condition for rows of others that a tenant may read.
    """

    reversible = True

    def __init__(
        self,
        table: str,
        column: str = "namespace_id",
        *,
        definer_reads: bool = False,
        also_visible: str = "",
    ) -> None:
        self.table, self.column, self.definer_reads = table, column, definer_reads
        self.also_visible = also_visible

    def deconstruct(self) -> tuple[str, list[str], dict[str, object]]:
        options = {"definer_reads": self.definer_reads, "also_visible": self.also_visible}
        return type(self).__name__, [self.table, self.column], options

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        pass  # no model changes

    def database_forwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        # Not (SELECT current_namespace()): as an InitPlan it hides the tenant's size from the
        # planner, which then takes the shared vector index for a 1 % tenant and finds nothing.
        mine = f"{self.column} = ragsite.current_namespace()"
        schema_editor.execute(f"ALTER TABLE {self.table} ENABLE ROW LEVEL SECURITY")
        schema_editor.execute(f"ALTER TABLE {self.table} FORCE ROW LEVEL SECURITY")
        visible = f"{mine} OR {self.also_visible}" if self.also_visible else mine
        self._policy(schema_editor, "tenant", role("app"), f"USING ({visible}) WITH CHECK ({mine})")
        everything = "USING (true) WITH CHECK (true)"
        self._policy(schema_editor, "operator", role("operator"), everything)
        self._policy(schema_editor, "owner", "CURRENT_USER", everything)
        if self.definer_reads:
            self._policy(schema_editor, "definer", role("definer"), "USING (true)", "SELECT")
            schema_editor.execute(f"GRANT SELECT ON {self.table} TO {role('definer')}")

    def _policy(
        self,
        schema_editor: BaseDatabaseSchemaEditor,
        name: str,
        who: str,
        rule: str,
        verb: str = "ALL",
    ) -> None:
        schema_editor.execute(f"CREATE POLICY {name} ON {self.table} FOR {verb} TO {who} {rule}")

    def database_backwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        for name in ("tenant", "operator", "owner", "definer"):
            schema_editor.execute(f"DROP POLICY IF EXISTS {name} ON {self.table}")
        schema_editor.execute(f"ALTER TABLE {self.table} NO FORCE ROW LEVEL SECURITY")
        schema_editor.execute(f"ALTER TABLE {self.table} DISABLE ROW LEVEL SECURITY")

    def describe(self) -> str:
        return f"Put {self.table} behind the tenant wall"


def give_to_definer(schema_editor: BaseDatabaseSchemaEditor, function: str) -> None:
    """Let a SECURITY DEFINER function run as the definer role, for our two roles and no others."""
    schema_editor.execute(f"ALTER FUNCTION {function} OWNER TO {role('definer')}")
    schema_editor.execute(f"REVOKE ALL ON FUNCTION {function} FROM PUBLIC")
    schema_editor.execute(
        f"GRANT EXECUTE ON FUNCTION {function} TO {role('app')}, {role('operator')}"
    )


class DefinerFunction(Operation):
    """Create a function that runs as the definer role and that the application role may call.

    `signature` is "name(argument type, …)" in the schema ragsite. The body is in `language` and
    only reads, unless `writes` is set. `options` are settings that apply while it runs.
    """

    reversible = True

    def __init__(
        self,
        signature: str,
        returns: str,
        body: str,
        *,
        options: dict[str, str] | None = None,
        language: str = "sql",
        writes: bool = False,
    ) -> None:
        self.signature, self.returns, self.body = signature, returns, body
        self.options, self.language, self.writes = options or {}, language, writes

    def deconstruct(self) -> tuple[str, list[str], dict[str, object]]:
        arguments = [self.signature, self.returns, self.body]
        keywords: dict[str, object] = {
            "options": self.options,
            "language": self.language,
            "writes": self.writes,
        }
        return type(self).__name__, arguments, keywords

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        pass

    def database_forwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        name = f"ragsite.{self.signature}"
        settings = "".join(f"SET {option} = {value} " for option, value in self.options.items())
        schema_editor.execute(
            f"CREATE FUNCTION {name} RETURNS {self.returns} LANGUAGE {self.language} "
            f"{'VOLATILE' if self.writes else 'STABLE'} SECURITY DEFINER "
            f"SET search_path = pg_catalog, public, pg_temp {settings}"
            f"AS $body$ {self.body} $body$"
        )
        give_to_definer(schema_editor, name)

    def database_backwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        schema_editor.execute(f"DROP FUNCTION IF EXISTS ragsite.{self.signature}")

    def describe(self) -> str:
        return f"Create the definer function {self.signature.partition('(')[0]}"


class AppendOnly(Operation):
    """Let the app and operator roles add and read rows, and only the owner change them.

    Rows whose `column` is older than `days` may be deleted by the definer role, and so by a definer
    function, which cannot delete younger rows for any caller. `roles.APPEND_ONLY` must list the
    table, too, because every `migrate` grants all rights again.
    """

    reversible = True

    def __init__(self, table: str, column: str, *, days: int) -> None:
        self.table, self.column, self.days = table, column, days

    def deconstruct(self) -> tuple[str, list[str], dict[str, int]]:
        return type(self).__name__, [self.table, self.column], {"days": self.days}

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        pass

    def database_forwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        schema_editor.execute(
            f"REVOKE UPDATE, DELETE ON {self.table} FROM {role('app')}, {role('operator')}"
        )
        schema_editor.execute(
            f"CREATE POLICY pruning ON {self.table} FOR DELETE TO {role('definer')} "
            f"USING ({self.column} < now() - interval '{self.days} days')"
        )
        schema_editor.execute(f"GRANT SELECT, DELETE ON {self.table} TO {role('definer')}")

    def database_backwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        schema_editor.execute(f"DROP POLICY IF EXISTS pruning ON {self.table}")
        schema_editor.execute(f"REVOKE DELETE ON {self.table} FROM {role('definer')}")
        schema_editor.execute(
            f"GRANT UPDATE, DELETE ON {self.table} TO {role('app')}, {role('operator')}"
        )

    def describe(self) -> str:
        return f"Make {self.table} append-only"
