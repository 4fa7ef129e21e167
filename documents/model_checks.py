"""System checks: models in the settings that do not exist or do not match."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from .embedders.model_files import ModelFiles


@register()
def embedding_dimensions(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Compare EMBEDDING_DIM with the model. A model on a hub is checked when a profile is
    created."""
    aliases = settings.EMBEDDING_ALIASES
    if not aliases.dimensions:
        return []
    options = settings.EMBEDDERS[aliases.embedder]["OPTIONS"]
    actual = options.get("dimensions") or _own_dimensions(options.get("model", ""))
    if actual in (None, aliases.dimensions):
        return []
    return [
        Error(
            f"EMBEDDING_DIM is {aliases.dimensions}, but the embedder {aliases.embedder!r} gives "
            f"vectors of {actual} dimensions.",
            hint="Leave EMBEDDING_DIM out: the model decides.",
            id="ragsite.E021",
        )
    ]


def _own_dimensions(model: str) -> int | None:
    if model and not Path(model).is_dir():
        return None
    return ModelFiles(model).dimensions


@register()
def chunking_model(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    alias = settings.CHUNKING["model"]
    models = [name for name in settings.LANGUAGE_MODELS if name != "extractive"]
    if not alias or alias in models:
        return []
    there_are = f"there are {', '.join(models)}" if models else "there is none"
    return [
        Error(
            f"CHUNKING_MODEL is {alias!r}, which is no language model of LANGUAGE_MODELS: "
            f"{there_are}.",
            id="ragsite.E022",
        )
    ]
