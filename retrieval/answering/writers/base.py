"""Who writes an answer: given a question and numbered evidence, text with [cite:ID] markers.

Whatever a writer gives goes through the same checks before it leaves the server.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from documents.language_models.base import AnswerPiece, Usage
from retrieval.answering.requests import AnswerRequest, Evidence, Preferences, Uncertainty

Embed = Callable[[Sequence[str]], Sequence[Sequence[float]]]  # unit vectors, one for each text


class NotEnoughInformation(Exception):
    """The evidence does not answer the question. `missing` says what would be needed, or `words`
    of the question that nothing says anything about."""

    def __init__(
        self, missing: str, *, words: tuple[str, ...] = (), usage: Usage | None = None
    ) -> None:
        super().__init__(missing)
        self.missing = missing
        self.words = words
        self.usage = usage  # of the model that came to this


@dataclass(frozen=True, slots=True)
class WritingTask:
    question: str  # standalone
    evidence: tuple[Evidence, ...]  # best first
    request: AnswerRequest
    preferences: Preferences
    min_relevance: float  # what the best passage's relevance was held against
    conflicts: tuple[Uncertainty, ...] = ()
    embed: Embed | None = None  # None: the embedder does not work, do without
    language: str = "en"  # of the question, ISO 639-1


class Writer(Protocol):
    def write(
        self, task: WritingTask, *, deadline: float, cancelled: threading.Event
    ) -> Iterator[AnswerPiece]:
        """Raises NotEnoughInformation before the first piece, LanguageModelFailed or Cancelled."""
        ...
