"""The interface of writers: from a question and numbered evidence to text with [cite:ID] markers.

The output of every writer goes through the same checks before it is sent.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from documents.language_models.base import AnswerPiece, Usage
from retrieval.answering.requests import AnswerRequest, Evidence, Preferences, Uncertainty

Embed = Callable[[Sequence[str]], Sequence[Sequence[float]]]  # one unit vector per text


class NotEnoughInformation(Exception):
    """The evidence does not answer the question. `missing` says what would be needed, or `words`
    are the words of the question that no passage mentions."""

    def __init__(
        self, missing: str, *, words: tuple[str, ...] = (), usage: Usage | None = None
    ) -> None:
        super().__init__(missing)
        self.missing = missing
        self.words = words
        self.usage = usage  # of the model call


@dataclass(frozen=True, slots=True)
class WritingTask:
    question: str  # standalone
    evidence: tuple[Evidence, ...]  # best first
    request: AnswerRequest
    preferences: Preferences
    min_relevance: float  # the threshold for the best passage's relevance
    conflicts: tuple[Uncertainty, ...] = ()
    embed: Embed | None = None  # None: the embedder is not available
    language: str = "en"  # of the question, ISO 639-1


class Writer(Protocol):
    def write(
        self, task: WritingTask, *, deadline: float, cancelled: threading.Event
    ) -> Iterator[AnswerPiece]:
        """Raises NotEnoughInformation before the first piece, LanguageModelFailed or Cancelled."""
        ...
