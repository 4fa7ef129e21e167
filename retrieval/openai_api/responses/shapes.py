"""Responses as plain data: the object itself, its items and their annotations."""

import time
import uuid
from collections.abc import Sequence
from typing import Any

from documents.language_models.base import Usage
from retrieval.answering.requests import AnswerResult, Evidence
from retrieval.openai_api.citing import NumberedCitation

from .file_search import Attributes, attributes_of, file_id, filename, results_of
from .requests import ResponseRequest

Shape = dict[str, Any]
INCOMPLETE = {"length": "max_output_tokens", "refused": "content_filter"}


class ResponseShape:
    """One response: its ids, and its representation at each stage."""

    def __init__(self, request: ResponseRequest) -> None:
        self._request = request
        self._created_at = int(time.time())
        self._attributes: Attributes = {}
        tool = request.file_search
        self._max_results = tool.options.get("k") if tool else None
        self.id = f"resp_{uuid.uuid4().hex}"
        self.search_id = f"fs_{uuid.uuid4().hex}"
        self.message_id = f"msg_{uuid.uuid4().hex}"

    def response(self, status: str, output: Sequence[Shape], **more: Any) -> Shape:
        fields, tool = self._request.fields, self._request.file_search
        return {
            "id": self.id,
            "object": "response",
            "created_at": self._created_at,
            "status": status,
            "background": False,
            "error": None,
            "incomplete_details": None,
            "instructions": fields["instructions"] or None,
            "max_output_tokens": fields.get("max_output_tokens"),
            "metadata": fields.get("metadata", {}),
            "model": fields["model"],
            "output": list(output),
            "parallel_tool_calls": False,
            "previous_response_id": None,
            "reasoning": {"effort": None, "summary": None},
            "service_tier": "default",
            "store": False,
            "temperature": fields.get("temperature"),
            "text": {"format": {"type": "text"}},
            "tool_choice": "auto",
            "tools": [tool.given] if tool else [],
            "top_p": None,
            "truncation": "auto",
            "usage": None,
            "user": None,
            **more,
        }

    def ended(self, result: AnswerResult, output: Sequence[Shape]) -> Shape:
        reason = INCOMPLETE.get(result.finish)
        return self.response(
            "incomplete" if reason else "completed",
            output,
            incomplete_details={"reason": reason} if reason else None,
            usage=_usage(result.usage),
        )

    def failed(self, output: Sequence[Shape], error: Shape) -> Shape:
        """`error`: as in OpenAI's envelope. Its code is ours; theirs are few."""
        is_limit = error["type"] == "rate_limit_error"
        shown = {
            "code": "rate_limit_exceeded" if is_limit else "server_error",
            "message": error["message"],
            "type": error["code"],
            "request_id": error["request_id"],
        }
        return self.response("failed", output, error=shown)

    def read_attributes(self, namespace_id: uuid.UUID, evidence: Sequence[Evidence]) -> None:
        """Read the attributes of the files in the search results from the database."""
        tool = self._request.file_search
        if tool is not None and self._request.includes_results:
            self._attributes = attributes_of(namespace_id, tool, evidence)

    def search(self, status: str, question: str = "", evidence: Sequence[Evidence] = ()) -> Shape:
        has_results = self._request.includes_results and status == "completed"
        return {
            "id": self.search_id,
            "type": "file_search_call",
            "status": status,
            "queries": [question] if question else [],
            "results": results_of(evidence, self._attributes)[: self._max_results]
            if has_results
            else None,
        }

    def message(self, status: str, content: Sequence[Shape]) -> Shape:
        return {
            "id": self.message_id,
            "type": "message",
            "status": status,
            "role": "assistant",
            "content": list(content),
        }


def text_part(text: str, annotations: Sequence[Shape]) -> Shape:
    return {
        "type": "output_text",
        "text": text,
        "annotations": list(annotations),
        "logprobs": [],
    }


def annotations_of(cited: NumberedCitation) -> list[Shape]:
    """Return two annotations per citation: one with its file, one with the link that opens it."""
    evidence, place = cited.citation.evidence, {**cited.place, "url": cited.target.url}
    return [
        {
            "type": "file_citation",
            "index": cited.start,
            "file_id": file_id(evidence),
            "filename": filename(evidence),
            **place,
        },
        {
            "type": "url_citation",
            "title": cited.target.title,
            "start_index": cited.start,
            "end_index": cited.end,
            **place,
        },
    ]


def _usage(usage: Usage) -> Shape:
    return {
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": usage.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
    }
