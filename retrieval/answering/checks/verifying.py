"""Let a language model judge whether the citations support an answer, as in ALCE.

Recall: a sentence counts if its citations together support it. Precision: a citation of such a
sentence counts if it supports it alone, or if the others without it do not.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

from documents.language_models.base import (
    ChatRequest,
    LanguageModel,
    LanguageModelBadResponse,
    LanguageModelFailed,
    Message,
    Usage,
)
from retrieval.answering.question.model_json import Book, ask_for_json
from retrieval.answering.requests import AnswerResult, AnswerSentence, Citation, Verification
from retrieval.answering.writers.control_tokens import neutralised

VerifierStyle = Literal["llm", "minicheck"]
STYLES = ("llm", "minicheck")
MAX_CALLS = 40  # per answer
MAX_CHARACTERS = 6000  # of passages per call

# The prefix of fallbacks.
FAILED = "verifier_failed"
INCOMPLETE = "verifier_incomplete"

_MARKER = re.compile(r"\s*\[cite:[^\]\s]*\]")
_YES_OR_NO = re.compile(r"\W*(yes|no)\b", re.IGNORECASE)
_TASK = (
    "You check citations. The user message holds passages and a claim. Is every fact of the claim "
    "stated by the passages, or does it follow from them alone? What you know yourself does not "
    'count. Format: {"supported": true} or {"supported": false}.'
)

Judge = Callable[[Sequence[str], str], bool]


class _NoCallsLeft(Exception):
    """The answer has more citations than the maximum number of calls."""


@dataclass(frozen=True, slots=True)
class Verified:
    """`verification` is None if nothing could be judged; `fallbacks` say why."""

    verification: Verification | None
    citations: tuple[Citation, ...]  # with `supported` set if judged
    usage: Usage = field(default_factory=Usage)
    fallbacks: tuple[str, ...] = ()


def verify(
    result: AnswerResult,
    judge: LanguageModel,
    *,
    deadline: float,
    style: VerifierStyle = "llm",
    max_calls: int = MAX_CALLS,
) -> Verified:
    """Judge every sentence with its citations. If the verifier fails, the answer is unchanged."""
    if not result.is_answered or not result.citations:
        return Verified(None, result.citations)
    counter = _Counter(max_calls)
    ask = partial(_minicheck if style == "minicheck" else _llm, judge, deadline, counter)
    supported: dict[int, bool] = {}  # by index in result.citations
    sentences: list[bool] = []
    fallbacks: tuple[str, ...] = ()
    try:
        for sentence in result.sentences:
            cited = _citations_of(sentence, result.citations)
            together, each = _judge_sentence(_claim(result.text, sentence), cited, result, ask)
            sentences.append(together)
            supported |= each
    except _NoCallsLeft:
        fallbacks = (INCOMPLETE,)
    except LanguageModelFailed:
        return Verified(None, result.citations, counter.usage, (FAILED,))
    citations = tuple(
        replace(citation, supported=supported.get(place))
        for place, citation in enumerate(result.citations)
    )
    figures = Verification(
        citation_recall=_share(sentences),
        citation_precision=_share(list(supported.values())),
        verifier=judge.identity,
    )
    return Verified(figures if sentences else None, citations, counter.usage, fallbacks)


def _judge_sentence(
    claim: str, cited: Sequence[int], result: AnswerResult, ask: Judge
) -> tuple[bool, dict[int, bool]]:
    """Return whether the citations together support the claim, and which of them contribute."""
    texts = {place: _passage(result.citations[place]) for place in cited}
    if not texts or not ask(list(texts.values()), claim):
        return False, dict.fromkeys(cited, False)
    if len(texts) == 1:
        return True, dict.fromkeys(cited, True)
    verdicts = {}
    for place, text in texts.items():
        others = [other for key, other in texts.items() if key != place]
        verdicts[place] = ask([text], claim) or not ask(others, claim)
    return True, verdicts


def _citations_of(sentence: AnswerSentence, citations: Sequence[Citation]) -> list[int]:
    """Return the indexes of the citations in the sentence; the same passage counts once."""
    found: dict[tuple[str, int, int], int] = {}
    for place, citation in enumerate(citations):
        overlaps = min(citation.answer_end, sentence.end) > max(
            citation.answer_start, sentence.start
        )
        if overlaps and citation.id in sentence.citation_ids:
            found.setdefault((citation.id, citation.start, citation.end), place)
    return list(found.values())


def _claim(text: str, sentence: AnswerSentence) -> str:
    return _MARKER.sub("", text[sentence.start : sentence.end]).strip()


def _passage(citation: Citation) -> str:
    """Return the cited text below its title and section."""
    hit = citation.evidence.hit
    heading = " — ".join(filter(None, (hit.title, hit.section)))
    return f"{heading}\n{citation.cited_text}" if heading else citation.cited_text


def _share(verdicts: Sequence[bool]) -> float | None:
    return sum(verdicts) / len(verdicts) if verdicts else None


class _Counter:
    """The number of calls left, and their usage so far."""

    def __init__(self, calls: int) -> None:
        self.left = calls
        self.usage = Usage()

    def take(self) -> Book:
        if self.left <= 0:
            raise _NoCallsLeft
        self.left -= 1
        return self._add

    def _add(self, usage: Usage) -> None:
        self.usage += usage


def _llm(
    model: LanguageModel, deadline: float, counter: _Counter, passages: Sequence[str], claim: str
) -> bool:
    share = MAX_CHARACTERS // len(passages)
    parts = {f"passage {n}": text[:share] for n, text in enumerate(passages, start=1)}
    reply = ask_for_json(
        model,
        _TASK,
        {**parts, "claim": claim[:MAX_CHARACTERS]},
        deadline=deadline,
        max_tokens=30,
        book=counter.take(),
    )
    verdict = (reply or {}).get("supported")
    if not isinstance(verdict, bool):
        raise LanguageModelBadResponse("The verifier did not answer with true or false.")
    return verdict


def _minicheck(
    model: LanguageModel, deadline: float, counter: _Counter, passages: Sequence[str], claim: str
) -> bool:
    """The prompt format of bespoke-minicheck: one line each, so that a passage cannot start a
    claim."""
    share = MAX_CHARACTERS // len(passages)
    document = neutralised(" ".join(" ".join(text[:share].split()) for text in passages))
    question = neutralised(" ".join(claim.split()))[:MAX_CHARACTERS]
    request = ChatRequest(
        messages=(Message("user", f"Document: {document}\nClaim: {question}"),),
        max_tokens=5,
        temperature=0.0,
    )
    book = counter.take()
    completion = model.complete(request, deadline=deadline)
    book(completion.usage)
    verdict = _YES_OR_NO.match(completion.text)
    if verdict is None:
        raise LanguageModelBadResponse("The verifier answered neither yes nor no.")
    return verdict[1].lower() == "yes"
