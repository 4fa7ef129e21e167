"""What must hold for every citation, whichever route it came by."""

import html
import re
from typing import Any

import httpx2

from ...client import Api

IDS = re.compile(r"document id=(\w+)")


def check_place(place: Any, api: Api) -> None:
    """The quote is the stored text, to the character, and the link opens it highlighted."""
    stored = api.get(f"documents/{place['document_id']}/text?version={place['document_version']}")
    span = place["span"]
    assert stored.status == 200, stored.body
    assert stored.body["text"][span["start"] : span["end"]] == place["quote"] != ""
    page = httpx2.get(place["url"])
    assert page.status_code == 200
    marked = page.text.partition('tabindex="-1">')[2].partition("</mark>")[0]
    assert html.unescape(marked) == place["quote"]


def reply(*sentences: str) -> Any:
    """A model's answer: each sentence cites one of the documents in its prompt, in turn."""

    def write(messages: list[dict[str, str]]) -> str:
        ids = IDS.findall(messages[-1]["content"])
        return " ".join(f"{text} [cite:{ids[n % len(ids)]}]." for n, text in enumerate(sentences))

    return write
