"""The wall between tenants, tried as the application role on every table in the catalogue."""

import uuid
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.core.files.base import ContentFile
from django.db import DatabaseError, ProgrammingError, connection, connections, transaction

from documents.accounts import links
from documents.collections import batches
from documents.collections import editing as collections
from documents.conversations.remembering import NewTurn, remember
from documents.ingestion import bulk_removal
from documents.intake import deferred_removals, originals
from documents.language_models.base import Usage
from documents.language_models.openai import OpenAIModel
from documents.metering.language_models import book_usage
from documents.models import Document, IndexProfile, Namespace, NamespaceAccess, Reindex
from documents.profiles import profiles
from documents.stores import outbox
from documents.webhooks import endpoints
from evaluation.golden.curating import add_query, judge
from evaluation.learning import votes
from evaluation.models import GoldenSet
from evaluation.runs.options import RunOptions
from evaluation.runs.runner import measure_now
from ragsite.database import roles
from ragsite.database.tenancy import namespace, operator, query_in_namespace
from retrieval.learned import learned_models
from retrieval.rerankers.linear import FEATURES, LinearModel

from ..client import Api

pytestmark = pytest.mark.usefixtures("db")


def rows(sql: str, parameters: list[object] | None = None, *, alias: str = "owner") -> list[tuple]:
    with connections[alias].cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetchall()


def tenant_tables() -> list[tuple[str, str]]:
    """(table, its tenant column) for every table that names a namespace, and namespaces."""
    found = rows(
        "SELECT table_name, column_name FROM information_schema.columns "
        "WHERE table_schema = 'public' AND column_name = 'namespace_id' "
        "UNION SELECT 'documents_namespace', 'id' ORDER BY 1"
    )
    assert len(found) >= 7
    return found


def current_tenant() -> str | None:
    return rows("SELECT current_setting('ragsite.namespace', true)", alias="default")[0][0]


def test_the_application_role_is_bound_by_row_level_security_and_owns_nothing():
    (row,) = rows(
        "SELECT rolname, rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user",
        alias="default",
    )
    assert row == ("ragsite_app", False, False)
    assert not rows(
        "SELECT relname FROM pg_class JOIN pg_roles ON pg_roles.oid = relowner "
        "WHERE rolname = 'ragsite_app'"
    )
    roles.require_row_security("default")
    with pytest.raises(roles.UnsuitableDatabase, match="superuser"):
        roles.require_row_security("owner")


def test_every_tenant_table_forces_row_level_security_both_ways():
    for table, _ in tenant_tables():
        (row,) = rows(
            "SELECT relrowsecurity, relforcerowsecurity FROM pg_class WHERE oid = %s::regclass",
            [table],
        )
        assert row == (True, True), table
        policies = rows(
            "SELECT qual, with_check FROM pg_policies WHERE tablename = %s "
            "AND 'ragsite_app' = ANY (roles)",
            [table],
        )
        assert len(policies) == 1, table
        assert all("current_namespace" in rule for rule in policies[0]), table


def test_without_a_tenant_nothing_is_visible_on_any_table(tenant: Namespace, full_tables: None):
    for table, column in tenant_tables():
        owned = f"SELECT count(*) FROM {table} WHERE {column} IS NOT NULL"  # null: shared
        assert rows(owned)[0][0] > 0, f"{table} is empty: prove nothing"
        assert rows(owned, alias="default") == [(0,)], table


def test_without_a_tenant_and_for_another_tenant_every_insert_fails(
    tenant: Namespace, other_tenant: Namespace, full_tables: None
):
    for table, column in tenant_tables():
        copy = f"INSERT INTO {table} SELECT * FROM jsonb_populate_record(null::{table}, %s::jsonb)"
        owned = f"SELECT to_jsonb(t)::text FROM {table} t WHERE {column} IS NOT NULL LIMIT 1"
        (row,) = rows(owned)[0]
        read_only = table in roles.READ_ONLY
        refused = "permission denied" if read_only else "row-level security"
        with pytest.raises(ProgrammingError, match=refused), transaction.atomic():
            rows(copy, [row], alias="default")
        foreign = row.replace(str(tenant.pk), str(other_tenant.pk))
        with pytest.raises(ProgrammingError, match=refused), namespace(tenant.pk):
            rows(copy, [foreign], alias="default")


