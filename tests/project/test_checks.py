"""Settings that cannot work together are refused at start-up."""

from typing import Any

import pytest

from ragsite.checks import settings_fit_together


def found() -> list[str | None]:
    return [message.id for message in settings_fit_together(None)]


def test_the_defaults_fit_together():
    assert found() == []


@pytest.mark.parametrize(("backend", "expected"), [("some.Engine", ["ragsite.E011"]), ("", [])])
def test_a_job_outlives_the_longest_reading(backend: str, expected: list[str], settings: Any):
    settings.OCR = {"BACKEND": backend}
    settings.EXTRACTION = {**settings.EXTRACTION, "wall_seconds": 10.0}
    settings.OCR_LIMITS = {**settings.OCR_LIMITS, "wall_seconds": 20.0}
    settings.JOB_TIMEOUT = 31
    assert found() == []
    settings.JOB_TIMEOUT = 30
    assert found() == expected


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TRUSTED_PROXIES", -1),
        ("WRONG_KEYS_PER_MINUTE", -1),
        ("QUOTAS", {"documents": -1}),
        ("DATABASE_TIMEOUTS", {"web": {"lock": -0.5}}),
    ],
)
def test_a_limit_is_not_negative(name: str, value: Any, settings: Any):
    setattr(settings, name, value)
    assert found() == ["ragsite.E012"]
