"""A language model as the writer of answers: builds the prompt and recognises abstentions."""

import threading
from collections.abc import Iterator

from documents.language_models.base import (
    AnswerPiece,
    ChatRequest,
    LanguageModel,
    LanguageModelBadResponse,
    Message,
)
from retrieval.answering.prompt import SENTINEL, PromptInput, build_prompt, fitted_evidence
from retrieval.answering.requests import Evidence
from retrieval.answering.writers.base import NotEnoughInformation, WritingTask

MAX_MISSING = 300  # characters of the model's description of what is missing
PROMPT_TOKENS = 900  # estimate for the rules and the question


class ModelWriter:
    def __init__(self, model: LanguageModel, *, max_tokens: int, template_file: str = "") -> None:
        self.model = model
        self.max_tokens = max_tokens
        self.template_file = template_file

    def write(
        self, task: WritingTask, *, deadline: float, cancelled: threading.Event
    ) -> Iterator[AnswerPiece]:
        request = ChatRequest(
            self.messages(task),
            max_tokens=task.request.max_tokens or self.max_tokens,
            temperature=task.request.temperature,
            stop=task.request.stop,
        )
        pieces = self.model.stream(request, deadline=deadline, cancelled=cancelled)
        yield from _unless_abstaining(pieces)

    def messages(self, task: WritingTask) -> tuple[Message, ...]:
        given = PromptInput(
            question=task.question,
            evidence=self._fitted(task),
            conflicts=task.conflicts,
            history=task.request.messages,
            system_prompt=task.preferences.system_prompt,
            instructions=task.request.instructions,
            language=task.preferences.language,
        )
        return build_prompt(given, template_file=self.template_file)

    def _fitted(self, task: WritingTask) -> tuple[Evidence, ...]:
        answer_tokens = task.request.max_tokens or self.max_tokens
        others = task.preferences.system_prompt + task.request.instructions
        history = "".join(turn.content for turn in task.request.messages)
        spent = PROMPT_TOKENS + answer_tokens + self.model.count_tokens(others + history)
        room = max(0, self.model.context_tokens - spent)
        return fitted_evidence(task.evidence, tokens=room, count_tokens=self.model.count_tokens)


def _unless_abstaining(pieces: Iterator[AnswerPiece]) -> Iterator[AnswerPiece]:
    """Yield the pieces. Raises NotEnoughInformation if they begin with the sentinel."""
    start = ""
    held: list[AnswerPiece] = []
    for piece in pieces:
        held.append(piece)
        start += piece.text
        if piece.finish is not None or not _may_become_sentinel(start):
            break
    if _plain(start).startswith(SENTINEL):
        raise _abstention(start, held, pieces)
    if not start.strip():
        raise LanguageModelBadResponse("The language model gave an empty answer.")
    yield from held
    yield from pieces


def _may_become_sentinel(start: str) -> bool:
    text = _plain(start)
    return len(text) < len(SENTINEL) and SENTINEL.startswith(text)


def _plain(start: str) -> str:
    """Remove the emphasis or quotation marks that models put around it."""
    return start.lstrip().lstrip("*_`\"'[#").upper().replace(" ", "_")


def _abstention(
    start: str, held: list[AnswerPiece], pieces: Iterator[AnswerPiece]
) -> NotEnoughInformation:
    """Read on until it is known what is missing according to the model, and what that cost."""
    text = start
    for piece in pieces:
        held.append(piece)
        text += piece.text
        if len(text) > 2 * MAX_MISSING:
            break
    rest = text.strip().lstrip("*_`\"'[#")[len(SENTINEL) :]
    lines = [line.strip(" :.-*_`\"'[]") for line in rest.splitlines()]
    missing = next((line for line in lines if line), "")[:MAX_MISSING]
    return NotEnoughInformation(missing, usage=held[-1].usage if held else None)
