"""Convert extracted texts to JSON and back, to get them out of the sandbox."""

import json
from typing import Any

from documents.passages import Block, Extracted, Page


def to_json(extracted: Extracted) -> bytes:
    fields = {
        "text": extracted.text,
        # Lists, not mappings: a long document has tens of thousands of blocks.
        "blocks": [
            (b.kind, b.start, b.end, b.level, b.title, b.language, b.attributes)
            for b in extracted.blocks
        ],
        "pages": [(p.number, p.start, p.end, p.ocr_confidence) for p in extracted.pages],
        "title": extracted.title,
        "tags": extracted.tags,
        "metadata": extracted.metadata,
        "warnings": extracted.warnings,
    }
    return json.dumps(fields, ensure_ascii=False).encode()


def from_json(fields: dict[str, Any]) -> Extracted:
    return Extracted(
        text=fields["text"],
        blocks=tuple(Block(*block) for block in fields["blocks"]),
        pages=tuple(Page(*page) for page in fields["pages"]),
        title=fields["title"],
        tags=tuple(fields["tags"]),
        metadata=fields["metadata"],
        warnings=tuple(fields["warnings"]),
    )
