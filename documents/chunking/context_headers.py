"""Contextual headers: what a passage is embedded with, so that its vector knows where it stands."""

from collections.abc import Iterator, Sequence

from documents.chunking.sizes import CountTokens
from documents.passages import Passage


def with_headers(
    passages: Sequence[Passage], *, title: str, count_tokens: CountTokens, limit: int
) -> list[str]:
    """Each passage below its title and section path, as much of them as the model still reads.

    Only for embedding: the passage itself stays as it is.
    """
    texts = [passage.readable or passage.text for passage in passages]
    unsettled = dict(enumerate(_headers(passage, title) for passage in passages))
    while unsettled:
        tried = {}
        for index, headers in list(unsettled.items()):
            if (header := next(headers, None)) is None:
                del unsettled[index]
            else:
                tried[index] = f"{header}\n{texts[index]}"
        counts = count_tokens(list(tried.values()))
        for (index, text), tokens in zip(tried.items(), counts, strict=True):
            if tokens <= limit:
                texts[index] = text
                del unsettled[index]
    return texts


def _headers(passage: Passage, title: str) -> Iterator[str]:
    """From title and whole path to the innermost heading alone."""
    path = [title, *passage.heading_path] if title else [*passage.heading_path]
    if len(path) > 1 and path[0] == path[1]:
        path = path[1:]
    if path:
        yield " > ".join(path)
    if len(path) > 1:
        yield path[-1]
