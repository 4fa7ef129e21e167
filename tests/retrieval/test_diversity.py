"""Not ten times the same: twins, neighbours, crowds and MMR."""

import uuid
from dataclasses import fields
from itertools import combinations

import numpy as np

from retrieval.context.near_duplicates import NearDuplicates
from retrieval.ranking.diversity import Budget, diversify
from retrieval.requests import Candidate
from retrieval.stored_chunk import StoredChunk

Scene = tuple[list[Candidate], dict[uuid.UUID, StoredChunk], dict[uuid.UUID, np.ndarray]]

GIVEN = {"version_id", "ordinal", "kind", "section", "page", "start", "end", "words_hash", "tokens"}
REST = [field.name for field in fields(StoredChunk) if field.name not in GIVEN]


def scene(*wishes: dict) -> Scene:
    """Candidates in the order given, the best first; each row says what is special about it."""
    candidates, rows, vectors = [], {}, {}
    for n, row in enumerate(wishes):
        pk = uuid.UUID(int=n + 1)
        document = uuid.UUID(int=1000 + row.get("document", n))
        candidates.append(Candidate(pk, document, fused=1 - n / 10))
        ordinal = row.get("ordinal", 10 * n)
        stored = {
            "version_id": row.get("version", uuid.UUID(int=2000 + row.get("document", n))),
            "ordinal": ordinal,
            "kind": row.get("kind", "text"),
            "section": row.get("section", ""),
            "page": row.get("page"),
            "start": 100 * ordinal,
            "end": 100 * ordinal + 120,
            "words_hash": row.get("words", n),
            "tokens": row.get("tokens", 100),
        }
        rows[pk] = StoredChunk(**dict.fromkeys(REST, ""), **stored)
        vectors[pk] = np.array(row.get("vector", np.eye(8)[n]), dtype=np.float32)
    return candidates, rows, vectors


def lonely(chunk_id: uuid.UUID, among: object) -> bool:
    return False


def picked(scene: Scene, **options: object) -> tuple[list[int], list[str]]:
    settings = {"k": 10, "max_per_document": 9, "mmr_lambda": 1.0, "has_duplicate": lonely}
    settings = settings | {"budget": Budget(10_000)} | options
    candidates, rows, vectors = scene
    picks, dropped = diversify(candidates, rows, vectors=vectors, **settings)
    return (
        [pick.candidate.chunk_id.int - 1 for pick in picks],
        [f"{c.chunk_id.int - 1}: {c.dropped}" for c in dropped],
    )


def test_of_twins_only_the_better_stays():
    told = scene({"words": 5}, {"words": 5}, {})
    assert picked(told, has_duplicate=NearDuplicates(*told).any_among) == ([0, 2], ["1: duplicate"])


def test_the_same_words_are_twins_whatever_their_vectors():
    candidates, rows, vectors = scene({"words": 5}, {"words": 5}, {"words": 5}, {})
    twins = NearDuplicates(candidates, rows, vectors)
    pairs = combinations([candidate.chunk_id for candidate in candidates], 2)
    alike = [twins.any_among(one, {other}) for one, other in pairs]
    assert alike == [True, True, False, True, False, False]


def test_neighbours_of_one_section_become_one_passage():
    candidates, rows, vectors = scene(
        {"document": 1, "ordinal": 4}, {"document": 1, "ordinal": 5}, {"document": 1, "ordinal": 8}
    )
    picks, _ = diversify(
        candidates,
        rows,
        has_duplicate=lonely,
        vectors=vectors,
        k=10,
        max_per_document=2,
        mmr_lambda=1.0,
        budget=Budget(10_000),
    )
    assert [(pick.start, pick.end, len(pick.merged)) for pick in picks] == [
        (400, 620, 1),
        (800, 920, 0),
    ]


def test_a_table_reads_on_with_the_text_beside_it():
    scored = scene({"document": 1, "ordinal": 4}, {"document": 1, "ordinal": 5, "kind": "table"})
    assert picked(scored)[0] == [0]


def test_neighbours_of_other_sections_or_pages_stay_apart():
    for other in ({"section": "B"}, {"page": 2}):
        scored = scene({"document": 1, "ordinal": 4}, {"document": 1, "ordinal": 5} | other)
        assert picked(scored)[0] == [0, 1]


def test_a_merged_passage_does_not_grow_without_end():
    scored = scene(*({"document": 1, "ordinal": n} for n in range(5)))
    kept, dropped = picked(scored, max_per_document=1)
    assert kept == [0]
    assert dropped == ["3: max_per_document", "4: max_per_document"]


def test_what_comes_after_k_is_not_there():
    assert picked(scene({}, {}, {}), k=2) == ([0, 1], [])


def test_a_lower_lambda_prefers_what_is_unlike():
    alike = [0.9, 0.436] + [0.0] * 6
    scored = scene({}, {"vector": alike}, {})
    assert picked(scored, k=2)[0] == [0, 1]
    assert picked(scored, k=2, mmr_lambda=0.3)[0] == [0, 2]


def test_a_document_that_is_there_gives_way_to_another_that_is_nearly_as_good():
    crowd = [{"document": 1, "section": str(n)} for n in range(4)]
    candidates, rows, vectors = scene(*crowd, {"document": 2})
    for candidate, score in zip(candidates, (1.0, 0.99, 0.98, 0.97, 0.9), strict=True):
        candidate.fused = score
    given = candidates, rows, vectors
    assert picked(given, max_per_document=None)[0] == [0, 1, 4, 2, 3]
    assert picked(given, max_per_document=None, k=2)[0] == [0, 1]


def test_a_crowd_of_one_document_fills_k_where_nothing_else_is_near():
    crowd = [{"document": 1, "section": str(n)} for n in range(4)]
    assert picked(scene(*crowd), max_per_document=None)[0] == [0, 1, 2, 3]


def test_another_page_goes_before_more_of_the_same():
    scored = scene(
        {"document": 1, "page": 3, "section": "A"},
        {"document": 1, "page": 3, "section": "B"},
        {"document": 1, "page": 9},
    )
    candidates = scored[0]
    for candidate, score in zip(candidates, (1.0, 0.9, 0.8), strict=True):
        candidate.fused = score
    assert picked(scored, max_per_document=None)[0] == [0, 2, 1]


def test_a_report_may_answer_from_many_pages():
    pages = [{"document": 1, "page": n} for n in range(1, 5)]
    candidates, rows, vectors = scene(*pages, {"document": 2})
    for candidate, score in zip(candidates, (1.0, 0.99, 0.98, 0.97, 0.96), strict=True):
        candidate.fused = score
    assert picked((candidates, rows, vectors), max_per_document=None)[0] == [0, 1, 2, 3, 4]


def test_a_neighbour_joins_only_while_the_budget_lasts():
    wishes = [{"document": 1, "ordinal": 4}, {"document": 2}, {"document": 1, "ordinal": 5}]
    assert picked(scene(*wishes), budget=Budget(300)) == ([0, 1], [])
    assert picked(scene(*wishes), budget=Budget(250)) == ([0, 1], ["2: token_budget"])


def test_what_stands_above_a_passage_is_paid_for_too():
    candidates, rows, vectors = scene({}, {})
    overheads = {candidate.chunk_id: 20 for candidate in candidates}
    given = candidates, rows, vectors
    assert picked(given, budget=Budget(230, overheads.__getitem__)) == ([0], ["1: token_budget"])
    assert picked(given, budget=Budget(240, overheads.__getitem__)) == ([0, 1], [])
