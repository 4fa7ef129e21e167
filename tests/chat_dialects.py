"""The three chat formats of tests/chat_server.py, from the server's side.

Each dialect turns neutral steps (begin, piece, end, error) into the bytes of its stream, and a
whole answer into one JSON object. `finish` is "stop", "length" or "refused".
"""

import json
from collections.abc import Sequence
from typing import Any, Protocol

Json = dict[str, Any]
Tokens = tuple[int, int]  # prompt and completion


class Dialect(Protocol):
    name: str
    ending: str  # of the path
    stream_type: str

    def messages(self, body: Json) -> list[Json]: ...
    def is_streamed(self, body: Json) -> bool: ...
    def begin(self, body: Json, tokens: Tokens | None) -> bytes: ...
    def piece(self, text: str) -> bytes: ...
    def thought(self, text: str) -> bytes: ...
    def end(self, body: Json, finish: str, tokens: Tokens | None) -> bytes: ...
    def error(self, message: str) -> bytes: ...
    def comment(self) -> bytes: ...
    def whole(self, text: str, finish: str, tokens: Tokens | None) -> Json: ...


def dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


class OpenAI:
    name = "openai"
    ending = "/chat/completions"
    stream_type = "text/event-stream"
    reasons = {"stop": "stop", "length": "length", "refused": "content_filter"}

    def messages(self, body: Json) -> list[Json]:
        return list(body.get("messages", []))

    def is_streamed(self, body: Json) -> bool:
        return bool(body.get("stream", False))

    def begin(self, body: Json, tokens: Tokens | None) -> bytes:
        return self._chunk({"role": "assistant", "content": ""})

    def piece(self, text: str) -> bytes:
        return self._chunk({"content": text})

    def thought(self, text: str) -> bytes:
        return self._chunk({"reasoning_content": text, "content": None})

    def end(self, body: Json, finish: str, tokens: Tokens | None) -> bytes:
        events = self._chunk({}, self.reasons[finish])
        if tokens and (body.get("stream_options") or {}).get("include_usage"):
            events += self._event({"choices": [], "usage": self._usage(tokens)})
        return events + b"data: [DONE]\n\n"

    def error(self, message: str) -> bytes:
        return self._event({"error": {"message": message, "type": "server_error"}})

    def comment(self) -> bytes:
        return b": still thinking\n\n"

    def whole(self, text: str, finish: str, tokens: Tokens | None) -> Json:
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": self.reasons[finish]}
        answer: Json = {"id": "1", "object": "chat.completion", "choices": [choice]}
        return {**answer, "usage": self._usage(tokens)} if tokens else answer

    def _usage(self, tokens: Tokens) -> Json:
        prompt, completion = tokens
        total = prompt + completion
        return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total}

    def _chunk(self, delta: Json, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return self._event({"id": "1", "object": "chat.completion.chunk", "choices": [choice]})

    def _event(self, value: Json) -> bytes:
        return f"data: {dumped(value)}\n\n".encode()


class Ollama:
    name = "ollama"
    ending = "/api/chat"
    stream_type = "application/x-ndjson"
    reasons = {"stop": "stop", "length": "length", "refused": "stop"}  # it has no word for it

    def messages(self, body: Json) -> list[Json]:
        return list(body.get("messages", []))

    def is_streamed(self, body: Json) -> bool:
        return bool(body.get("stream", True))

    def begin(self, body: Json, tokens: Tokens | None) -> bytes:
        return b""

    def piece(self, text: str) -> bytes:
        return self._line({"message": {"role": "assistant", "content": text}, "done": False})

    def thought(self, text: str) -> bytes:
        message = {"role": "assistant", "content": "", "thinking": text}
        return self._line({"message": message, "done": False})

    def end(self, body: Json, finish: str, tokens: Tokens | None) -> bytes:
        return self._line(self.whole("", finish, tokens))

    def error(self, message: str) -> bytes:
        return self._line({"error": message})

    def comment(self) -> bytes:
        return b"\n"

    def whole(self, text: str, finish: str, tokens: Tokens | None) -> Json:
        answer: Json = {
            "message": {"role": "assistant", "content": text},
            "done": True,
            "done_reason": self.reasons[finish],
        }
        if tokens:
            answer |= {"prompt_eval_count": tokens[0], "eval_count": tokens[1]}
        return answer

    def _line(self, value: Json) -> bytes:
        return f"{dumped({'model': 'm', **value})}\n".encode()


class Anthropic:
    name = "anthropic"
    ending = "/v1/messages"
    stream_type = "text/event-stream"
    reasons = {"stop": "end_turn", "length": "max_tokens", "refused": "refusal"}

    def messages(self, body: Json) -> list[Json]:
        system = body.get("system")
        first = [{"role": "system", "content": system}] if system else []
        return [*first, *body.get("messages", [])]

    def is_streamed(self, body: Json) -> bool:
        return bool(body.get("stream", False))

    def begin(self, body: Json, tokens: Tokens | None) -> bytes:
        message: Json = {"id": "1", "role": "assistant", "content": [], "stop_reason": None}
        if tokens:
            message["usage"] = {"input_tokens": tokens[0], "output_tokens": 1}
        block = {"type": "text", "text": ""}
        return (
            self._event("message_start", message=message)
            + self._event("content_block_start", index=0, content_block=block)
            + self._event("ping")
        )

    def piece(self, text: str) -> bytes:
        delta = {"type": "text_delta", "text": text}
        return self._event("content_block_delta", index=0, delta=delta)

    def thought(self, text: str) -> bytes:
        delta = {"type": "thinking_delta", "thinking": text}
        return self._event("content_block_delta", index=0, delta=delta)

    def end(self, body: Json, finish: str, tokens: Tokens | None) -> bytes:
        fields: Json = {"delta": {"stop_reason": self.reasons[finish]}}
        if tokens:
            fields["usage"] = {"output_tokens": tokens[1]}
        return (
            self._event("content_block_stop", index=0)
            + self._event("message_delta", **fields)
            + self._event("message_stop")
        )

    def error(self, message: str) -> bytes:
        return self._event("error", error={"type": "overloaded_error", "message": message})

    def comment(self) -> bytes:
        return self._event("ping")

    def whole(self, text: str, finish: str, tokens: Tokens | None) -> Json:
        answer: Json = {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "text", "text": text}],
            "stop_reason": self.reasons[finish],
        }
        if tokens:
            answer["usage"] = {"input_tokens": tokens[0], "output_tokens": tokens[1]}
        return answer

    def _event(self, kind: str, **fields: Any) -> bytes:
        return f"event: {kind}\ndata: {dumped({'type': kind, **fields})}\n\n".encode()


DIALECTS: Sequence[Dialect] = (OpenAI(), Ollama(), Anthropic())


def dialect_of(path: str) -> Dialect | None:
    return next((d for d in DIALECTS if path.endswith(d.ending)), None)
