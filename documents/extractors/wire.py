"""Extracted texts as JSON, for the way out of the cell where they were read."""

import json
from dataclasses import asdict
from typing import Any

from documents.passages import Block, Extracted, Page


def to_json(extracted: Extracted) -> bytes:
    return json.dumps(asdict(extracted), ensure_ascii=False).encode()


def from_json(fields: dict[str, Any]) -> Extracted:
    return Extracted(
        text=fields["text"],
        blocks=tuple(Block(**block) for block in fields["blocks"]),
        pages=tuple(Page(**page) for page in fields["pages"]),
        title=fields["title"],
        tags=tuple(fields["tags"]),
        metadata=fields["metadata"],
        warnings=tuple(fields["warnings"]),
    )
