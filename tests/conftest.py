"""Real PostgreSQL, real commits, and everything as the application role, as in production."""

import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from asgiref.sync import SyncToAsync
from django.conf import settings
from django.contrib.auth.models import Permission, User
from django.core.management import call_command
from django.db import connections
from django.test import Client

from documents.accounts import keys
from documents.ingestion.pipeline import ingest
from documents.jobs import heartbeat, queue
from documents.models import IndexProfile, Namespace
from documents.models.indexing import DEFAULT_PROFILE_ID
from documents.profiles import profiles, vector_indexes
from documents.reindex import build as building
from ragsite.database.tenancy import operator
from ragsite.platform.backends import load_backend
from retrieval import query_log

from . import embedding_server
from .client import Api

# Rows that migrations made, and that the next test needs too.
KEPT = {"django_migrations", "django_content_type", "auth_permission", "documents_indexprofile"}
# Deleting a few rows takes milliseconds. TRUNCATE recreates every table and index, which takes
# a tenth of a second and more, but it is faster for large tables and leaves no dead rows.
MAX_BYTES_TO_DELETE = 1_000_000


@pytest.fixture(scope="session")
def database(django_db_blocker: Any) -> Iterator[None]:
    with django_db_blocker.unblock():
        if settings.EMBEDDED_SERVER:
            call_command("migrate", verbosity=0)
        else:
            name = connections["owner"].creation.create_test_db(verbosity=0, autoclobber=True)
            for alias in ("default", "operator"):
                connections[alias].settings_dict["NAME"] = name
        yield
        for connection in connections.all():
            connection.close()
        if settings.EMBEDDED_SERVER:
            settings.EMBEDDED_SERVER.release()
            shutil.rmtree(os.environ["RAGSITE_TESTS"], ignore_errors=True)
        else:
            connections["owner"].creation.destroy_test_db("ragsite", verbosity=0)


@pytest.fixture
def db(database: None) -> Iterator[None]:
    """A database without anybody's rows; what a test commits is gone after it."""
    yield
    query_log.flush()  # what is written late would be left for the next test
    # sync_to_async keeps a thread of its own, whose connection another test may have terminated.
    SyncToAsync.single_thread_executor.submit(connections.close_all).result()
    owner = connections["owner"]
    with owner.cursor() as cursor:
        cursor.execute("SET lock_timeout = '10s'")  # a transaction left open fails, not hangs
        _empty_tables(cursor, sorted(set(owner.introspection.table_names()) - KEPT))
        cursor.execute("DELETE FROM documents_indexprofile WHERE name <> 'default'")
        cursor.execute("UPDATE documents_indexprofile SET model_identity = ''")
        cursor.execute(
            "SELECT indexname FROM pg_indexes WHERE starts_with(indexname, 'chunk_vectors_') "
            "AND indexname <> %s",
            [vector_indexes.name_of(DEFAULT_PROFILE_ID)],
        )
        for (name,) in cursor.fetchall():
            cursor.execute(f"DROP INDEX {name}")
    shutil.rmtree(settings.HOME / "storage", ignore_errors=True)


def _empty_tables(cursor: Any, tables: list[str]) -> None:
    filled = " UNION ALL ".join(
        f"SELECT '{table}', pg_relation_size('{table}') WHERE EXISTS (SELECT FROM {table})"
        for table in tables
    )
    cursor.execute(filled)
    sizes = dict(cursor.fetchall())
    if max(sizes.values(), default=0) > MAX_BYTES_TO_DELETE:
        cursor.execute(f"TRUNCATE {', '.join(tables)} CASCADE")
        return
    deletes = "; ".join(f"DELETE FROM {table}" for table in sizes)
    if deletes:
        # As a replica: no triggers, and foreign keys do not matter when all rows go.
        cursor.execute(
            f"SET session_replication_role = replica; {deletes}; RESET session_replication_role"
        )
    if "documents_chunk" in sizes:
        cursor.execute("VACUUM documents_chunk")  # deleted vectors would hide others


@pytest.fixture
def hashing_profile(db: None) -> IndexProfile:
    """Vectors without a model: for mechanics, where meaning does not matter."""
    with operator():
        return IndexProfile.objects.create(
            name="hashing",
            chunk_size=60,
            chunk_overlap=9,
            embedder="hashing",
            dimensions=256,
            ann_method="exact",
        )


