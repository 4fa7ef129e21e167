"""What can be wrong with golden sets, runs and feedback; each with a stable code."""

from typing import Any


class EvaluationError(Exception):
    """The base of all; the message is for people."""

    code = "evaluation_failed"
    details: Any = None


class BadGoldenSet(EvaluationError):
    """A file, a query or a judgement that cannot be taken."""

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
