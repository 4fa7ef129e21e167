"""One order out of two, by ranks or by scores."""

import uuid
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents.passages import CONVERSATION
from retrieval.candidates.scoring import union
from retrieval.ranking import fusion
from retrieval.ranking.fusion import NEIGHBOURS, SUPPORT, supported, weighted
from retrieval.ranking.vectors import Vector
from retrieval.requests import Candidate, Filters, SearchRequest

IDS = [uuid.UUID(int=n) for n in range(1, 9)]
DOCUMENT = uuid.UUID(int=99)


def near(*numbers: int) -> list[Candidate]:
    return [
        Candidate(IDS[n], DOCUMENT, similarity=1 - rank / 10, similarity_rank=rank)
        for rank, n in enumerate(numbers, start=1)
    ]


def wordy(*numbers: int) -> list[Candidate]:
    return [
        Candidate(IDS[n], DOCUMENT, lexical=5.0 - rank, lexical_rank=rank)
        for rank, n in enumerate(numbers, start=1)
    ]


def rrf(candidates: list[Candidate]) -> list[Candidate]:
    return fusion.rrf(candidates, k=60)


def order(candidates: list[Candidate]) -> list[int]:
    return [IDS.index(c.chunk_id) for c in candidates]


def test_a_chunk_found_by_both_legs_beats_the_best_of_either():
    fused = rrf(union(near(0, 1), wordy(2, 1)))
    assert order(fused) == [1, 0, 2]
    assert fused[0].fused == pytest.approx(1 / 62 + 1 / 62)
    assert [c.fused_rank for c in fused] == [1, 2, 3]


def test_the_union_holds_each_chunk_once_with_both_opinions():
    (both,) = [c for c in union(near(0, 1), wordy(1)) if c.chunk_id == IDS[1]]
    assert (both.similarity_rank, both.lexical_rank) == (2, 1)
    assert len(union(near(0, 1), wordy(1))) == 2


def test_weights_decide_between_the_legs():
    candidates = union(near(0, 1, 2), wordy(2, 1, 0))
    assert order(weighted(candidates, semantic=1, lexical=0))[0] == 0
    assert order(weighted(candidates, semantic=0, lexical=1))[0] == 2


def test_a_chunk_missing_from_a_leg_counts_nothing_there():
    fused = {
        IDS.index(c.chunk_id): c.fused
        for c in weighted(union(near(0), wordy(1, 2)), semantic=0.5, lexical=0.5)
    }
    assert fused == pytest.approx({0: 0.5, 1: 0.5, 2: 0.0})


def test_no_candidates_fuse_to_none():
    assert rrf([]) == []
    assert weighted([], semantic=0.5, lexical=0.5) == []


permutations = st.permutations(range(6))


@given(permutations, permutations, permutations)
def test_the_order_of_the_candidates_does_not_matter(
    first: list[int], second: list[int], shuffled: list[int]
):
    candidates = union(near(*first), wordy(*second))
    for fuse in (rrf, lambda cs: weighted(cs, semantic=0.7, lexical=0.3)):
        assert fuse(candidates) == fuse([candidates[n] for n in shuffled])


@given(permutations, st.integers(1, 5))
def test_a_better_rank_never_lowers_the_place(ranks: list[int], position: int):
    candidates = rrf(near(*ranks))
    assert order(candidates) == ranks
    raised = [replace(c, lexical_rank=1) if n == position else c for n, c in enumerate(candidates)]
    assert order(rrf(raised)).index(ranks[position]) <= position


def test_weights_are_shares_so_scores_stay_between_nothing_and_one():
    fused = weighted(union(near(0, 1), wordy(0, 1)), semantic=0.9, lexical=0.9)
    assert [c.fused for c in fused] == [1.0, 0.0]
    assert (fused[0].similarity_normal, fused[0].lexical_normal) == (1.0, 1.0)


def test_a_smaller_k_lets_the_first_ranks_count_more():
    one_leg_first = fusion.rrf(union(near(0, 1, 2), wordy(3, 2, 1)), k=1)
    assert order(one_leg_first)[0] in (1, 2)
    assert fusion.rrf(near(0), k=1)[0].fused == 0.5


def fused_candidates(*scores: float) -> list[Candidate]:
    return [
        Candidate(uuid.UUID(int=n), DOCUMENT, fused=score)
        for n, score in enumerate(scores, start=1)
    ]


def around(angle: float, spread: float = 0.01) -> Vector:
    """A direction in the plane; those of one angle are neighbours."""
    turned = angle + spread
    return np.array([np.cos(turned), np.sin(turned)], dtype=np.float32)


# Eleven good ones lie together, eleven bad ones lie together; two of the same score join them.
GOOD, BAD = NEIGHBOURS + 1, NEIGHBOURS + 1
CROWD = (*[0.9] * GOOD, *[0.1] * BAD, 0.5, 0.5)
PLACES = [around(0, n / 1000) for n in range(GOOD)] + [around(1.5, n / 1000) for n in range(BAD)]
PLACES += [around(1.4), around(0.1)]


def crowd() -> tuple[list[Candidate], dict[uuid.UUID, Vector]]:
    candidates = fused_candidates(*CROWD)
    return candidates, {c.chunk_id: place for c, place in zip(candidates, PLACES, strict=True)}


def test_of_two_alike_the_one_among_better_ones_comes_first():
    candidates, vectors = crowd()
    among_bad, among_good = candidates[-2:]
    ranked = supported(candidates, vectors)
    assert ranked.index(among_good) < ranked.index(among_bad)
    assert among_good.support == pytest.approx(0.9)
    assert among_good.fused == pytest.approx((1 - SUPPORT) * 0.5 + SUPPORT * 0.9)
    assert among_bad.fused == pytest.approx((1 - SUPPORT) * 0.5 + SUPPORT * 0.1)
    assert [c.fused_rank for c in ranked] == list(range(1, len(ranked) + 1))


def test_overlapping_windows_of_a_conversation_do_not_support_each_other():
    candidates, vectors = crowd()
    for candidate in candidates:
        candidate.similarity = candidate.lexical = candidate.fused
    documents = SearchRequest("?")
    conversations = SearchRequest("?", filters=Filters(source_types=(CONVERSATION,)))
    for request, is_supported in ((documents, True), (conversations, False)):
        for candidate in candidates:
            candidate.support = None
        fused = fusion.fuse(candidates, vectors, request, has_similarities=True)
        assert all((c.support is not None) is is_supported for c in fused)


def test_where_all_are_neighbours_of_all_nobody_supports_anybody():
    candidates, vectors = crowd()
    few = candidates[-(NEIGHBOURS + 1) :]
    assert supported(few, vectors) == few
    assert {c.support for c in few} == {None}


def test_a_candidate_that_is_gone_keeps_its_own_score():
    candidates, vectors = crowd()
    gone = candidates[-1]
    del vectors[gone.chunk_id]
    assert gone in supported(candidates, vectors)
    assert (gone.fused, gone.support) == (0.5, None)


@given(st.lists(st.floats(0, 1), min_size=len(CROWD), max_size=len(CROWD)))
def test_supported_scores_stay_between_nothing_and_one(scores: list[float]):
    _, vectors = crowd()
    ranked = supported(fused_candidates(*scores), vectors)
    assert all(-1e-6 <= c.fused <= 1 + 1e-6 for c in ranked)
    assert [c.fused for c in ranked] == sorted((c.fused for c in ranked), reverse=True)