def test_the_definer_functions_return_nothing_of_a_tenant_without_a_tenant(full_tables: None):
    (profile_id,) = rows("SELECT profile_id FROM documents_chunk LIMIT 1")[0]
    for call in (
        "ragsite.lexical_candidates('harbour'::tsquery, '{}/1000000000', %s, null, null, 10)",
        "ragsite.plain_candidates('harbour'::tsquery, %s, null, null, 10)",
    ):
        assert rows(f"SELECT * FROM {call}", [profile_id], alias="default") == []


def test_the_application_role_cannot_read_operators_passwords():
    with pytest.raises(ProgrammingError, match="permission denied"), transaction.atomic():
        rows("SELECT password FROM auth_user", alias="default")


def test_links_cannot_cross_namespaces(tenant: Namespace, other_tenant: Namespace, api: Api):
    document_id = api.upload(("a.md", "# A\n\nText.")).body["results"][0]["document_id"]
    # Foreign keys ignore row-level security: only the namespace inside the key stops this.
    with (
        pytest.raises(DatabaseError, match="same_namespace"),
        operator(),
        transaction.atomic("operator"),
    ):
        rows(
            "INSERT INTO documents_documentversion (id, namespace_id, document_id, number, state, "
            "content_sha256, media_type, byte_size, storage_key, file_name, text, outline, "
            "warnings) VALUES (gen_random_uuid(), %s, %s, 9, 'queued', '', '', 0, '', '', '', "
            "'{}', '[]') RETURNING id",
            [other_tenant.pk, document_id],
            alias="operator",
        )


def test_tenants_taking_turns_on_one_connection_never_see_each_other(
    api_of: Callable[..., Api], tenant: Namespace, other_tenant: Namespace
):
    for owner, name in ((tenant, "mine"), (other_tenant, "theirs")):
        api_of(owner).upload((f"{name}.md", f"# {name}\n\nWords."))
    backend = rows("SELECT pg_backend_pid()", alias="default")

    def seen(tenant: Namespace) -> list[str]:
        with namespace(tenant.pk):
            return list(Document.objects.values_list("source_uri", flat=True))

    for _ in range(5):
        assert seen(tenant) == ["upload:mine.md"]
        assert not current_tenant()
        assert seen(other_tenant) == ["upload:theirs.md"]
        with pytest.raises(ZeroDivisionError), namespace(tenant.pk):
            raise ZeroDivisionError
        assert not current_tenant()
        with pytest.raises(DatabaseError), namespace(tenant.pk):
            rows("SELECT 1/0", alias="default")
        assert not current_tenant()
        with namespace(tenant.pk):
            with pytest.raises(ZeroDivisionError), transaction.atomic():  # a savepoint rolled back
                raise ZeroDivisionError
            assert current_tenant() == str(tenant.pk)
        assert not current_tenant()
        assert list(Document.objects.all()) == []
    assert rows("SELECT pg_backend_pid()", alias="default") == backend


def test_a_transaction_cannot_switch_namespaces(tenant: Namespace, other_tenant: Namespace):
    with namespace(tenant.pk):
        with namespace(tenant.pk):  # the same again is fine
            pass
        assert current_tenant() == str(tenant.pk)
        with pytest.raises(RuntimeError, match="switch"), namespace(other_tenant.pk):
            pass


def test_a_tenant_named_inside_somebody_elses_transaction_is_forgotten_again(tenant: Namespace):
    with transaction.atomic():
        with namespace(tenant.pk):
            assert current_tenant() == str(tenant.pk)
        assert not current_tenant()
        assert not connection.needs_rollback


def test_the_operator_sees_every_namespace_but_a_namespace_inside_does_not(
    api_of: Callable[..., Api], tenant: Namespace, other_tenant: Namespace
):
    for owner in (tenant, other_tenant):
        api_of(owner).upload(("a.md", f"# {owner.slug}\n\nWords."))
    with operator():
        assert Document.objects.count() == 2
        with namespace(tenant.pk):
            assert Document.objects.count() == 1
        assert Document.objects.count() == 2
    assert Document.objects.count() == 0


def fill_memory(api: Api) -> None:
    """A fact that closed another, an alias, a rule, and a receipt of an erasure."""
    rule = {"predicate": "keeper", "is_single": True}
    assert api.post("fact-rules", rule).status in (200, 201)
    assert api.post("fact-aliases", {"alias": "HH", "name": "Harbour House"}).status in (200, 201)
    for keeper in ("Ada", "Grace"):
        stated = {"subject": "Harbour House", "predicate": "keeper", "object": keeper}
        assert api.post("facts", stated).status in (200, 201)
    gone = {"subject": "Gone", "predicate": "keeper", "object": "Nobody"}
    assert api.post("facts", gone).status in (200, 201)
    assert api.post("facts/erase", {"subject": "Gone"}).status == 200


