"""The other chunkers by law: what must hold for any text, any sizes, and either tokenizer."""

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from documents.chunking.base import Splitter
from documents.chunking.fixed import FixedSplitter
from documents.chunking.semantic import SemanticSplitter
from documents.chunking.sizes import CountTokens
from documents.embedders.hashing import HashingEmbedder
from documents.errors import EmptyFile, NoText
from documents.extractors import extractor_for
from documents.passages import Extracted, Page, Passage

from ..linear_time import assert_grows_linearly
from .test_splitting_properties import COUNTERS, MARKDOWN, RARELY_SLOW, by_model, by_words

embed = HashingEmbedder().embed_documents
any_text = settings(max_examples=200, deadline=None, suppress_health_check=RARELY_SLOW)


def read(source: str, *, kind: str = "markdown") -> Extracted:
    try:
        return extractor_for(f"text/{kind}").extract(source.encode("utf-8", "replace"))
    except (EmptyFile, NoText):
        return Extracted("")


def check(splitter: Splitter, extracted: Extracted, count: CountTokens) -> list[Passage]:
    passages = splitter.split(extracted)
    text, done = extracted.text, 0
    for passage in passages:
        assert text[passage.start : passage.end] == passage.text
        assert passage.text == passage.text.strip() != ""
        assert not text[done : passage.start].strip()
        done = passage.end
        # One character may be several tokens, and cannot be cut.
        assert passage.tokens <= splitter.sizes.limit or len(passage.text) == 1
    assert not text[done:].strip()
    assert [passage.tokens for passage in passages] == count([p.text for p in passages])
    for before, after in pairwise(passages):
        assert before.start < after.start
        assert before.end < after.end
        if after.start < before.end:
            assert before.kind == after.kind == "text"
            assert before.heading_path == after.heading_path
    assert splitter.split(extracted) == passages
    return passages


@any_text
@given(
    st.one_of(MARKDOWN, st.text(max_size=400)),
    COUNTERS,
    st.integers(1, 200),
    st.integers(0, 99),
    st.integers(4, 60),
)
def test_the_laws_hold_for_fixed_chunks(
    source: str, count: CountTokens, size: int, percent: int, limit: int
) -> None:
    overlap = max(0, size - 1) // 2 * percent // 100
    splitter = FixedSplitter(count, size=size, overlap=overlap, limit=limit)
    extracted = read(source)
    passages = check(splitter, extracted, count)
    for passage in passages:
        # A word, or a grapheme, may be longer than a chunk.
        grain = max(len(word) for word in passage.text.split())
        assert passage.kind != "text" or len(passage.text) <= max(size, grain)
    for before, after in pairwise(passages):
        assert before.end - after.start <= overlap


@any_text
@given(
    st.one_of(MARKDOWN, st.text(max_size=400)),
    COUNTERS,
    st.integers(4, 60),
    st.integers(0, 20),
    st.integers(1, 99),
)
def test_the_laws_hold_for_semantic_chunks(
    source: str, count: CountTokens, size: int, more: int, percentile: int
) -> None:
    splitter = SemanticSplitter(count, embed, size=size, limit=size + more, percentile=percentile)
    for before, after in pairwise(check(splitter, read(source), count)):
        assert before.end <= after.start


FIXED = FixedSplitter(by_model, size=1000, overlap=200, limit=254)
SEMANTIC = SemanticSplitter(by_model, embed, size=200, limit=254)
both = pytest.mark.parametrize("splitter", [FIXED, SEMANTIC], ids=["fixed", "semantic"])


@both
@pytest.mark.parametrize(
    "source",
    [
        "a" * 20_000,
        "東京に行った。とても楽しかった。" * 300,
        "👩‍👩‍👧‍👦🇩🇪" * 600,
        "https://example.com/" + "path/" * 2000,
        "\u0001\u0002" * 3000,
        "```\n" + "x" * 9000 + "\n" + "y = 1\n" * 900 + "```",
        "word " * 3000 + "\n\n# H\n\n" + "- item\n" * 900,
    ],
)
def test_the_laws_hold_for_words_no_tokenizer_likes(splitter: Splitter, source: str) -> None:
    assert check(splitter, read(source), by_model)


