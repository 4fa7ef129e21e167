"""Splitting by example: what a reader expects of the passages of small documents."""

from collections.abc import Sequence
from itertools import pairwise

import pytest

from documents.chunking.base import StructureSplitter
from documents.embedders.hashing import HashingEmbedder
from documents.extractors import extractor_for
from documents.passages import Block, Extracted, Passage

count_tokens = HashingEmbedder().count_tokens


def split(source: str, *, size: int = 20, overlap: int = 0, limit: int = 30) -> list[Passage]:
    extracted = extractor_for("text/markdown").extract(source.encode())
    splitter = StructureSplitter(count_tokens, size=size, overlap=overlap, limit=limit)
    return splitter.split(extracted)


def texts(source: str, **sizes: int) -> list[str]:
    return [passage.text for passage in split(source, **sizes)]


def words(number: int, word: str = "word") -> str:
    """A sentence of so many tokens, its full stop included."""
    return " ".join([word.capitalize(), *[word] * (number - 2)]) + "."


@pytest.mark.parametrize(
    "sizes",
    [
        {"size": 0, "overlap": 0, "limit": 10},
        {"size": 11, "overlap": 0, "limit": 10},
        {"size": 10, "overlap": 5, "limit": 10},
        {"size": 10, "overlap": -1, "limit": 10},
    ],
)
def test_sizes_that_make_no_sense_are_refused(sizes: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must be from"):
        StructureSplitter(count_tokens, **sizes)


def test_a_passage_says_where_it_is_and_what_it_costs() -> None:
    assert split("# Title\n\nSome words.\n") == [
        Passage("# Title\n\nSome words.", 0, 20, tokens=5, heading_path=("Title",))
    ]


def test_blank_text_has_no_passages() -> None:
    splitter = StructureSplitter(count_tokens, size=5, overlap=0, limit=5)
    assert splitter.split(Extracted(text=" \n ")) == []


def test_text_without_blocks_is_split_by_its_paragraphs() -> None:
    splitter = StructureSplitter(count_tokens, size=5, overlap=0, limit=5)
    extracted = Extracted(text="one two three\n\nfour five six\n")
    assert [passage.text for passage in splitter.split(extracted)] == [
        "one two three",
        "four five six",
    ]


def test_text_between_blocks_is_not_lost() -> None:
    text = "before\n\nblock\n\nafter"
    splitter = StructureSplitter(count_tokens, size=5, overlap=0, limit=5)
    (passage,) = splitter.split(Extracted(text, blocks=(Block("text", 8, 13),)))
    assert passage.text == text


def test_no_passage_crosses_a_heading() -> None:
    passages = split("Before.\n\n# A\n\nOne.\n\n## B\n\nTwo.\n\n# C\n\nThree.")
    assert [(passage.text, passage.section) for passage in passages] == [
        ("Before.", ""),
        ("# A\n\nOne.", "A"),
        ("## B\n\nTwo.", "A > B"),
        ("# C\n\nThree.", "C"),
    ]


def test_levels_may_be_skipped_and_come_back() -> None:
    source = "# A\n\n1\n\n#### B\n\n2\n\n## C\n\n3\n\n### D\n\n4\n\n###\n\n5\n\n# E\n\n6"
    assert [passage.heading_path for passage in split(source)] == [
        ("A",),
        ("A", "B"),
        ("A", "C"),
        ("A", "C", "D"),
        ("A", "C"),
        ("E",),
    ]


def test_a_heading_without_a_body_joins_the_next_section() -> None:
    assert [
        (p.text, p.heading_path) for p in split("# A\n\n## B\n\nText.\n\n## C\n\n# D\n\nEnd.")
    ] == [
        ("# A\n\n## B\n\nText.", ("A", "B")),
        ("## C\n\n# D\n\nEnd.", ("D",)),
    ]


def test_headings_at_the_end_are_a_passage_of_their_own() -> None:
    assert texts("Text.\n\n# A\n\n## B") == ["Text.", "# A\n\n## B"]


def test_more_bare_headings_than_fit_are_cut_between_headings() -> None:
    passages = split("\n".join(f"# Heading {n}" for n in range(20)))
    assert len(passages) > 2
    for passage in passages:
        assert passage.text.startswith("# Heading")
        assert passage.heading_path == (passage.text.splitlines()[-1][2:],)


def test_a_heading_is_never_left_alone_above_its_text() -> None:
    for length in range(15, 60):
        first = split(f"# A heading\n\n{words(10)} {words(length - 10)}")[0]
        assert first.text.startswith("# A heading\n\nWord")


def test_a_rule_between_code_and_a_heading_makes_no_passage() -> None:
    assert texts("```\nx\n```\n\n---\n\n# A\n\nText.") == ["```\nx\n```", "---\n\n# A\n\nText."]


CODE = "```python\nprint(1)\n```"
TABLE = "| a | b |\n|---|---|\n| c | d |"


def test_code_and_tables_are_passages_of_their_own() -> None:
    passages = split(
        f"# A\n\nIntro.\n\n{CODE}\n\nBetween,\nwhich has two lines.\n\n{TABLE}\n\nEnd.", limit=60
    )
    assert [(passage.kind, passage.text, passage.language) for passage in passages] == [
        ("text", "# A\n\nIntro.", ""),
        ("code", CODE, "python"),
        ("text", "Between,\nwhich has two lines.", ""),
        ("table", TABLE, ""),
        ("text", "End.", ""),
    ]
    assert {passage.heading_path for passage in passages} == {("A",)}
    assert {passage.part for passage in passages} == {0}


def test_code_stays_whole_beyond_the_size_up_to_the_limit() -> None:
    code = "```\n" + "a b c d\n\n" * 5 + "```"
    assert texts(f"{words(19)}\n\n{code}") == [words(19), code]
    assert split(code)[0].tokens == 26


def test_a_bare_heading_goes_with_its_code() -> None:
    assert texts(f"# A\n\n## B\n\n{CODE}") == [f"# A\n\n## B\n\n{CODE}"]


def test_a_bare_heading_stays_apart_where_the_code_would_not_fit_with_it() -> None:
    code = "```\n" + "a b c d\n" * 5 + "```"
    passages = split(f"# One two three four\n\n{code}")
    assert [(passage.kind, passage.part) for passage in passages] == [("text", 0), ("code", 0)]
    assert passages[1].text == code


def test_a_caption_between_code_blocks_goes_with_the_code_below_it() -> None:
    assert texts(f"{CODE}\n\nAnd then:\n\n{CODE}", limit=40) == [CODE, f"And then:\n\n{CODE}"]


def test_code_beyond_the_limit_is_cut_at_line_ends_in_numbered_parts() -> None:
    lines = [f"a{n} = b + c" for n in range(20)]
    passages = split("# A\n\n```py\n" + "\n".join(lines) + "\n```")
    assert [passage.part for passage in passages] == list(range(1, len(passages) + 1))
    assert {(passage.kind, passage.language) for passage in passages} == {("code", "py")}
    assert passages[0].text.startswith("# A\n\n```py\na0")
    rest = [line for passage in passages for line in passage.text.split("\n") if " = " in line]
    assert rest == lines


def test_code_is_cut_at_blank_lines_rather_than_inside_a_group() -> None:
    group = "a b c d\na b c d\na b c d\n"
    passages = split(f"```\n{group}\n{group}\n{group}\n{group}```")
    assert [passage.text.count("a b c d") for passage in passages] == [3, 3, 3, 3]


def test_a_table_row_too_long_for_a_passage_is_cut_inside() -> None:
    row = "| " + "word " * 100 + "|"
    passages = split(f"| a |\n|---|\n{row}")
    assert {passage.kind for passage in passages} == {"table"}
    assert all(passage.tokens <= 30 for passage in passages)


def test_whole_paragraphs_are_packed_while_they_fit() -> None:
    one, two, three = words(8, "one"), words(9, "two"), words(10, "three")
    assert texts(f"{one}\n\n{two}\n\n{three}") == [f"{one}\n\n{two}", three]


def test_a_paragraph_that_fits_alone_is_not_cut() -> None:
    one, two = words(12, "one"), words(9, "two")
    assert texts(f"{one}\n\n{two} {two}") == [one, f"{two} {two}"]


def test_a_large_paragraph_is_cut_at_sentence_ends() -> None:
    sentences = [words(9, f"w{n}") for n in range(6)]
    assert texts(" ".join(sentences)) == [
        " ".join(sentences[0:2]),
        " ".join(sentences[2:4]),
        " ".join(sentences[4:6]),
    ]


def test_a_large_sentence_is_cut_between_words() -> None:
    passages = texts(words(100, "elephant"))
    assert len(passages) > 4
    assert set(" ".join(passages).lower().strip(".").split()) == {"elephant"}


def test_a_large_word_is_cut_between_graphemes() -> None:
    family = "👩‍👩‍👧‍👦"
    passages = texts(family * 100)
    assert "".join(passages) == family * 100
    assert {passage.replace(family, "") for passage in passages} == {""}


def test_a_list_is_cut_between_its_items() -> None:
    items = [f"- item {n} has\n  a second line" for n in range(6)]
    passages = texts("\n".join(items))
    assert [passage.split("\n- ")[0][:6] for passage in passages] == ["- item"] * len(passages)
    assert "\n".join(passages) == "\n".join(items)


def test_a_large_item_is_cut_at_sentences_before_lines() -> None:
    sentence = words(9).replace(" word.", "\n  word.")
    assert texts(f"- {sentence} {sentence} {sentence} {sentence}") == [
        f"- {sentence} {sentence}",
        f"{sentence} {sentence}",
    ]


def test_a_tiny_rest_joins_the_passage_before_it() -> None:
    sentence = words(10)
    assert texts(f"{sentence} {sentence}\n\nTiny.") == [f"{sentence} {sentence}\n\nTiny."]
    assert len(texts(f"{sentence} {sentence}\n\nTiny.", limit=20)) == 2


def test_a_tiny_start_is_filled_up_rather_than_left() -> None:
    assert texts(f"Tiny.\n\n{words(19)}") == [f"Tiny.\n\n{words(19)}"]
    paragraph = f"{words(10)} {words(10)}"
    assert texts(f"Tiny.\n\n{paragraph}") == [f"Tiny.\n\n{paragraph}"]


def test_a_model_that_reads_much_does_not_make_a_tiny_start_grow_beyond_the_size() -> None:
    sentence = words(10)
    passages = split(f"# A\n\n{' '.join([sentence] * 12)}", limit=2000)
    assert [passage.tokens for passage in passages] == [12, *[20] * 5, 10]


def test_lines_too_long_to_be_wrapped_by_hand_are_paragraphs() -> None:
    one, two = f"{words(9)} {words(9)}", f"{words(8)} {words(7, 'elephantine' * 2)}"
    assert texts(f"= Title =\n{one}\n{two}") == [f"= Title =\n{one}", two]
    assert texts("A line\nof words.\nAnd one\nmore here.") == [
        "A line\nof words.\nAnd one\nmore here."
    ]


def test_a_well_filled_passage_takes_no_first_sentence_of_a_large_paragraph() -> None:
    start, sentence = words(12, "start"), words(6)
    assert texts(f"{start}\n\n" + " ".join([sentence] * 6))[0] == start
    assert texts("Some words here.\n\n" + " ".join([sentence] * 6))[0].count("\n\n") == 1


def test_a_passage_begins_with_the_last_sentences_of_the_one_before() -> None:
    a, b, c, d = words(9, "apple"), words(4, "berry"), words(4, "cherry"), words(10, "date")
    assert texts(f"{a} {b} {c} {d}", overlap=9) == [f"{a} {b} {c}", f"{b} {c} {d}"]
    assert texts(f"{a} {b} {c} {d}", overlap=7) == [f"{a} {b} {c}", f"{c} {d}"]


def test_a_sentence_longer_than_the_overlap_is_not_repeated() -> None:
    one, two, three = words(9, "one"), words(10, "two"), words(9, "three")
    assert texts(f"{one} {two} {three}", overlap=9) == [f"{one} {two}", three]


def test_overlap_does_not_push_out_a_paragraph_that_fits_alone() -> None:
    one, two, three = words(12, "one"), words(7, "two"), words(18, "three")
    assert texts(f"{one} {two}\n\n{three}", overlap=9) == [f"{one} {two}", three]


def test_nothing_is_repeated_across_headings_or_code() -> None:
    source = f"One. Two.\n\n{CODE}\n\nThree and\nfour. Five.\n\n# A\n\nSix."
    passages = split(source, overlap=9)
    for before, after in pairwise(passages):
        assert before.end <= after.start


def test_a_heading_is_not_repeated() -> None:
    a, b = words(9, "apple"), words(11, "berry")
    assert texts(f"# H\n\n{a} {b}", overlap=9, limit=20) == [f"# H\n\n{a}", f"{a} {b}"]
    bare, long = "# One two\n\n## Three four", words(16)
    assert texts(f"{bare}\n\n{long}", overlap=9, limit=20) == [bare, long]


def test_parts_of_a_sentence_are_not_repeated() -> None:
    passages = split(words(200), overlap=9)
    for before, after in pairwise(passages):
        assert before.end <= after.start


def test_starts_increase_even_where_a_passage_must_be_halved() -> None:
    def dear_together(texts: Sequence[str]) -> list[int]:
        return [len(t.split()) + 20 * ("big" in t and t.count("Small") > 2) for t in texts]

    text = "Big big big big big big. " + "Small. " * 14
    splitter = StructureSplitter(dear_together, size=12, overlap=5, limit=12)
    passages = splitter.split(Extracted(text))
    assert all(passage.tokens <= 12 for passage in passages)
    assert all(before.start < after.start for before, after in pairwise(passages))