@pytest.fixture
def full_tables(tenant: Namespace, api: Api, work: Callable[[], int]) -> None:
    """At least one row of the tenant in every tenant table."""
    api.upload(("harbour.md", "# Harbour\n\nThe harbour has twelve lights."))
    api.upload(("lights.csv", "name,height\nNorth,12 m\n"), rows_as_facts="true")
    assert work() == 2
    with namespace(tenant.pk):
        golden = GoldenSet.objects.create(namespace=tenant, name="lights")
        query = add_query(golden, "how many lights?")
        harbour = Document.objects.get(source_uri="upload:harbour.md")
        judge(query, harbour, grade=3, quote="twelve lights")
    assert measure_now(golden, RunOptions()).state == "succeeded"
    answer = api.query("harbour lights").body
    chosen = [answer["results"][0]["chunk_id"]]
    said = {"query_id": answer["query_id"], "selected_chunk_ids": chosen, "useful": True}
    assert api.post("feedback", said).status == 201
    assert votes.embed_questions(tenant.pk) == 1
    removed = api.upload(("gone.md", "# Gone")).body["results"][0]["document_id"]
    bulk_removal.request(tenant.pk, [uuid.UUID(removed)])
    with operator():
        other = IndexProfile.objects.get(name="default")
        Reindex.objects.create(namespace=tenant, profile=other, replaces=tenant.active_profile)
        ada = User.objects.create_user("ada")
        NamespaceAccess.objects.create(user=ada, namespace=tenant)
    with namespace(tenant.pk):
        collection, _ = collections.create(
            tenant.pk, collections.CollectionDescription(name="ports")
        )
        batches.add_batch(collection, {harbour.pk: {"lights": 12}})
    kept = {"documents": [{"content": "Kept for a day.", "source_uri": "kept"}]}
    assert api.call("POST", "ingest", kept, **{"Idempotency-Key": "once"}).status == 202
    work()
    remember(tenant.pk, [NewTurn("session", "user", "The harbour has twelve lights.")])
    fill_memory(api)
    with operator():
        links.create(tenant)
    with deferred_removals.removals_deferred():  # as a backup does
        assert originals.remove(originals.store(ContentFile(b"old"), namespace_id=tenant.pk))
    with namespace(tenant.pk):
        endpoint, _ = endpoints.create(tenant.pk, "https://example.com/hook")
        endpoints.send_test(endpoint)
        outbox.note(tenant.pk, other.pk, [harbour.pk])
    book_usage(OpenAIModel("http://127.0.0.1:1", model="m"), tenant.pk, Usage(1, 1))
    profiles.create("own", namespace_id=tenant.pk, embedder="hashing", ann_method="exact")
    ones = (1.0,) * len(FEATURES)
    learned_models.install(tenant.pk, LinearModel(ones, ones, ones), metrics={}, training={})
    assert uuid.UUID(str(tenant.pk))


def test_one_statement_that_names_its_tenant_sees_no_other_and_forgets_it(
    tenant: Namespace, other_tenant: Namespace
):
    everybody = "SELECT id FROM documents_namespace"
    for _ in range(10):  # its plan is kept after some: that must not keep the tenant, too
        for one in (tenant, other_tenant):
            assert query_in_namespace(one.pk, everybody, {}) == [(one.pk,)]
            assert not current_tenant()
    assert query_in_namespace(uuid.uuid4(), everybody, {}) == []
    assert rows(everybody, alias="default") == []
    with namespace(tenant.pk), pytest.raises(RuntimeError, match="cannot switch"):
        query_in_namespace(other_tenant.pk, everybody, {})


def test_statements_are_planned_once_unless_the_operator_forbids_it(tenant: Namespace):
    def kept() -> int:
        return rows("SELECT count(*) FROM pg_prepared_statements", alias="default")[0][0]

    try:
        for threshold, expected in ((None, 0), (3, 1)):
            connection.close()
            connection.ensure_connection()
            connection.connection.prepare_threshold = threshold
            for _ in range(5):
                query_in_namespace(tenant.pk, "SELECT 1 AS one", {})
            assert kept() == expected
    finally:
        connection.close()
