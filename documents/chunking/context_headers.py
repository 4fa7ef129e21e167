"""Context headers: the title and headings that are embedded together with a passage."""

from collections.abc import Iterator, Sequence

from documents.chunking.sizes import CountTokens
from documents.passages import Passage


def with_headers(
    passages: Sequence[Passage], *, title: str, count_tokens: CountTokens, limit: int
) -> list[str]:
    """Return each passage below its title and section path, shortened to what the model can read.

    These texts are only for embedding; the passages do not change.
    """
    texts = [passage.readable or passage.text for passage in passages]
    remaining = dict(enumerate(_headers(passage, title) for passage in passages))
    while remaining:
        candidates = {}
        for index, headers in list(remaining.items()):
            if (header := next(headers, None)) is None:
                del remaining[index]
            else:
                candidates[index] = f"{header}\n{texts[index]}"
        counts = count_tokens(list(candidates.values()))
        for (index, text), tokens in zip(candidates.items(), counts, strict=True):
            if tokens <= limit:
                texts[index] = text
                del remaining[index]
    return texts


def _headers(passage: Passage, title: str) -> Iterator[str]:
    """Yield headers from longest to shortest: title and full path, then the innermost heading."""
    path = [title, *passage.heading_path] if title else [*passage.heading_path]
    if len(path) > 1 and path[0] == path[1]:
        path = path[1:]
    if path:
        yield " > ".join(path)
    if len(path) > 1:
        yield path[-1]
