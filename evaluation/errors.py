"""What can be wrong with golden sets and runs; each with a stable code."""


class EvaluationError(Exception):
    """The message says what to do."""

    code = "evaluation_failed"


class BadGoldenSet(EvaluationError):
    """A file, a query or a judgement that cannot be taken."""

    code = "bad_golden_set"


class NotFound(EvaluationError):
    code = "not_found"


class NothingToMeasure(EvaluationError):
    code = "nothing_to_measure"


class BadOptions(EvaluationError):
    code = "bad_options"
