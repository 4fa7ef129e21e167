"""Upgrades without downtime: the code of the release before goes on while migrations run."""

import re
from collections.abc import Callable, Iterator

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import connections, migrations
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState
from django.db.models import NOT_PROVIDED, Field

from ragsite.management.commands import migrate

from .service import ROOT

# What was there before this policy, the first two with changes that 0.2.0's code does not survive.
BEFORE_THE_POLICY = {"documents": 28, "evaluation": 5, "retrieval": 8}
# Tables so large that an index on them is built CONCURRENTLY.
LARGE = {"chunk", "chunkterms", "document", "documentversion", "fact", "ingestjob", "querylog"}
REMOVALS = (
    migrations.RemoveField,
    migrations.DeleteModel,
    migrations.RenameField,
    migrations.RenameModel,
    migrations.AlterModelTable,
)


def flat(operations: list[Operation]) -> Iterator[Operation]:
    """What touches the database."""
    for operation in operations:
        if isinstance(operation, migrations.SeparateDatabaseAndState):
            yield from flat(operation.database_operations)
        else:
            yield operation


def stays_writable(field: Field) -> bool:
    """Whether code that does not know the field can insert rows."""
    return field.null or field.db_default is not NOT_PROVIDED or field.many_to_many


def objection(operation: Operation, state: ProjectState, app: str, own: set[str]) -> str:
    """What the release before would stumble over; "" if nothing."""
    if isinstance(operation, REMOVALS):
        return "removes or renames what the release before uses"
    if not operation.reversible:
        return "cannot be undone"
    model = getattr(operation, "model_name_lower", "")
    if model in own:
        return ""
    if isinstance(operation, migrations.AddField) and not stays_writable(operation.field):
        return "adds a column that the release before does not fill: null=True or db_default"
    if isinstance(operation, migrations.AlterField):
        was = state.models[app, model].fields[operation.name_lower]
        now = operation.field
        if was.get_internal_type() != now.get_internal_type():
            return "changes the type of a column"
        if was.null and not stays_writable(now):
            return "forbids null, which the release before may write"
    if type(operation) is migrations.AddIndex and model in LARGE:
        return "builds an index of a large table while nobody can write: AddIndexConcurrently"
    return ""


def objections(migration: migrations.Migration, state: ProjectState) -> list[str]:
    own: set[str] = set()
    found = []
    for operation in flat(migration.operations):
        if isinstance(operation, migrations.CreateModel):
            own.add(operation.name_lower)
        if said := objection(operation, state, migration.app_label, own):
            found.append(f"{migration}: {operation.describe()}: {said}")
    return found


def test_migrations_leave_the_release_before_working():
    """What only a later release may do says `after_release` in its migration: the release whose
    code no longer uses what goes. It must be out."""
    loader = MigrationLoader(None)
    released = re.findall(r"^## (\d+\.\d+\.\d+) \(", (ROOT / "CHANGELOG.md").read_text(), re.M)
    said = []
    for (app, name), migration in loader.disk_migrations.items():
        if int(name[:4]) <= BEFORE_THE_POLICY.get(app, 10**4):
            continue
        if after := getattr(migration, "after_release", ""):
            assert after in released, f"{migration}: {after} is not out"
            continue
        (parent, *_) = [key for key in migration.dependencies if key[0] == app]
        said += objections(migration, loader.project_state(parent))
    assert not said, "\n".join(said)


@pytest.mark.parametrize(
    ("operation", "said"),
    [
        (migrations.RemoveField("document", "title"), "removes"),
        (migrations.AddField("document", "new", Field()), "does not fill"),
        (migrations.AddField("document", "new", Field(null=True)), ""),
        (migrations.AddField("document", "new", Field(db_default="")), ""),
        (migrations.RunSQL("SELECT 1"), "undone"),
        (migrations.RunSQL("SELECT 1", "SELECT 1"), ""),
        (migrations.AddIndex("document", apps.get_model("documents.Document")._meta.indexes[0]),
         "CONCURRENTLY"),
    ],
)  # fmt: skip
def test_the_policy_sees_what_it_forbids(operation: Operation, said: str):
    state = ProjectState.from_apps(apps)
    heard = objection(operation, state, "documents", set())
    assert said.lower() in heard.lower()
    assert bool(said) == bool(heard)


def test_every_migration_can_be_undone():
    loader = MigrationLoader(None)
    stuck = [
        f"{migration}: {operation.describe()}"
        for (app, _), migration in loader.disk_migrations.items()
        if app in BEFORE_THE_POLICY
        for operation in flat(migration.operations)
        if not operation.reversible
    ]
    assert not stuck


@pytest.fixture
def _migrated_again(db: None) -> Iterator[None]:
    yield
    call_command("migrate", verbosity=0)


@pytest.fixture
def in_use(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """Somebody reads the table that evaluation 0005 made, until they are told to end."""
    monkeypatch.setattr(migrate, "LOCK_SECONDS", 1)
    other = connections.create_connection("owner")
    with other.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute("LOCK evaluation_feedbackvector IN ACCESS SHARE MODE")
    yield lambda: other.close()
    other.close()


@pytest.mark.usefixtures("_migrated_again")
def test_a_migration_does_not_make_others_wait_behind_it_for_a_table(
    in_use: Callable[[], None], monkeypatch: pytest.MonkeyPatch
):
    """It steps back, and comes again when the table is free."""
    pauses: list[float] = []
    monkeypatch.setattr(migrate.time, "sleep", lambda seconds: (pauses.append(seconds), in_use()))
    call_command("migrate", "evaluation", "0004", verbosity=0)  # drops that table
    assert pauses == [migrate.PAUSE_SECONDS]
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT to_regclass('evaluation_feedbackvector')")
        assert cursor.fetchone() == (None,)
        cursor.execute("SHOW lock_timeout")
        assert cursor.fetchone() == ("0",)


@pytest.mark.usefixtures("_migrated_again")
def test_a_table_that_stays_in_use_stops_the_migration_with_a_sentence(
    in_use: Callable[[], None], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(migrate, "TRIES", 1)
    with pytest.raises(CommandError, match="that has to be changed is in use"):
        call_command("migrate", "evaluation", "0004", verbosity=0)
    in_use()
