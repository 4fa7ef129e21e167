"""Why a chunk was found, or was not: every outcome of a search, stage by stage."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connections
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from documents.models import Chunk, IndexProfile, Namespace
from ragsite.database.tenancy import namespace, operator
from retrieval.neighbours import nearest
from retrieval.requests import SearchRequest
from retrieval.tracing import ChunkTrace, StageTrace, trace

from ..client import Api

pytestmark = pytest.mark.usefixtures("library")

QUESTION = "how many metres does the tower stand above the rock"


def chunk_with(tenant: Namespace, words: str) -> Chunk:
    with namespace(tenant.pk):
        return Chunk.objects.filter(content__contains=words).order_by("ordinal")[0]


def traced(tenant: Namespace, words: str, **fields: Any) -> ChunkTrace:
    request = SearchRequest(**{"query": QUESTION, **fields})
    return trace(tenant.pk, chunk_with(tenant, words).pk, request)


def stage(found: ChunkTrace, name: str) -> StageTrace:
    return next(each for each in found.stages if each.name == name)


def test_a_chunk_that_is_found_passes_every_stage(tenant: Namespace):
    found = traced(tenant, "forty metres")
    assert (found.outcome, found.position) == ("hit", 1)
    assert found.is_found
    assert [each.name for each in found.stages] == [
        "dense",
        "lexical",
        "fused",
        "reranked",
        "diversified",
        "budget",
    ]
    assert stage(found, "fused").rank == 1
    assert stage(found, "dense").score >= stage(found, "dense").cut
    assert stage(found, "reranked").verdict == "skipped"
    assert stage(found, "budget").verdict == "in"
    assert "tower" in {word.term for word in found.words}
    assert found.missing


def test_a_chunk_behind_the_first_k_is_told_so(tenant: Namespace):
    found = traced(tenant, "Knead the dough", k=1)
    assert (found.outcome, found.position) == ("beyond_k", None)
    assert stage(found, "fused").rank > 1
    assert found.stages[-1] == stage(found, "diversified")
    assert stage(found, "diversified").verdict == "out"


def test_a_chunk_without_the_phrase_or_below_a_threshold_is_told_so(tenant: Namespace):
    found = traced(tenant, "Knead the dough", query='"forty metres"')
    assert found.outcome == "query_syntax"
    assert stage(found, "fused").verdict == "out"
    weak = traced(tenant, "Knead the dough", thresholds=(("fused", 0.9),))
    assert weak.outcome == "threshold: fused"
    assert stage(weak, "thresholds").verdict == "out"


def test_a_chunk_without_room_in_the_budget_is_told_so(tenant: Namespace):
    found = traced(tenant, "Knead the dough", token_budget=45)
    assert found.outcome == "token_budget"
    assert stage(found, "budget").verdict == "out"


def test_a_repeated_passage_is_told_so(tenant: Namespace, api: Api, work: Callable[[], int]):
    body = "The tower is made of granite and stands forty metres above the rock, as before."
    api.upload(("copy-a.txt", body), ("copy-b.txt", body + "\n"))
    work()
    with namespace(tenant.pk):
        copies = list(Chunk.objects.filter(content__contains="as before"))
    assert len(copies) == 2
    request = SearchRequest(query=QUESTION)
    found = {one.outcome: one for one in (trace(tenant.pk, c.pk, request) for c in copies)}
    assert set(found) == {"hit", "duplicate"}
    shown = found["hit"].position
    expected = f"Its content is nearly that of passage {shown}, which is shown instead."
    assert found["duplicate"].sentence == expected


def test_a_chunk_that_was_no_candidate_has_its_own_scores_and_its_distance(
    tenant: Namespace, settings: Any
):
    settings.SEARCH = {**settings.SEARCH, "candidates": 1}
    found = traced(tenant, "Fishing boats", k=1, query="how many metres does the granite stand")
    assert (found.outcome, found.position) == ("not_a_candidate", None)
    dense = stage(found, "dense")
    assert dense.verdict == "out"
    assert dense.score < dense.cut
    assert 1 < dense.rank <= dense.of
    lexical = stage(found, "lexical")
    assert lexical.verdict == "out"
    assert lexical.score < (lexical.cut or 1.0)


def test_a_chunk_of_another_profile_is_told_so(tenant: Namespace, small_profile: IndexProfile):
    chunk = chunk_with(tenant, "forty metres")
    with operator():
        Namespace.objects.filter(pk=tenant.pk).update(active_profile=small_profile)
    found = trace(tenant.pk, chunk.pk, SearchRequest(query=QUESTION))
    assert found.outcome == "other_profile"
    assert found.stages == ()


def test_a_chunk_of_another_namespace_is_not_traced(tenant: Namespace, other_tenant: Namespace):
    chunk = chunk_with(tenant, "forty metres")
    with pytest.raises(Chunk.DoesNotExist):
        trace(other_tenant.pk, chunk.pk, SearchRequest(query=QUESTION))
    with pytest.raises(Chunk.DoesNotExist):
        nearest(other_tenant.pk, chunk.pk)


# -- neighbours, and the pages -------------------------------------------------------------------


def test_neighbours_come_nearest_first_and_repeats_are_marked(
    tenant: Namespace, api: Api, work: Callable[[], int]
):
    body = "Knead the dough for ten minutes and let it rest.\n\nBake it at 220 degrees. "
    api.upload(("again.txt", body))
    work()
    chunk = chunk_with(tenant, "Knead the dough")
    found = nearest(tenant.pk, chunk.pk, limit=3)
    assert len(found) == 3
    assert chunk.pk not in {each.chunk_id for each in found}
    assert [each.similarity for each in found] == sorted(
        (each.similarity for each in found), reverse=True
    )
    assert [each.repeats for each in found] == [True, False, False]


def address(page: str, *args: object) -> str:
    return reverse(f"admin:documents_chunk_{page}", args=args)


def test_the_list_names_chunks_by_document_and_section_without_reading_vectors(
    tenant: Namespace, boss: Client
):
    with CaptureQueriesContext(connections["operator"]) as captured:
        page = boss.get(address("changelist"))
    assert "The Lighthouse" in page.text
    assert "Building" in page.text
    assert not [query for query in captured if '"embedding"' in query["sql"]]
    counts = [query["sql"] for query in captured if "COUNT(" in query["sql"]]
    assert all("LIMIT" in sql for sql in counts)
    assert len(captured) <= 12
    assert boss.get(f"{address('changelist')}?q=dough").context["cl"].result_count == 1
    chunk = chunk_with(tenant, "Knead the dough")
    assert boss.get(f"{address('changelist')}?q={chunk.pk}").context["cl"].result_count == 1
    assert "No chunk matches" in boss.get(f"{address('changelist')}?q=zeppelin").text


def test_the_page_answers_why(tenant: Namespace, boss: Client, onlooker: Client):
    chunk = chunk_with(tenant, "forty metres")
    here = address("change", chunk.pk)
    page = boss.get(here)
    assert "256 dimensions" in page.text
    assert "Nearest chunks" in page.text
    asked = onlooker.get(here, {"question": QUESTION})
    assert "Found: it is passage 1." in asked.text
    other = boss.get(
        address("change", chunk_with(tenant, "Knead").pk), {"question": QUESTION, "k": 1}
    )
    assert re.search(r"Others came first", other.text)
    assert "reranker" in boss.get(here, {"question": "x", "rerank": "remote"}).text
    assert boss.get(here, {"question": ""}).status_code == 200
