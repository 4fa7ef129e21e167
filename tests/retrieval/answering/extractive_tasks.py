"""Tasks for the extractive writer, from plain texts."""

import re
import threading
import time
from dataclasses import replace
from typing import Any

from documents.language_models.base import Usage
from retrieval.answering.requests import AnswerRequest, Evidence, Preferences
from retrieval.answering.writers.base import WritingTask
from retrieval.answering.writers.extractive import ExtractiveWriter
from retrieval.requests import SearchRequest

from .evidence import evidence

MARKER = re.compile(r"\s\[cite:(\w+)\]")


def source(name: str, text: str, *, relevance: float | None = 0.9, **fields: Any) -> Evidence:
    made = evidence(name, text, **fields)
    candidate = replace(made.hit.candidate, relevance=relevance)
    return replace(made, hit=replace(made.hit, candidate=candidate))


def task(question: str, *sources: Evidence, **fields: Any) -> WritingTask:
    return WritingTask(
        question=question,
        evidence=sources,
        request=AnswerRequest(SearchRequest(question)),
        preferences=Preferences(),
        min_relevance=fields.pop("min_relevance", 0.0),
        **fields,
    )


def write(given: WritingTask, writer: ExtractiveWriter | None = None) -> str:
    chosen = writer or ExtractiveWriter()
    pieces = list(chosen.write(given, deadline=time.monotonic() + 30, cancelled=threading.Event()))
    assert pieces[-1].finish == "stop"
    assert pieces[-1].usage == Usage(0, 0)
    assert all(piece.finish is None for piece in pieces[:-1])
    return "".join(piece.text for piece in pieces)
