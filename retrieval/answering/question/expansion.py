"""Let a language model rephrase the question: before a search (multi-query, step-back, HyDE) or
after one that found too little. Off unless requested.

If the model fails or its reply is unusable, the search continues with the plain question.
"""

from collections.abc import Sequence
from typing import Any, Literal, get_args

from documents.language_models.base import LanguageModel, LanguageModelFailed
from retrieval.requests import Hit, SearchResult

from .model_json import Book, ask_for_json

ExpansionKind = Literal["multi-query", "step-back", "hyde"]
KINDS: tuple[str, ...] = get_args(ExpansionKind)

PARAPHRASES = 3
MAX_QUESTION = 300  # characters
MAX_PASSAGE = 2000
RRF_K = 60

_TASKS: dict[str, str] = {
    "multi-query": f"Write {PARAPHRASES} other questions with the same meaning as the question in "
    "the user message, in its language, with other words where there are some. "
    'Format: {"questions": ["…", "…", "…"]}.',
    "step-back": "Write one more general question, in the language of the question in the user "
    "message, whose answer would help to answer it. "
    'Format: {"questions": ["…"]}.',
    "hyde": "Write a short passage, of two or three sentences, as it could stand in a document "
    "that answers the question in the user message, in its language. It is used to search, "
    'never shown, so invent what you do not know. Format: {"passage": "…"}.',
    "rephrase": "A search for the question in the user message found too little. Write one search "
    "query with the same meaning, in its language: synonyms instead of its words, names and "
    'numbers as they are. Format: {"questions": ["…"]}.',
}


def other_questions(
    question: str,
    kind: str,
    model: LanguageModel,
    *,
    deadline: float,
    book: Book | None = None,
) -> tuple[str, ...]:
    """Return what to search for besides the question. For `hyde` it is one passage, to be searched
    by meaning alone. Empty if the model failed or its reply is unusable."""
    if kind not in KINDS:
        raise ValueError(f"There is no query expansion {kind!r}; there are: {', '.join(KINDS)}.")
    return _ask(question, kind, model, deadline=deadline, book=book)


def rephrase(
    question: str, model: LanguageModel, *, deadline: float, book: Book | None = None
) -> str | None:
    """Return the question in other words, for a second search; None if the model has none."""
    return next(iter(_ask(question, "rephrase", model, deadline=deadline, book=book)), None)


def _ask(
    question: str, kind: str, model: LanguageModel, *, deadline: float, book: Book | None
) -> tuple[str, ...]:
    try:
        reply = ask_for_json(
            model,
            _TASKS[kind],
            {"question": question},
            deadline=deadline,
            max_tokens=300,
            book=book,
        )
    except LanguageModelFailed:
        return ()
    if reply is None:
        return ()
    if kind == "hyde":
        return _passage(reply)
    return _questions(reply, question, PARAPHRASES if kind == "multi-query" else 1)


def _passage(reply: dict[str, Any]) -> tuple[str, ...]:
    passage = reply.get("passage")
    if not isinstance(passage, str) or not _has_words(passage) or len(passage) > MAX_PASSAGE:
        return ()
    return (_one_line(passage),)


def _questions(reply: dict[str, Any], question: str, limit: int) -> tuple[str, ...]:
    """Return the new questions; none if any entry of the reply is invalid."""
    questions = reply.get("questions")
    if not isinstance(questions, list) or not 0 < len(questions) <= 2 * limit:
        return ()
    if not all(isinstance(each, str) and _has_words(each) for each in questions):
        return ()
    if any(len(each) > MAX_QUESTION for each in questions):
        return ()
    known = {_one_line(question).casefold()}
    found = []
    for each in map(_one_line, questions):
        if each.casefold() not in known:
            known.add(each.casefold())
            found.append(each)
    return tuple(found[:limit])


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _has_words(text: str) -> bool:
    return sum(character.isalpha() for character in text) >= 2


def fuse_results(
    results: Sequence[SearchResult], *, limit: int | None = None, rrf_k: int = RRF_K
) -> tuple[Hit, ...]:
    """Merge the hits of several searches by reciprocal rank fusion over their chunks.

    Passages that share a chunk are one; the first search that found it provides the hit.
    """
    groups: list[Hit] = []
    scores: list[float] = []
    group_of: dict[Any, int] = {}
    for result in results:
        counted: set[int] = set()
        for rank, hit in enumerate(result.hits, start=1):
            chunks = (hit.candidate.chunk_id, *hit.merged)
            group = next((group_of[chunk] for chunk in chunks if chunk in group_of), None)
            if group is None:
                group = len(groups)
                groups.append(hit)
                scores.append(0.0)
                group_of |= dict.fromkeys(chunks, group)
            if group not in counted:  # two parts of one passage do not count twice
                counted.add(group)
                scores[group] += 1 / (rrf_k + rank)
    order = sorted(range(len(groups)), key=lambda group: -scores[group])
    return tuple(groups[group] for group in order[:limit])
