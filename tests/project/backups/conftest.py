"""Namespaces to save, and places to restore them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from documents.accounts import answer_settings
from documents.conversations.remembering import NewTurn, remember
from documents.embedders.base import Embedder
from documents.models import (
    Document,
    Namespace,
)
from documents.verification import auditing
from evaluation.golden.curating import add_query, judge
from evaluation.learning.votes import embed_questions
from evaluation.models import GoldenSet
from ragsite.database.tenancy import namespace, operator
from retrieval.learned import learned_models
from retrieval.rerankers.linear import FEATURES, LinearModel

from ...client import Api
from ..test_tenant_wall import fill_memory
from .archives import counting
from .elsewhere import NOTES, Elsewhere


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditing, "PAUSE_SECONDS", 0)


@pytest.fixture
def filled(tenant: Namespace, api: Api, work: Callable[[], int]) -> Namespace:
    api.upload(("notes.md", NOTES))
    api.upload(("kiln.md", "# Kiln\n\nThe kiln reaches 1200 degrees."))
    work()
    api.post("facts", {"subject": "Ada", "predicate": "lives in", "object": "Oslo"})
    return tenant


@pytest.fixture
def elsewhere(tmp_path: Path) -> Elsewhere:
    return Elsewhere(tmp_path / "elsewhere")


@pytest.fixture
def embedded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many texts each call has embedded, of any embedder."""
    calls: list[int] = []
    for name in ("embed", "embed_batch"):
        for kind in {Embedder, *Embedder.__subclasses__()}:
            if name in vars(kind):
                monkeypatch.setattr(kind, name, counting(vars(kind)[name], calls))
    return calls


@pytest.fixture
def full(tenant: Namespace, api: Api, work: Callable[[], int]) -> Namespace:
    """A namespace with a row in every table that an archive holds."""
    api.upload(("harbour.md", "# Harbour\n\nAn older text."))
    work()
    api.upload(("harbour.md", NOTES), tags="ports,lights", metadata='{"year": 2020}')
    api.upload(("lights.csv", "name,height\nNorth,12 m\nSouth,9 m\n"), rows_as_facts="true")
    remember(tenant.pk, [NewTurn("session", "user", "Where is the log?", speaker="Ada")])
    fill_memory(api)
    work()
    answer = api.query("harbour lights").body
    with namespace(tenant.pk):
        golden = GoldenSet.objects.create(namespace=tenant, name="lights")
        harbour = Document.objects.get(source_uri="upload:harbour.md")
        judge(add_query(golden, "how many lights?"), harbour, grade=3, quote="twelve lights")
    chosen = [answer["results"][0]["chunk_id"]]
    said = {"query_id": answer["query_id"], "selected_chunk_ids": chosen, "useful": True}
    assert api.post("feedback", said).status == 201
    embed_questions(tenant.pk)
    made = api.post("collections", {"name": "ports"}).body
    api.post(f"collections/{made['id']}/documents", {"document_ids": [str(harbour.pk)]})
    ones = (1.0,) * len(FEATURES)
    learned_models.install(tenant.pk, LinearModel(ones, ones, ones), metrics={}, training={})
    with operator():
        answer_settings.change(tenant, {"prompt": "Be brief.", "min_relevance": 0.25})
    return tenant
