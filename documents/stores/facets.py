"""Metadata as keywords: one for each scalar at each path, so that any engine can compare them.

A keyword is a hash of path and value: its length is bounded, and a store sees no content.
Collisions are so unlikely that exclusions ignore them; for inclusions the rows are checked again in
PostgreSQL.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

BYTES = 9


def facets_of(metadata: Mapping[str, Any]) -> list[str]:
    """Return the keywords of everything that equality on metadata can match (jsonb's @>)."""
    return sorted({facet(path, value) for path, value in _scalars(metadata, ())})


def facet(path: Sequence[str], value: Any) -> str:
    shown = json.dumps([*path, _canonical(value)], ensure_ascii=True)
    return hashlib.blake2b(shown.encode(), digest_size=BYTES).hexdigest()


def _scalars(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _scalars(inner, (*path, key))
    elif isinstance(value, list):
        # As with @>, a path leads to the elements of a list, but not further into them.
        yield from ((path, inner) for inner in value if not isinstance(inner, Mapping | list))
    else:
        yield path, value


def _canonical(value: Any) -> Any:
    """Return the same text for numbers that jsonb considers equal: 1, 1.0 and 1e0. True is not a
    number."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return value
    number = Decimal(str(value)).normalize()
    return {"number": f"{number:f}" if abs(number.adjusted()) < 400 else str(number)}
