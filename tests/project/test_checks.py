"""Settings that cannot work together are refused at start-up."""

from typing import Any

import pytest

from ragsite.checks import language_models_can_be_used, settings_fit_together


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
        ("LANGUAGE_MODEL_CAPS", {"month_cost": -1.0}),
        ("DATABASE_TIMEOUTS", {"web": {"lock": -0.5}}),
    ],
)
def test_a_limit_is_not_negative(name: str, value: Any, settings: Any):
    setattr(settings, name, value)
    assert found() == ["ragsite.E012"]


OPENAI = "documents.language_models.openai.OpenAIModel"
GOOD = {"url": "http://127.0.0.1:1", "model": "m"}


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ({}, []),
        ({"model": "gpt", "verifier": "gpt"}, []),
        ({"model": "typo"}, ["ANSWER_MODEL names 'typo'"]),
        ({"model": ""}, ["ANSWER_MODEL names ''"]),
        ({"verifier": "typo"}, ["ANSWER_VERIFIER names 'typo'"]),
    ],
)
def test_models_of_answers_must_be_configured(
    answers: dict[str, str], expected: list[str], settings: Any
):
    settings.LANGUAGE_MODELS = {
        "extractive": settings.LANGUAGE_MODELS["extractive"],
        "gpt": {"BACKEND": OPENAI, "OPTIONS": GOOD},
    }
    settings.ANSWERS = {**settings.ANSWERS, **answers}
    said = [message.msg for message in language_models_can_be_used(None)]
    assert [text.split(",")[0] for text in said] == expected
    assert all("extractive, gpt" in text for text in said)


@pytest.mark.parametrize(
    ("backend", "options"),
    [
        (OPENAI, {"url": "http://127.0.0.1:1", "model": ""}),
        (OPENAI, {**GOOD, "colour": "blue"}),
        (OPENAI, {**GOOD, "url": "http://me:sk-secret@host"}),
        (OPENAI, {**GOOD, "key": "sk-secret with blanks"}),
        ("documents.nothing.Model", GOOD),
        ("", GOOD),
    ],
)
def test_a_language_model_that_cannot_be_made_is_named(
    backend: str, options: dict[str, Any], settings: Any
):
    settings.LANGUAGE_MODELS = {
        "extractive": settings.LANGUAGE_MODELS["extractive"],
        "mine": {"BACKEND": backend, "OPTIONS": options},
    }
    (message,) = language_models_can_be_used(None)
    assert message.id == "ragsite.E051"
    assert "'mine'" in message.msg
    assert "secret" not in message.msg