@both
def test_no_chunk_leaves_its_page_or_section(splitter: Splitter) -> None:
    sentence = "It is a fine day on the coast, they said. "
    text = sentence * 60
    middle = len(sentence) * 31 + 7
    pages = (Page(1, 0, middle), Page(2, middle, len(text)))
    for passage in splitter.split(Extracted(text, pages=pages)):
        assert passage.end <= middle or passage.start >= middle
    source = f"# A\n\n{text}\n\n## B\n\n{text}"
    paths = [passage.heading_path for passage in splitter.split(read(source))]
    assert sorted(set(paths)) == [("A",), ("A", "B")]
    assert paths == sorted(paths)


@both
def test_code_and_tables_stay_whole(splitter: Splitter) -> None:
    code = "```py\n" + "x = 1\n" * 30 + "```"
    table = "| a | b |\n|---|---|\n" + "| c | d |\n" * 12
    passages = splitter.split(read(f"Before.\n\n{code}\n\nBetween, in\ntwo lines.\n\n{table}"))
    kinds = [(passage.kind, passage.text) for passage in passages if passage.kind != "text"]
    assert kinds == [("code", code), ("table", table.strip())]


@both
@pytest.mark.parametrize("unit", ["It is a fine day, they said. ", "word "])
def test_a_megabyte_in_one_line_takes_linear_time(splitter: Splitter, unit: str) -> None:
    def split(text: str) -> None:
        assert splitter.split(read(text, kind="plain"))

    quarter = unit * (250_000 // len(unit))
    assert_grows_linearly(split, quarter, quarter * 4)


def test_fixed_chunks_are_even_and_overlap_by_whole_words() -> None:
    text = " ".join(f"word{n:04}" for n in range(1000))
    splitter = FixedSplitter(by_words, size=1000, overlap=200, limit=254)
    passages = splitter.split(Extracted(text))
    for before, after in pairwise(passages):
        assert 960 <= len(before.text) <= 1000
        assert 160 <= before.end - after.start <= 200
        assert after.text.startswith("word")


def test_a_semantic_chunk_ends_where_the_subject_turns() -> None:
    kiln = "The hot kiln glows. The hot kiln cools. The hot kiln stands. "
    leave = "Paid leave lapses now. Paid leave begins now. Paid leave ends now."
    splitter = SemanticSplitter(by_words, embed, size=40, limit=60, percentile=80)
    passages = splitter.split(Extracted(kiln + leave))
    assert [passage.text for passage in passages] == [kiln.strip(), leave]


def test_a_semantic_chunk_too_large_is_cut_at_its_widest_turn() -> None:
    kiln = "The hot kiln glows. The hot kiln cools. The hot kiln stands. "
    leave = "Paid leave lapses now. Paid leave begins now. Paid leave ends now."
    splitter = SemanticSplitter(by_words, embed, size=20, limit=30, percentile=99)
    passages = splitter.split(Extracted(kiln + leave))
    assert [passage.text for passage in passages] == [kiln.strip(), leave]


@pytest.mark.parametrize(
    "make",
    [
        lambda: FixedSplitter(by_words, size=0, overlap=0, limit=9),
        lambda: FixedSplitter(by_words, size=100, overlap=50, limit=9),
        lambda: SemanticSplitter(by_words, embed, size=10, limit=9),
        lambda: SemanticSplitter(by_words, embed, size=9, limit=9, percentile=100),
    ],
)
def test_sizes_that_make_no_sense_are_refused(make: Callable[[], Splitter]) -> None:
    with pytest.raises(ValueError, match="must be from"):
        make()
