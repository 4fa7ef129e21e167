"""Assemble the passages into one numbered text for a language model, within a token budget."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from documents.chunking.sizes import CountTokens
from retrieval.requests import Candidate, Hit

MAX_REMEMBERED = 500  # characters of a text whose tokens are remembered


class Placed(Protocol):
    """The position of a passage: a hit, or its row."""

    @property
    def title(self) -> str: ...
    @property
    def source_uri(self) -> str: ...
    @property
    def section(self) -> str: ...
    @property
    def page(self) -> int | None: ...
    @property
    def page_end(self) -> int | None: ...
    @property
    def table_header(self) -> str: ...


@dataclass(frozen=True, slots=True)
class ContextFormat:
    """`head` formats the heading of a passage from its number; opening and closing surround all."""

    head: Callable[[int, Placed], str]
    opening: str = ""
    closing: str = ""

    def frame_tokens(self, count_tokens: CountTokens) -> int:
        return sum(count_tokens([self.opening, self.closing])) if self.opening else 0


@dataclass(frozen=True, slots=True)
class Context:
    text: str
    tokens: int
    hits: tuple[Hit, ...]
    dropped: tuple[Candidate, ...]


def assemble(
    hits: Sequence[Hit], *, budget: int, count_tokens: CountTokens, layout: str = "plain"
) -> Context:
    """Keep the best hits that fit. The number in each heading is the citation's id."""
    form = FORMATS[layout]
    costs = _costs(hits, form, count_tokens)
    kept: list[int] = []
    dropped: list[Candidate] = []
    left = budget - form.frame_tokens(count_tokens)
    for index, hit in enumerate(hits):
        if costs[index] <= left:
            kept.append(index)
            left -= costs[index]
        else:
            hit.candidate.dropped = "token_budget"
            dropped.append(hit.candidate)
    blocks = [form.head(n, hits[index]) + hits[index].content for n, index in enumerate(kept, 1)]
    if kept:
        blocks = [part for part in (form.opening, *blocks, form.closing) if part]
    return Context(
        text="\n\n".join(blocks),
        tokens=budget - left if kept else 0,
        hits=tuple(hits[index] for index in kept),
        dropped=tuple(dropped),
    )


def _costs(hits: Sequence[Hit], form: ContextFormat, count_tokens: CountTokens) -> list[int]:
    """Return the tokens of each block. Those of its chunks were counted at ingestion; only the
    heading and the text around the chunks are counted here."""
    texts = [longest_head(form, hit) + hit.uncounted for hit in hits]
    return [
        hit.tokens + tokens
        for hit, tokens in zip(hits, count_tokens(texts) if texts else [], strict=True)
    ]


def longest_head(form: ContextFormat, placed: Placed) -> str:
    """Return the heading with a three-digit number, because the real one is not known yet."""
    return form.head(999, placed)


def remembered(count_tokens: CountTokens) -> CountTokens:
    """Count a short text once in this process: headings are those of the same documents again and
    again, and counting them one by one took a tenth of a search's time here."""

    def count(texts: Sequence[str]) -> list[int]:
        return [
            _tokens_of(count_tokens, text)
            if len(text) <= MAX_REMEMBERED
            else count_tokens([text])[0]
            for text in texts
        ]

    return count


@lru_cache(maxsize=8192)
def _tokens_of(count_tokens: CountTokens, text: str) -> int:
    (tokens,) = count_tokens([text])
    return tokens


def above(placed: Placed) -> str:
    """Return the lines above a passage: its title, section and page, and its table header."""
    place = place_of(placed)
    return f"{place}\n{placed.table_header}" if placed.table_header else place


def place_of(placed: Placed) -> str:
    return _place(placed.title, placed.section, placed.page) or placed.source_uri


def _place(title: str, section: str, page: int | None) -> str:
    """Return title, section and page as in a citation, without repeating a title."""
    title = "" if section.startswith(title) else title
    return " — ".join(part for part in (title, section, f"p. {page}" if page else "") if part)


def _plain_head(number: int, placed: Placed) -> str:
    return f"[{number}] {above(placed)}\n"


def _markdown_head(number: int, placed: Placed) -> str:
    heading = f"### [{number}] {_on_one_line(file_name_of(placed))}{_pages(placed)}"
    lines = [heading]
    if placed.section:
        lines.append(f"Section: {_on_one_line(placed.section)}")
    lines.append("")
    if placed.table_header:
        lines.append(placed.table_header)
    return "\n".join(lines) + "\n"


def file_name_of(placed: Placed) -> str:
    """Return the last part of the source, which is the file name if there is one."""
    scheme, _, rest = placed.source_uri.partition(":")
    if scheme == "text" and placed.title:
        return placed.title
    path = rest if scheme == "upload" else placed.source_uri
    return path.partition("?")[0].rstrip("/").rpartition("/")[2] or placed.source_uri


def _pages(placed: Placed) -> str:
    first, last = placed.page, placed.page_end
    if first is None:
        return ""
    return f", Page {first}" if last in (None, first) else f", Pages {first}-{last}"


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


FORMATS = {
    "plain": ContextFormat(_plain_head),
    "source_documents": ContextFormat(
        _markdown_head,
        opening="## Source Documents",
        closing="## Citation Instructions\n\n"
        "Answer only from the source documents above. After each statement, name the documents it "
        "is taken from by their numbers in square brackets, e.g. [1] or [1][2]. Quote exactly. "
        "If the documents do not hold the answer, say so.",
    ),
}
CONTEXT_FORMATS = tuple(FORMATS)
