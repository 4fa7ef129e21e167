"""Quotes are the stored text at their spans, to the character, at every door that searches.

The environment variable QUOTES says how many results are compared at each door.
"""

import os
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from documents.models import DocumentVersion, Namespace
from ragsite.database.tenancy import namespace

from ..client import Api
from ..project.answer_site import serving
from .mcp.agent import Agent

QUOTES = int(os.environ.get("QUOTES", "100"))
PAGE = 50  # results of one search
# Two code units, two code points, no-break spaces, line ends of Windows.
PARTS = ("Lamp — für ß & 🚢", "Boats\u00a0leave", "E\u0301lan", "dough 👩‍🚀", "tower\r\nwall")

Found = tuple[str, int, dict[str, int], Sequence[str]]  # document, version, span, its quotes
Texts = dict[tuple[str, int], str]


@pytest.fixture
def texts(api: Api, work: Callable[[], int], tenant: Namespace, settings: Any) -> Texts:
    """Eight books in one collection; the stored text of each."""
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "search": 0, "agent": 0}
    for book in range(8):
        words = [PARTS[(book + n) % 5] for n in range(48)]
        chapters = (
            f"## Part {part}\n\n" + " ".join(f"{words[part + n]} {n}." for n in range(40))
            for part in range(8)
        )
        text = f"# Book {book}\n\n" + "\n\n".join(chapters)
        api.upload((f"{book}.md", text), collection="books")
    work()
    with namespace(tenant.pk):
        return {(str(v.document_id), v.number): v.text for v in DocumentVersion.objects.all()}


def questions() -> Iterator[str]:
    for number in range(10 * QUOTES):
        yield f"{PARTS[number % 5]} {number} part {number % 8}"


def compared(texts: Texts, search: Callable[[str], Sequence[Found]]) -> int:
    """How many results were compared with the stored text."""
    count = 0
    for question in questions():
        for document, version, span, quotes in search(question):
            stored = texts[document, version][span["start"] : span["end"]]
            assert stored
            assert set(quotes) == {stored}
            count += 1
        if count >= QUOTES:
            return count
    return count


def test_of_queries(api: Api, texts: Texts):
    def search(question: str) -> list[Found]:
        results = api.query(question, k=PAGE, token_budget=100_000).body["results"]
        return [
            (one["document_id"], one["document_version"], one["span"], [one["content"]])
            for one in results
        ]

    assert compared(texts, search) >= QUOTES


def test_of_vector_stores(api: Api, texts: Texts):
    (store,) = api.get("v1/vector_stores").body["data"]

    def search(question: str) -> list[Found]:
        body = {"query": question, "max_num_results": PAGE}
        results = api.post(f"v1/vector_stores/{store['id']}/search", body).body["data"]
        return [
            (
                str(uuid.UUID(one["file_id"].removeprefix("file-"))),
                one["document_version"],
                one["span"],
                [one["quote"], one["content"][0]["text"]],
            )
            for one in results
        ]

    assert compared(texts, search) >= QUOTES


def test_of_mcp(api: Api, texts: Texts):
    with serving() as site:
        agent = Agent(site.mcp_url, api.key)

        def search(question: str) -> list[Found]:
            results = agent.result("search", query=question, limit=PAGE)["results"]
            return [
                (one["document_id"], one["document_version"], one["span"], [one["text"]])
                for one in results
            ]

        assert compared(texts, search) >= QUOTES
