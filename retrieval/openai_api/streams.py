"""Answers as streams of server-sent events, and errors after the HTTP status has been sent."""

from collections.abc import AsyncGenerator
from typing import Any

from django.http import HttpResponseBase

from ragsite.platform.errors import envelope_of, openai_envelope
from ragsite.platform.logs import request_id
from ragsite.web.streaming import event_blocks
from retrieval.api.answers.runs import AnswerRun


def stream_of(run: AnswerRun, blocks: AsyncGenerator[bytes]) -> HttpResponseBase:
    response = event_blocks(blocks)
    # A stream that is refused is closed before its first event.
    response._resource_closers.append(run.close)  # type: ignore[attr-defined]
    return response


def error_of(run: AnswerRun, error: Exception) -> dict[str, Any]:
    """Return the error that ended the run in OpenAI's envelope."""
    error = run.failed(error)
    with request_id(run.trace):
        described = envelope_of(error)["error"]
        status = getattr(error, "status_code", 500)
        return openai_envelope(status, described["code"], described["message"])
