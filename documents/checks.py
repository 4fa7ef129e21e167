"""System checks: whether the sandbox for reading untrusted files works on this machine."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Info, Warning, register

from documents.extractors.confinement.sandbox import MODES, REQUIRED
from documents.ingestion.extraction import SandboxWorker, SandboxWorkerFailed, ocr_options


@register()
def sandbox_is_available(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    mode = settings.EXTRACTION["sandbox"]["mode"]
    if mode not in MODES:
        names = ", ".join(MODES)
        return [Error(f"EXTRACT_SANDBOX must be one of: {names}.", id="ragsite.E030")]
    if mode == REQUIRED:  # starts a process, so only if the setting requires it
        try:
            _survey()
        except SandboxWorkerFailed as error:
            return [Error(str(error), id="ragsite.E031")]
    return []


@register(deploy=True)
def readers_are_confined(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    if settings.EXTRACTION["sandbox"]["mode"] not in MODES:
        return []
    try:
        protection = _survey()
    except SandboxWorkerFailed as error:
        return [Error(str(error), id="ragsite.E031")]
    missing = "; ".join(f"{layer}: {reason}" for layer, reason in protection["missing"].items())
    if not missing:
        return []
    sentence = f"Untrusted files are read without these layers of the sandbox: {missing}."
    hint = "docs/security.md explains what each layer protects against."
    if protection["is_complete"]:  # the missing layers are only a second line of defence
        return [Info(sentence, hint=hint, id="ragsite.I030")]
    return [Warning(sentence, hint=hint, id="ragsite.W030")]


@register()
def chroma_has_one_process(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    embedded = [
        alias for alias, entry in settings.STORES.items() if entry.get("OPTIONS", {}).get("path")
    ]
    sentence = "CHROMA_PATH is for one process, and the service has several: set CHROMA_URL."
    return [Warning(sentence, id="ragsite.W040")] if embedded else []


def _survey() -> dict[str, Any]:
    worker = SandboxWorker(**settings.EXTRACTION)
    try:
        return worker.survey(ocr_options())
    finally:
        worker.close()
