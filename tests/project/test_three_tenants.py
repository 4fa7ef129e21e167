"""Three tenants do what comes to their mind; each sees what a plain dictionary of theirs holds."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from documents.ingestion.pipeline import ingest
from documents.jobs import heartbeat, queue
from documents.models import IngestJob, Namespace
from ragsite.database.tenancy import namespace, operator

from ..client import Api

NAMES = ("log", "chart", "tide")
WORDS = ("harbour", "lantern", "compass")
ACTS = st.tuples(
    st.integers(0, 2),
    st.sampled_from(["upload", "upload", "delete", "fact", "erase", "collect"]),
    st.sampled_from(NAMES),
    st.sampled_from(WORDS),
)


class Model:
    """What one tenant has put in: the content of each document, facts, collections."""

    def __init__(self, api: Api, word: str) -> None:
        self.api, self.word = api, word
        self.documents: dict[str, str] = {}
        self.ids: dict[str, str] = {}
        self.facts: set[tuple[str, str]] = set()
        self.collections: set[str] = set()

    def upload(self, name: str, word: str) -> None:
        content = f"# {name}\n\nThe {word} of {self.word} is kept in the {name}."
        sent = self.api.upload((f"{name}.md", content)).body["results"][0]
        self.documents[name], self.ids[name] = content, sent["document_id"]

    def delete(self, name: str, word: str) -> None:
        if name in self.documents:
            assert self.api.delete(f"documents/{self.ids[name]}").status in (200, 204)
            del self.documents[name], self.ids[name]

    def fact(self, name: str, word: str) -> None:
        stated = {"subject": name, "predicate": "keeps", "object": f"{word} {self.word}"}
        assert self.api.post("facts", stated).status in (200, 201)
        self.facts.add((name, f"{word} {self.word}"))

    def erase(self, name: str, word: str) -> None:
        assert self.api.post("facts/erase", {"subject": name}).status == 200
        self.facts = {fact for fact in self.facts if fact[0] != name}

    def collect(self, name: str, word: str) -> None:
        assert self.api.post("collections", {"name": name}).status in (200, 201)
        self.collections.add(name)

    def check(self, others: list[str]) -> None:
        listed = self.api.get("documents").body
        assert {d["source_uri"] for d in listed["results"]} == {
            f"upload:{name}.md" for name in self.documents
        }
        for name, document_id in self.ids.items():
            assert (
                self.api.get(f"documents/{document_id}/text").body["text"] == self.documents[name]
            )
        facts = self.api.get("facts").body["results"]
        assert {(fact["subject"], fact["object"]) for fact in facts} == self.facts
        kept = self.api.get("collections").body["results"]
        assert {one["name"] for one in kept} == self.collections
        for mode in ("hybrid", "lexical"):
            found = self.api.query("what is kept in the log?", mode=mode, k=10)
            assert {hit["document_id"] for hit in found.body["results"]} <= set(self.ids.values())
            assert not any(word in str(found.body["results"]) for word in others)


@pytest.fixture
def three(
    new_namespace: Callable[..., Namespace], api_of: Callable[..., Api]
) -> Callable[[], list[Model]]:
    def make() -> list[Model]:
        return [Model(api_of(new_namespace()), f"tenant{uuid.uuid4().hex}") for _ in range(3)]

    return make


@settings(
    max_examples=5,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # a failure is short as it is
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(acts=st.lists(ACTS, min_size=4, max_size=14))
def test_every_tenant_sees_what_they_put_in_and_nothing_else(
    acts: list[tuple[int, str, str, str]], three: Any, work: Callable[[], int]
):
    models: list[Model] = three()
    for who, act, name, word in acts:
        getattr(models[who], act)(name, word)
    work()
    for model in models:
        model.check([other.word for other in models if other is not model])


def test_a_worker_forgets_each_tenant_before_the_next(
    api_of: Callable[..., Api], tenant: Namespace, other_tenant: Namespace
):
    """Two jobs of different tenants, one after the other on the same connection."""
    for owner in (tenant, other_tenant):
        api_of(owner).upload(("a.md", f"# {owner.slug}\n\nWords of {owner.slug}."))
    for _ in range(2):
        claim = queue.claim(heartbeat.group())
        assert claim is not None
        ingest(claim)
        assert IngestJob.objects.count() == 0  # without a tenant no row is visible
    for owner in (tenant, other_tenant):
        with namespace(owner.pk):
            assert IngestJob.objects.get().state == "succeeded"
    assert queue.claim(heartbeat.group()) is None


def test_a_claim_that_names_another_tenant_comes_to_nothing(
    api_of: Callable[..., Api], tenant: Namespace, other_tenant: Namespace
):
    api_of(tenant).upload(("a.md", "# Mine\n\nWords."))
    claim = queue.claim(heartbeat.group())
    assert claim is not None
    object.__setattr__(claim, "namespace_id", other_tenant.pk)
    ingest(claim)
    with operator():
        job = IngestJob.objects.get()
        assert (job.namespace_id, job.state) == (tenant.pk, "running")  # until its lease ends
    assert api_of(other_tenant).get("documents").body["results"] == []
