"""Hits as `search_result` blocks, which Claude cites from by itself. Needs no other package."""

from collections.abc import Iterable
from typing import Any

from .models import Hit


def search_results(hits: Iterable[Hit]) -> list[dict[str, Any]]:
    """Blocks for the content of a user message or of a tool result, with citations switched on."""
    return [
        {
            "type": "search_result",
            "source": hit.source_uri,
            "title": hit.section or hit.title or hit.source_uri,
            "content": [{"type": "text", "text": hit.content}],
            "citations": {"enabled": True},
        }
        for hit in hits
        if hit.content.strip()  # empty text is refused
    ]
