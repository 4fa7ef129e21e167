"""Errors of evaluations in the API's error envelope."""

from collections.abc import Iterator
from contextlib import contextmanager

from evaluation.errors import EvaluationError
from evaluation.measures.metrics import UnknownMeasure
from ragsite.platform.errors import ApiError

STATUS = {"not_found": 404, "nothing_to_measure": 409}


@contextmanager
def enveloped() -> Iterator[None]:
    try:
        yield
    except EvaluationError as error:
        http_status = STATUS.get(error.code, 422)
        raise ApiError(
            error.code, str(error), http_status=http_status, details=error.details
        ) from None
    except UnknownMeasure as error:
        raise ApiError("bad_options", str(error), http_status=422) from None
