"""No run and no passage leaves its page, while sections go on over pages."""

from itertools import accumulate

from hypothesis import given, settings
from hypothesis import strategies as st

from documents.chunking.base import StructureSplitter
from documents.chunking.sections import outline
from documents.embedders.hashing import HashingEmbedder
from documents.passages import Block, BlockKind, Extracted, Page

Piece = tuple[BlockKind, str]


def paged(*pages: list[Piece]) -> Extracted:
    """A text of these pages, its pieces apart by blank lines."""
    texts = ["\n\n".join(text for _, text in page) for page in pages]
    starts = [0, *accumulate(len(text) + 2 for text in texts)]
    blocks = []
    for start, page in zip(starts, pages, strict=False):
        for kind, text in page:
            title = text if kind == "heading" else ""
            blocks.append(Block(kind, start, start + len(text), int(kind == "heading"), title))
            start += len(text) + 2
    spans = tuple(
        Page(number, start, start + len(text))
        for number, (start, text) in enumerate(zip(starts, texts, strict=False), start=1)
    )
    return Extracted("\n\n".join(texts), tuple(blocks), spans)


def runs(extracted: Extracted) -> list[tuple[str, str, tuple[str, ...]]]:
    return [
        (run.kind, extracted.text[run.start : run.end], run.members[-1].path)
        for run in outline(extracted)
    ]


def test_a_section_goes_on_over_pages_and_its_runs_do_not() -> None:
    extracted = paged([("heading", "Ships"), ("text", "They float.")], [], [("text", "They sink.")])
    assert runs(extracted) == [
        ("text", "Ships\n\nThey float.", ("Ships",)),
        ("text", "They sink.", ("Ships",)),
    ]


def test_a_heading_alone_at_a_page_end_is_a_run() -> None:
    extracted = paged([("text", "One."), ("heading", "Ships")], [("text", "They float.")])
    assert runs(extracted) == [
        ("text", "One.", ()),
        ("text", "Ships", ("Ships",)),
        ("text", "They float.", ("Ships",)),
    ]


def test_a_caption_stays_on_its_page() -> None:
    extracted = paged([("code", "a = 1"), ("text", "And then:")], [("code", "b = 2")])
    assert [text for _, text, _ in runs(extracted)] == ["a = 1", "And then:", "b = 2"]


def test_a_block_across_pages_comes_in_pieces() -> None:
    text = "one two\n\nthree four"
    pages = (Page(1, 0, 7), Page(2, 9, len(text)))
    whole = Extracted(text, (Block("text", 0, len(text)),), pages)
    assert [piece for _, piece, _ in runs(whole)] == ["one two", "three four"]
    heading = Extracted(text, (Block("heading", 0, len(text), 1, "All"),), pages)
    assert runs(heading) == [("text", "one two", ("All",)), ("text", "three four", ("All",))]


def test_text_that_blocks_leave_uncovered_is_bounded_too() -> None:
    extracted = Extracted("one\n\ntwo", pages=(Page(1, 0, 3), Page(2, 5, 8)))
    assert [piece for _, piece, _ in runs(extracted)] == ["one", "two"]


pieces = st.tuples(
    st.sampled_from(["heading", "text", "list", "code", "table"]),
    st.lists(st.sampled_from(["one", "two.", "Three", "-"]), min_size=1, max_size=9).map(" ".join),
)


@settings(max_examples=150, deadline=None)
@given(
    pages=st.lists(st.lists(pieces, max_size=4), min_size=1, max_size=5),
    with_blocks=st.booleans(),
    moved=st.integers(0, 3),
)
def test_no_passage_leaves_its_page(
    pages: list[list[Piece]], with_blocks: bool, moved: int
) -> None:
    extracted = paged(*pages)
    blocks = extracted.blocks if with_blocks else ()
    # Pages that do not fit the blocks: the blocks are cut, nothing is lost.
    spans = tuple(
        Page(page.number, min(page.start + moved, page.end), page.end) for page in extracted.pages
    )
    extracted = Extracted(extracted.text, blocks, spans)
    splitter = StructureSplitter(HashingEmbedder().count_tokens, size=8, overlap=2, limit=10)
    seen: set[int] = set()
    for passage in splitter.split(extracted):
        assert extracted.text[passage.start : passage.end] == passage.text
        seen.update(range(passage.start, passage.end))
        for page in spans:
            apart = passage.end <= page.start or passage.start >= page.end
            assert apart or page.start <= passage.start < passage.end <= page.end
    assert all(place in seen for place, letter in enumerate(extracted.text) if not letter.isspace())
