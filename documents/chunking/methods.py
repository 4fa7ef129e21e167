"""The splitter for each chunking method, and validation of its settings."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from documents.chunking.base import Splitter, StructureSplitter
from documents.chunking.fixed import FixedSplitter
from documents.chunking.llm import FindTopics, TopicSplitter
from documents.chunking.semantic import SemanticSplitter
from documents.chunking.sizes import CHARACTERS_PER_TOKEN
from documents.embedders import Embedder

# Allowed chunk_size, in the chunker's unit: smaller passages are meaningless, and no model reads
# larger ones.
SIZES = {
    "structure": (16, 8192),
    "fixed": (100, 20_000),
    "semantic": (16, 8192),
    "llm": (16, 8192),
}
UNITS = {"structure": "tokens", "semantic": "tokens", "fixed": "characters", "llm": "tokens"}
# Default size and overlap.
DEFAULT_SIZES = {
    "structure": (200, 30),
    "fixed": (1000, 200),
    "semantic": (220, 0),
    "llm": (220, 0),
}
WITHOUT_OVERLAP = ("semantic", "llm")


@dataclass(frozen=True, slots=True)
class ChunkerSettings:
    chunker: str
    size: int
    overlap: int
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChunkingOptions:
    """The chunking options of an upload. None means: as in the index profile."""

    method: str | None = None
    size: int | None = None
    overlap: int | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the options that are set; empty means that the profile decides."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def over(self, profile: ChunkerSettings) -> ChunkerSettings:
        """Return the profile's settings with these options applied.

        If no overlap is set, it keeps its ratio to the size.
        """
        if not self.as_json():
            return profile
        if self.method not in (None, profile.chunker):
            profile = ChunkerSettings(self.method, *DEFAULT_SIZES.get(self.method, (1, 0)))
        size = profile.size if self.size is None else self.size
        ratio = profile.overlap / profile.size
        overlap = int(size * ratio) if self.overlap is None else self.overlap
        return ChunkerSettings(profile.chunker, size, overlap, profile.options)


def splitter_for(
    chunker: str,
    embedder: Embedder,
    *,
    size: int,
    overlap: int,
    options: Mapping[str, Any],
    keeps_together: bool = True,
    find_topics: FindTopics | None = None,
) -> Splitter:
    """Return the splitter for a chunking method.

    Raises ValueError if the embedder cannot read passages of that size. `keeps_together` is False
    for profiles of ingestion version 1, whose chunks must not change. Without `find_topics` the llm
    chunker cuts between paragraphs.
    """
    maximum = embedder.max_tokens * embedder.max_windows
    if chunker != "fixed" and size > maximum:
        raise ValueError(f"size must be from 1 to the limit of {maximum} tokens, not {size}")
    count = embedder.count_tokens
    limit = max(embedder.max_tokens, size)
    match chunker:
        case "structure":
            return StructureSplitter(
                count, size=size, overlap=overlap, limit=limit, keeps_together=keeps_together
            )
        case "fixed":
            return FixedSplitter(count, size=size, overlap=overlap, limit=embedder.max_tokens)
        case "semantic":
            embed = embedder.embed_documents
            return SemanticSplitter(count, embed, size=size, limit=limit, **options)
        case "llm":
            return TopicSplitter(count, find_topics, size=size, limit=limit)
    raise ValueError(f"there is no chunker {chunker!r}")


def chunking_errors(
    chunker: str, *, size: int | None, overlap: int | None, options: Any
) -> dict[str, str]:
    """Return an error message per invalid setting; unknown or missing ones are checked
    elsewhere."""
    errors: dict[str, str] = {}
    if chunker not in SIZES:
        return errors
    unit, (minimum, maximum) = UNITS[chunker], SIZES[chunker]
    if size is not None and not minimum <= size <= maximum:
        errors["chunk_size"] = f"With the {chunker} chunker, from {minimum} to {maximum} {unit}."
    if size is not None and overlap is not None and 2 * overlap >= size:
        errors["chunk_overlap"] = f"Less than half of the size of {size} {unit}."
    if chunker in WITHOUT_OVERLAP and overlap:
        errors["chunk_overlap"] = f"0 with the {chunker} chunker: its chunks do not overlap."
    if error := _options_error(chunker, options):
        errors["chunker_options"] = error
    return errors


def size_limits(chunker: str, embedder: Embedder) -> tuple[int, int]:
    """Return the minimum and maximum size, in the chunker's unit, for this embedder."""
    minimum, maximum = SIZES[chunker]
    if chunker == "fixed":
        return minimum, min(maximum, embedder.max_tokens * CHARACTERS_PER_TOKEN)
    return minimum, min(maximum, embedder.max_tokens * embedder.max_windows)


def misfit(settings: ChunkerSettings, embedder: Embedder) -> tuple[str, str] | None:
    """Return the first setting that this embedder does not support and why, or None."""
    if settings.chunker not in SIZES:
        return "method", f"There is no method {settings.chunker!r}: use one of {', '.join(SIZES)}."
    minimum, maximum = size_limits(settings.chunker, embedder)
    if not minimum <= settings.size <= maximum:
        unit = UNITS[settings.chunker]
        return "size", (
            f"With the {settings.chunker} method and this namespace's embedding model, from "
            f"{minimum} to {maximum} {unit}, not {settings.size}."
        )
    errors = chunking_errors(
        settings.chunker, size=settings.size, overlap=settings.overlap, options=settings.options
    )
    return ("overlap", errors["chunk_overlap"]) if "chunk_overlap" in errors else None


def _options_error(chunker: str, options: Any) -> str:
    known = {"percentile"} if chunker == "semantic" else set()
    if not isinstance(options, dict):
        return "An object, such as {}."
    if unknown := sorted(map(str, options.keys() - known)):
        return f"The {chunker} chunker has no option {unknown[0]!r}."
    percentile = options.get("percentile", 90)
    if type(percentile) is not int or not 0 < percentile < 100:
        return "percentile: a whole number from 1 to 99."
    return ""
