"""Convert a request in OpenAI's format to an AnswerRequest: options, turns and the question."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import orjson
from rest_framework import serializers

from documents.api.fields import TextField
from documents.metadata import text as cleaned
from ragsite.platform.errors import ApiError
from retrieval.answering.requests import AnswerRequest
from retrieval.api.answers.serializers import (
    MAX_CONVERSATION,
    MAX_INSTRUCTIONS,
    MAX_MESSAGE,
    MAX_MESSAGES,
    answer_request_of,
)
from retrieval.api.serializers import MAX_QUERY_LENGTH

from .citing import without_numbers
from .models import answer_model
from .views import invalid_parameter, unsupported_parameter

TurnRole = Literal["system", "user", "assistant"]
ROLES: Mapping[str, TurnRole] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
}
MAX_METADATA = 16  # keys
NO_TOOLS = (
    "This model searches the documents itself and calls no tools; agents can use its search over "
    "MCP, at /mcp."
)
REASONS = dict.fromkeys(("tools", "functions", "tool_calls"), NO_TOOLS)
# Of a part of a message. Clients send the fields of earlier answers back; hints for caches do not
# change an answer.
PART_FIELDS = frozenset({"type", "text"})
IGNORED_PART_FIELDS = frozenset(
    {"annotations", "logprobs", "cache_control", "prompt_cache_breakpoint"}
)
_TEXT = TextField(allow_blank=True)


@dataclass(frozen=True, slots=True)
class InputTurn:
    role: TurnRole
    text: str
    param: str  # position in the request, for errors


def without_effect() -> serializers.CharField:
    """Return a field for an option that does not change an answer, such as a user's id."""
    return serializers.CharField(
        required=False, allow_blank=True, max_length=512, help_text="Accepted, and not kept."
    )


def supported_options(
    data: Any, *, known: frozenset[str], neutral: Mapping[str, Sequence[Any]]
) -> dict[str, Any]:
    """Return the known options that have a value.

    `neutral`: OpenAI options that have no meaning here, with the values that request nothing; null
    always does. Every other option or value is refused by name.
    """
    if not isinstance(data, dict):
        raise ApiError("invalid_value", "Send a JSON object.")
    kept: dict[str, Any] = {}
    for name, value in data.items():
        if name not in known and name not in neutral:
            raise unsupported_parameter(cleaned(name))
        if value is None:
            continue
        if name in known:
            kept[name] = value
        elif not any(_is_same(value, asks_nothing) for asks_nothing in neutral[name]):
            raise unsupported_parameter(name, REASONS.get(name) or _allowed(neutral[name]))
    return kept


def _allowed(values: Sequence[Any]) -> str:
    shown = " or ".join(orjson.dumps(value).decode() for value in values)
    return f"Leave it out, or send {shown}." if shown else "Leave it out."


def _is_same(one: Any, other: Any) -> bool:
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def role_of(message: Any, param: str) -> TurnRole:
    if not isinstance(message, dict):
        raise invalid_parameter(param, f"{param} must be an object with role and content.")
    role = message.get("role")
    if role in ("tool", "function"):
        raise unsupported_parameter(f"{param}.role", NO_TOOLS)
    if not isinstance(role, str) or role not in ROLES:
        names = ", ".join(ROLES)
        raise invalid_parameter(f"{param}.role", f"{param}.role must be one of: {names}.")
    return ROLES[role]


def text_of(content: Any, param: str, *, part_types: Sequence[str]) -> str:
    """Read a string, or a list of parts with text. Raises ApiError for anything else."""
    if isinstance(content, list):
        texts = [
            _part(part, param, number, part_types=part_types) for number, part in enumerate(content)
        ]
        return "\n".join(filter(None, texts))
    try:
        return str(_TEXT.run_validation(content))
    except serializers.ValidationError as error:
        reason = error.detail[0] if isinstance(error.detail, list) else "It is not valid."
        raise invalid_parameter(param, f"{param}: {reason}") from None


def _part(part: Any, param: str, number: int, *, part_types: Sequence[str]) -> str:
    if not isinstance(part, dict) or part.get("type") not in part_types:
        kind = part.get("type") if isinstance(part, dict) else type(part).__name__
        message = f"{param} can have parts of text only, not {cleaned(str(kind))[:50]!r}."
        raise invalid_parameter(param, message)
    for name in part:
        if name not in PART_FIELDS | IGNORED_PART_FIELDS:
            raise unsupported_parameter(f"{param}.{number}.{cleaned(name)[:50]}")
    return text_of(part.get("text"), param, part_types=())


def answer_request(
    turns: Sequence[InputTurn],
    *,
    param: str,
    model: str,
    instructions: str = "",
    options: Mapping[str, Any],
) -> AnswerRequest:
    """Build the request: the last turn is the question, the earlier ones are the conversation.

    System messages are preferences: they follow the rules of every answer and cannot override them.
    `options` are further fields of POST /answer, under its names.
    """
    wishes = [instructions.strip(), *(t.text for t in turns if t.role == "system")]
    spoken = [turn for turn in turns if turn.role != "system" and turn.text]
    if not spoken or spoken[-1].role != "user":
        raise invalid_parameter(param, f"The last of {param} must be the user's question.")
    question = spoken.pop()
    if len(question.text) > MAX_QUERY_LENGTH:
        message = f"The question can have at most {MAX_QUERY_LENGTH} characters."
        raise invalid_parameter(question.param, message)
    asked, _ = answer_request_of(
        {
            "query": question.text,
            "messages": _latest(spoken),
            "model": answer_model(model) or "",
            "instructions": _joined(wishes, turns, param),
            **options,
        }
    )
    return asked


def _joined(wishes: Sequence[str], turns: Sequence[InputTurn], param: str) -> str:
    joined = "\n\n".join(filter(None, wishes))
    if len(joined) > MAX_INSTRUCTIONS:
        systems = [turn.param for turn in turns if turn.role == "system"]
        raise invalid_parameter(
            systems[0] if systems else "instructions",
            f"Instructions can have at most {MAX_INSTRUCTIONS} characters together.",
        )
    return joined


def _latest(turns: Sequence[InputTurn]) -> list[dict[str, str]]:
    """Return the turns before the question, as many as fit. Long chats remain possible, because the
    pipeline only uses the latest few."""
    kept: list[dict[str, str]] = []
    room = MAX_CONVERSATION
    for turn in reversed(turns[-MAX_MESSAGES:]):
        text = (without_numbers(turn.text) if turn.role == "assistant" else turn.text).strip()
        text = text[:MAX_MESSAGE].strip()
        room -= len(text)
        if room < 0:
            break
        if text:
            kept.append({"role": turn.role, "content": text})
    return kept[::-1]