@pytest.fixture
def new_namespace(hashing_profile: IndexProfile) -> Callable[..., Namespace]:
    def create(slug: str = "", *, profile: IndexProfile = hashing_profile) -> Namespace:
        with operator():
            created = keys.create_namespace(slug or f"ns-{uuid.uuid4().hex[:8]}")
            created.active_profile = profile
            created.save()
        return created

    return create


@pytest.fixture
def tenant(new_namespace: Callable[..., Namespace]) -> Namespace:
    return new_namespace("tenant")


@pytest.fixture
def other_tenant(new_namespace: Callable[..., Namespace]) -> Namespace:
    return new_namespace("other")


@pytest.fixture
def real_tenant(new_namespace: Callable[..., Namespace]) -> Namespace:
    """A namespace on the default profile: the real embedding model."""
    with operator():
        profile = IndexProfile.objects.get(name="default")
    return new_namespace("real", profile=profile)


@pytest.fixture(scope="session")
def embedding_site() -> Iterator[str]:
    with embedding_server.provider() as address:
        yield address


@pytest.fixture
def behaving(
    embedding_site: str, settings: Any, new_namespace: Callable[..., Namespace]
) -> Iterator[Callable[..., Namespace]]:
    """Gives a namespace whose embedder is an API on this machine that behaves as named."""
    embedding_server.Handler.forget()
    with operator():
        profile = IndexProfile.objects.create(
            name="remote",
            chunk_size=60,
            chunk_overlap=9,
            embedder="remote",
            dimensions=embedding_server.DIMENSIONS,
            ann_method="exact",
        )

    def use(behaviour: str, **options: Any) -> Namespace:
        options = {"batch_size": 2, "concurrency": 1, "retries": 1, "deadline": 5, **options}
        fixed = {"url": f"{embedding_site}/{behaviour}", "model": "m"}
        fixed["dimensions"] = profile.dimensions
        backend = "documents.embedders.openai.OpenAIEmbedder"
        entry = {"BACKEND": backend, "OPTIONS": {**fixed, **options}}
        settings.EMBEDDERS = {**settings.EMBEDDERS, "remote": entry}
        load_backend.cache_clear()
        return new_namespace(profile=profile)

    yield use
    load_backend.cache_clear()


@pytest.fixture
def api_of(client: Client) -> Callable[..., Api]:
    def create(tenant: Namespace, scopes: tuple[str, ...] = ("read", "write")) -> Api:
        with operator():
            _, plain = keys.issue(tenant, scopes=scopes)
        return Api(client, plain)

    return create


@pytest.fixture
def api(api_of: Callable[..., Api], tenant: Namespace) -> Api:
    return api_of(tenant)


@pytest.fixture
def work(db: None) -> Callable[[], int]:
    """Do what a worker would, here and now, until the queue is empty."""

    def run() -> int:
        done = 0
        while claim := queue.claim(heartbeat.group()):
            ingest(claim)
            done += 1
        return done

    return run


def logged_in(user: User) -> Client:
    client = Client()
    with operator():
        client.force_login(user)
    return client


@pytest.fixture
def boss(db: None) -> Client:
    with operator():
        return logged_in(User.objects.create_superuser("boss", password="long enough"))


@pytest.fixture
def onlooker(db: None) -> Client:
    """Staff who may look at everything and change nothing."""
    with operator():
        user = User.objects.create_user("onlooker", password="long enough", is_staff=True)
        user.user_permissions.set(Permission.objects.filter(codename__startswith="view_"))
        user.user_permissions.add(Permission.objects.get(codename="see_every_namespace"))
    return logged_in(user)


@pytest.fixture
def build(work: Callable[[], int], settings: Any) -> Callable[[], None]:
    """Do what a worker would, until nothing is missing under any profile."""
    settings.REINDEX = {**settings.REINDEX, "share": 1.0, "grace": 0}

    def run() -> None:
        work()
        while claim := building.claim(heartbeat.group()):
            building.build(claim)
            work()

    return run


@pytest.fixture
def small_profile(hashing_profile: IndexProfile, settings: Any) -> Iterator[IndexProfile]:
    """Another model with another dimension, and other chunks."""
    options = {"OPTIONS": {"dimensions": 64}}
    small = {"BACKEND": "documents.embedders.hashing.HashingEmbedder", **options}
    settings.EMBEDDERS = {**settings.EMBEDDERS, "small": small}
    load_backend.cache_clear()
    yield profiles.create("small", embedder="small", chunk_size=30, chunk_overlap=0)
    load_backend.cache_clear()
