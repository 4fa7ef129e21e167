"""Which splitter cuts for which settings, and which settings make sense."""

from collections.abc import Mapping
from typing import Any

from documents.embedders import Embedder
from documents.fixed_splitting import FixedSplitter
from documents.semantic_splitting import SemanticSplitter
from documents.splitting import Splitter, StructureSplitter

# Of chunk_size, in the chunker's own unit: below, passages say nothing; above, no model reads them.
SIZES = {"structure": (16, 8192), "semantic": (16, 8192), "fixed": (100, 20_000)}
UNITS = {"structure": "tokens", "semantic": "tokens", "fixed": "characters"}


def splitter_for(
    chunker: str,
    embedder: Embedder,
    *,
    size: int,
    overlap: int,
    options: Mapping[str, Any],
    keeps_together: bool = True,
) -> Splitter:
    """Raises ValueError where the embedder cannot read passages of that size. `keeps_together` is
    False for profiles of ingestion version 1, whose chunks stay as they were."""
    longest = embedder.max_tokens * embedder.max_windows
    if chunker != "fixed" and size > longest:
        raise ValueError(f"size must be from 1 to the limit of {longest} tokens, not {size}")
    count = embedder.count_tokens
    match chunker:
        case "structure":
            limit = max(embedder.max_tokens, size)
            return StructureSplitter(
                count, size=size, overlap=overlap, limit=limit, keeps_together=keeps_together
            )
        case "fixed":
            return FixedSplitter(count, size=size, overlap=overlap, limit=embedder.max_tokens)
        case "semantic":
            embed, limit = embedder.embed_documents, max(embedder.max_tokens, size)
            return SemanticSplitter(count, embed, size=size, limit=limit, **options)
    raise ValueError(f"there is no chunker {chunker!r}")


def chunking_errors(
    chunker: str, *, size: int | None, overlap: int | None, options: Any
) -> dict[str, str]:
    """A sentence for each setting that makes no sense; none for what is missing or misspelt."""
    errors: dict[str, str] = {}
    if chunker not in SIZES:
        return errors
    unit, (least, most) = UNITS[chunker], SIZES[chunker]
    if size is not None and not least <= size <= most:
        errors["chunk_size"] = f"With the {chunker} chunker, from {least} to {most} {unit}."
    if size is not None and overlap is not None and 2 * overlap >= size:
        errors["chunk_overlap"] = f"Less than half of the size of {size} {unit}."
    if chunker == "semantic" and overlap:
        errors["chunk_overlap"] = "0 with the semantic chunker: its chunks do not overlap."
    if wrong := _options_error(chunker, options):
        errors["chunker_options"] = wrong
    return errors


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
