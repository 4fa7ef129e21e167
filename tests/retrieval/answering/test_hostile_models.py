"""A thousand answers by a model server that means harm, through the whole pipeline.

Whatever it sends: every citation that leaves resolves and equals the stored text, no unknown id
leaves, and each answer ends with exactly one AnswerEvent or a LanguageModelFailed.

    make test-hostile COUNT=10000
"""

import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import pytest

from documents.language_models.base import LanguageModelFailed
from documents.models import Namespace
from ragsite.database.tenancy import operator
from ragsite.platform.backends import load_backend
from retrieval.answering.answer import answer
from retrieval.answering.requests import AnswerEvent, AnswerRequest, AnswerResult, Event
from retrieval.requests import SearchRequest

from ... import chat_server
from ...client import Api
from .hostile_replies import Grammar, evidence_in
from .invariants import wrong_with

COUNT = int(os.environ.get("HOSTILE_ANSWERS", "1000"))
SECONDS = 2.0  # for one answer: what a stalling server costs
LIBRARY = {
    "tower.md": "# Tower\n\nThe tower is made of granite and stands 40 metres above the rock. It "
    "was finished on 3 May 1871 and cost 12,400 crowns. “Nobody lives there now,” the mayor said.",
    "tides.txt": "High tide is at 06:12 and at 18:37.\r\n\r\nThe tower's lamp — 300,000 candela — "
    "turns once in 10 seconds.\n\nA tower keeper earned 4.5 crowns a week in 1871.",
    "fees.csv": "vessel,fee,as of\nboat,12 crowns,2024-01-01\nyacht,30 crowns,2024-01-01\n"
    "tower visit,2 crowns,2023-06-01\n",
    "unicode.md": "# Türme 塔\n\nDer Turm heißt „Alter Schwede“ und ist 40 m hoch 🗼. 塔高40米，"
    "建于1871年。 The tower’s naïve café costs €3.20 — “cheap”.",
    "old.md": "# The old tower\n\nThe old tower was 38 metres high. It fell in 1870. [cite:a1b2]",
}
QUESTIONS = [
    "How high is the tower?",
    "When was the tower finished and what did it cost?",
    "What does a tower visit cost?",
    "Wie hoch ist der Turm?",
    "How often does the lamp of the tower turn?",
]


@dataclass
class Hostility:
    """How the server behaves, one seed for each request."""

    seed: int = 0
    done: Counter[str] = field(default_factory=Counter)

    def __call__(self, exchange: chat_server.Exchange) -> None:
        self.seed += 1
        chance = random.Random(self.seed)
        prompt = "\n".join(str(message["content"]) for message in exchange.received.messages)
        text = Grammar(chance, evidence_in(prompt)).reply()
        ways: dict[str, int] = {
            "whole": 20,
            "pieces": 50,
            "characters": 8,
            "length": 5,
            "cut": 6,
            "reset": 4,
            "garbage": 3,
            "error": 3,
            "stall": 1 if self.done["stall"] < COUNT / 200 else 0,
        }
        (way,) = chance.choices(list(ways), list(ways.values()))
        self.done[way] += 1
        self.send(exchange, text, way, chance)

    def send(
        self, exchange: chat_server.Exchange, text: str, way: str, chance: random.Random
    ) -> None:
        if way == "error":
            exchange.json({"error": "no"}, status=chance.choice([400, 401, 404, 429, 500]))
            return
        if not exchange.is_streamed:
            exchange.answer(text)
            return
        exchange.begin(exchange.tokens(text))
        most = {"whole": len(text) or 1, "characters": 1}.get(way, 40)
        end = len(text) // 2 if way in ("cut", "reset", "garbage", "stall") else len(text)
        place = 0
        while place < end:
            size = chance.randint(1, most)
            exchange.piece(text[place : place + size])
            place += size
        if way == "cut":
            exchange.cut()
        elif way == "reset":
            exchange.reset()
        elif way == "garbage":
            exchange.raw(b'data: {"choices": [{"delta": \n\ndata: \xff\xfe\n\n')
            exchange.cut()
        elif way == "stall":
            exchange.hang()
        else:
            exchange.end("length" if way == "length" else "stop", exchange.tokens(text))


@pytest.fixture
def hostility(settings: Any, api: Api, work: Callable[[], int]) -> Iterator[Hostility]:
    behaviour = Hostility()
    api.upload(*LIBRARY.items())
    assert work() == len(LIBRARY)
    with chat_server.provider() as site:
        site.behave("hostile", behaviour)
        options = {"url": site.url("hostile"), "model": "m", "retries": 0}
        backend = "documents.language_models.openai.OpenAIModel"
        settings.LANGUAGE_MODELS = {
            **settings.LANGUAGE_MODELS,
            "hostile": {"BACKEND": backend, "OPTIONS": options},
        }
        settings.ANSWERS = {**settings.ANSWERS, "seconds": SECONDS}
        load_backend.cache_clear()
        yield behaviour
    load_backend.cache_clear()


def run(tenant: Namespace, number: int) -> tuple[list[Event], str]:
    """The events of one answer, and the code of its failure."""
    question = QUESTIONS[number % len(QUESTIONS)]
    request = AnswerRequest(search=SearchRequest(query=question, k=4), model="hostile")
    events: list[Event] = []
    try:
        for event in answer(tenant.pk, request):
            events.append(event)
    except LanguageModelFailed as error:
        return events, error.code
    return events, ""


def test_what_leaves_is_true_whatever_the_model_sends(tenant: Namespace, hostility: Hostility):
    with operator():
        Namespace.objects.filter(pk=tenant.pk).update(answer_min_relevance=0.0)
    wrong: list[str] = []
    ended: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    for number in range(COUNT):
        events, failure = run(tenant, number)
        wrong += [f"answer {number}: {what}" for what in wrong_with(tenant, events, failure)]
        ended[failure or ("answered" if events[-1].result.is_answered else "abstained")] += 1  # type: ignore[union-attr]
        for event in events:
            if isinstance(event, AnswerEvent):
                count(event.result, seen)
    print(f"\n{COUNT} answers: {dict(ended)}; {dict(seen)}; sent: {dict(hostility.done)}")  # noqa: T201
    assert wrong[:20] == []
    assert ended["answered"] > COUNT / 2
    for what in ("citations", "unknown_ids", "quotes_exact", "quotes_repaired", "quotes_removed"):
        assert seen[what] > COUNT / 100, f"the server hardly tried: {what}"
    assert len([code for code in ended if code.startswith("language_model")]) >= 2


def count(result: AnswerResult, seen: Counter[str]) -> None:
    seen["citations"] += len(result.citations)
    for name, number in asdict(result.report).items():
        seen[name] += number
    seen["uncertainties"] += len(result.uncertainties)
