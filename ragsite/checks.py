"""System checks: settings that cannot work together are reported at start-up."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register
from django.utils.module_loading import import_string

from ragsite.settings.rerank import LLM_BY_ALIAS
from ragsite.web.guards.cross_origin import is_origin


@register()
def settings_fit_together(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    problems: list[CheckMessage] = []
    if settings.JOB_WORKERS < 1:
        problems.append(Error("JOB_WORKERS must be at least 1.", id="ragsite.E001"))
    if settings.JOB_LEASE_SECONDS < 5:
        problems.append(
            Error(
                "JOB_LEASE_SECONDS must be at least 5: a lease is renewed three times in its life.",
                id="ragsite.E002",
            )
        )
    if settings.LOG_FORMAT not in ("text", "json"):
        problems.append(Error("LOG_FORMAT must be 'text' or 'json'.", id="ragsite.E003"))
    if not 1 <= settings.SEARCH["candidates"] <= settings.SEARCH["ef_search"] <= 1000:
        problems.append(
            Error(
                "SEARCH_CANDIDATES must not exceed SEARCH_EF_SEARCH, which must not exceed 1000: "
                "the vector index returns at most ef_search rows.",
                id="ragsite.E004",
            )
        )
    if settings.RERANK["deadline_ms"] < 1 or not 1 <= settings.RERANK["top"] <= 1000:
        problems.append(
            Error(
                "RERANK_DEADLINE_MS must be at least 1 and RERANK_TOP between 1 and 1000.",
                id="ragsite.E010",
            )
        )
    if settings.OCR["BACKEND"] and _longest_reading() >= settings.JOB_TIMEOUT:
        problems.append(
            Error(
                "EXTRACT_WALL_SECONDS and OCR_WALL_SECONDS together must be less than JOB_TIMEOUT: "
                "a job that is stopped while it reads loses the pages it has.",
                id="ragsite.E011",
            )
        )
    if any(value < 0 for value in _limits()):
        problems.append(
            Error(
                "TRUSTED_PROXIES, WRONG_KEYS_PER_MINUTE, the quotas (QUOTA_…), the caps of "
                "language models (LLM_MONTH_…) and the database timeouts (DATABASE_…_SECONDS) must "
                "not be negative; 0 is none.",
                id="ragsite.E012",
            )
        )
    if settings.AUDIT_DAYS < 30:
        problems.append(
            Error(
                "AUDIT_DAYS must be at least 30: the database keeps younger events in any case.",
                id="ragsite.E014",
            )
        )
    if min(settings.LOGIN_THROTTLE.values()) < 1:
        problems.append(Error("Every LOGIN_… setting must be at least 1.", id="ragsite.E013"))
    return problems


@register()
def pages_are_origins(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    return [
        Error(
            f"CORS_ORIGINS has {origin!r}, which is not an origin as browsers send it.",
            hint="A scheme and a host, without a path: https://app.example.com. * is all.",
            id="ragsite.E015",
        )
        for origin in settings.CORS_ORIGINS
        if not is_origin(origin)
    ]


@register()
def language_models_can_be_used(
    app_configs: Sequence[Any] | None, **kwargs: Any
) -> list[CheckMessage]:
    models = settings.LANGUAGE_MODELS
    names = ", ".join(models)
    problems: list[CheckMessage] = [
        Error(
            f"{setting} names {alias!r}, which is not configured. There are: {names}.",
            hint="docs/language-models.md says how to add one.",
            id="ragsite.E050",
        )
        for setting, alias in (
            ("ANSWER_MODEL", settings.ANSWERS["model"]),
            ("ANSWER_VERIFIER", settings.ANSWERS["verifier"]),  # blank: no model
            ("RERANK_LLM_MODEL", _alias_of_reranker()),
        )
        if alias not in models and (alias or setting == "ANSWER_MODEL")
    ]
    if settings.ANSWERS["verifier"] == "extractive":
        sentence = "ANSWER_VERIFIER must be a language model: the extractive writer cannot judge."
        problems.append(Error(sentence, id="ragsite.E052"))
    if settings.ANSWERS["verifier_style"] not in ("llm", "minicheck"):
        sentence = "ANSWER_VERIFIER_STYLE must be 'llm' or 'minicheck'."
        problems.append(Error(sentence, id="ragsite.E053"))
    for alias, entry in models.items():
        if alias == "extractive":
            continue
        try:
            import_string(entry["BACKEND"])(**entry["OPTIONS"])
        except (ImportError, TypeError, ValueError) as error:
            sentence = f"The language model {alias!r} cannot be made: {error}."
            problems.append(Error(sentence, id="ragsite.E051"))
    return problems


def _alias_of_reranker() -> str:
    entry = settings.RERANKERS.get("llm", {})
    return str(entry["OPTIONS"]["model"]) if entry.get("BACKEND") == LLM_BY_ALIAS else ""


def _limits() -> list[float]:
    timeouts = [
        seconds for whose in settings.DATABASE_TIMEOUTS.values() for seconds in whose.values()
    ]
    limits = [settings.TRUSTED_PROXIES, settings.WRONG_KEYS_PER_MINUTE]
    return [*limits, *settings.QUOTAS.values(), *settings.LANGUAGE_MODEL_CAPS.values(), *timeouts]


@register(deploy=True)
def fit_for_others(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Reported by `check --deploy` only."""
    if settings.BEHIND_TLS:
        return []
    return [
        Warning(
            "BEHIND_TLS is off: passwords, sessions and API keys are sent unencrypted.",
            hint="Let a proxy end TLS, have it set X-Forwarded-Proto, and set BEHIND_TLS=true: "
            "cookies become secure, HTTP is redirected and HSTS is sent (docs/security.md).",
            id="ragsite.W001",
        )
    ]


def _longest_reading() -> float:
    """A file is read up to the first limit; if it needs OCR, the second limit starts then."""
    return float(settings.EXTRACTION["wall_seconds"] + settings.OCR_LIMITS["wall_seconds"])
