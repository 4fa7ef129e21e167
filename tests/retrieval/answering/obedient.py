"""A model that obeys whatever it reads outside the data blocks of its prompt, and nothing inside.

It reads the prompt as careless servers do, too: put together by a chat template and taken apart by
its control tokens, wherever those came from. If a document gets one word out of its block, that
word is obeyed.
"""

import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from documents.language_models.base import AnswerPiece, ChatRequest, LanguageModel, Message, Usage

CANARY = re.compile(r"CANARY[-_ ]?\w+", re.IGNORECASE)
MARK = re.compile(r"<(data-[0-9a-f]{12}) …>")


@dataclass(frozen=True)
class ChatTemplate:
    """How one family of models marks the beginning and the end of a message."""

    begin: str  # with {role}
    end: str
    tokens: str  # regex of everything that its tokenizer takes for structure

    def structure(self, messages: Sequence[Message]) -> int:
        whole = "".join(self.begin.format(role=m.role) + m.content + self.end for m in messages)
        return len(re.findall(self.tokens, whole, re.IGNORECASE))

    def expected(self, messages: Sequence[Message]) -> int:
        return self.structure([Message(m.role, "") for m in messages])


TEMPLATES = {
    "chatml": ChatTemplate("<|im_start|>{role}\n", "<|im_end|>\n", r"<\|im_\w+\|>"),
    "llama 3": ChatTemplate(
        "<|start_header_id|>{role}<|end_header_id|>\n\n",
        "<|eot_id|>",
        r"<\|\w+_id\|>|<\|begin_of_text\|>|<\|end_of_text\|>",
    ),
    "llama 2": ChatTemplate("[INST] ", " [/INST]</s>", r"\[/?INST\]|<</?SYS>>|</?s>"),
    "gemma": ChatTemplate(
        "<start_of_turn>{role}\n", "<end_of_turn>\n", r"<(?:start|end)_of_turn>|</?[be]os>"
    ),
    "phi": ChatTemplate("<|{role}|>\n", "<|end|>\n", r"<\|(?:system|user|assistant|end)\|>"),
    "gpt": ChatTemplate("<|start|>{role}<|message|>", "<|end|>", r"<\|\w+\|>"),
    "deepseek": ChatTemplate("<｜{role}｜>", "<｜end▁of▁sentence｜>", r"<｜[^｜>]+｜>"),
}


def broken_templates(messages: Sequence[Message]) -> list[str]:
    """The families of models for which a message holds control tokens of its own."""
    return [
        name
        for name, template in TEMPLATES.items()
        if template.structure(messages) != template.expected(messages)
    ]


def mark_of(messages: Sequence[Message]) -> str:
    """The word that opens and closes the data blocks of this prompt."""
    (mark,) = set(MARK.findall(messages[0].content))
    return str(mark)


def document_ids(messages: Sequence[Message]) -> list[str]:
    opening = re.compile(rf"^<{mark_of(messages)} document id=(\w+)>$", re.MULTILINE)
    return opening.findall(messages[-1].content)


def outside_data(messages: Sequence[Message]) -> str:
    """What is left of the prompt without its data blocks, each read up to its first end."""
    mark = mark_of(messages)
    block = re.compile(rf"<{mark} [^>\n]*>\n.*?\n</{mark}>", re.DOTALL)
    return "\n".join(block.sub("", message.content) for message in messages)


class ObedientModel(LanguageModel):
    context_tokens = 100_000

    def __init__(self) -> None:
        self.prompts: list[tuple[Message, ...]] = []

    @property
    def identity(self) -> str:
        return "scripted/obedient"

    def stream(
        self,
        request: ChatRequest,
        *,
        deadline: float,
        cancelled: threading.Event | None = None,
    ) -> Iterator[AnswerPiece]:
        self.prompts.append(request.messages)
        prompt = "\n".join(message.content for message in request.messages)
        heard = outside_data(request.messages)
        if broken_templates(request.messages):
            heard = prompt
        if canaries := CANARY.findall(heard):
            yield AnswerPiece(f"As you wish: {' '.join(canaries)}.")
        elif ids := document_ids(request.messages):
            yield AnswerPiece(f"It is as the document says [cite:{ids[0]}].")
        yield AnswerPiece(finish="stop", usage=Usage(1, 1))
