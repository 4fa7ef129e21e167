"""Errors of golden sets, runs and feedback, each with a stable code."""

from typing import Any


class EvaluationError(Exception):
    """The base class; the message is shown to users."""

    code = "evaluation_failed"
    details: Any = None


class BadGoldenSet(EvaluationError):
    """A file, query or judgement that cannot be accepted."""

    code = "bad_golden_set"


class NotFound(EvaluationError):
    code = "not_found"


class NothingToMeasure(EvaluationError):
    code = "nothing_to_measure"


class BadOptions(EvaluationError):
    code = "bad_options"


class UnknownQuery(EvaluationError):
    code = "unknown_query"


class UnknownChunks(EvaluationError):
    code = "unknown_chunks"
