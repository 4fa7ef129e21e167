"""Passages of a conversation by law: every turn in at least one, every span exact."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from documents.chunking.turns import TurnSplitter, is_transcript
from documents.passages import Block, Extracted

from .test_splitting_properties import RARELY_SLOW, by_words

WORDS = st.lists(st.sampled_from(["ja", "nein", "a b c", "ü" * 30, "x\ny"]), max_size=30)


def conversation(contents: list[str]) -> Extracted:
    blocks, pieces, position = [], [], 0
    for number, content in enumerate(contents):
        piece = f"Ada: {content}"
        turn = {"turn": str(number), "speaker": "Ada", "role": "user", "at": "2026-01-01T00:00:00Z"}
        blocks.append(Block("text", position, position + len(piece), attributes=turn))
        pieces.append(piece)
        position += len(piece) + 1
    return Extracted("\n".join(pieces), tuple(blocks))


@settings(max_examples=200, deadline=None, suppress_health_check=RARELY_SLOW)
@given(
    st.lists(WORDS.map(" ".join), max_size=40),
    st.integers(1, 30),
    st.integers(1, 8).flatmap(lambda turns: st.tuples(st.just(turns), st.integers(1, turns))),
)
def test_every_turn_is_in_a_passage_and_every_span_slices_back(
    contents: list[str], limit: int, sizes: tuple[int, int]
) -> None:
    turns, stride = sizes
    extracted = conversation(contents)
    splitter = TurnSplitter(by_words, limit=limit, turns=turns, stride=stride)
    passages = splitter.split(extracted)
    assert is_transcript(extracted) == bool(contents)
    covered = [0] * len(extracted.text)
    for passage in passages:
        assert extracted.text[passage.start : passage.end] == passage.text
        assert passage.tokens <= limit or len(passage.text.split()) == 1
        for place in range(passage.start, passage.end):
            covered[place] += 1
        for turn in passage.attributes["turns"]:
            block = extracted.blocks[int(turn["turn"])]
            assert (turn["start"], turn["end"]) == (block.start, block.end)
            assert block.start < passage.end
            assert block.end > passage.start
    for block in extracted.blocks:
        assert all(covered[block.start : block.end])
    for before, after in pairwise(passages):
        assert before.start < after.start
        assert before.end < after.end


def test_adding_turns_changes_no_earlier_window() -> None:
    contents = [f"turn {number} says something" for number in range(30)]
    splitter = TurnSplitter(by_words, limit=100, turns=6, stride=3)
    before = [passage.text for passage in splitter.split(conversation(contents[:20]))]
    after = [passage.text for passage in splitter.split(conversation(contents))]
    assert after[: len(before) - 1] == before[:-1]
    assert len(after) > len(before)


def test_a_stride_beyond_the_window_would_leave_turns_out() -> None:
    with pytest.raises(ValueError, match="stride"):
        TurnSplitter(by_words, limit=100, turns=3, stride=4)
