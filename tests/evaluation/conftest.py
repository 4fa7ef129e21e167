"""A namespace with a few documents, and golden sets over it."""

from collections.abc import Callable
from typing import Any

import pytest

from documents.models import Document, Namespace
from evaluation.golden.curating import add_query, judge
from evaluation.models import GoldenSet
from ragsite.database.tenancy import namespace

from ..client import Api

TEXTS = {
    "harbour.md": "# Harbour\n\n## Lights\n\nThe harbour has twelve lights on granite towers.\n\n"
    "## Fees\n\nA mooring costs twelve crowns a night, paid to the harbour master.\n",
    "kiln.md": "# Kiln\n\n## Firing\n\nHeat the kiln to 1240 degrees for nine hours.\n\n"
    "## Glazes\n\nAsh glaze melts early and runs down the pot.\n",
    "bread.md": "# Bread\n\n## Dough\n\nKnead flour, water and salt, and let the dough rest.\n\n"
    "## Oven\n\nBake the loaf at 240 degrees until it sounds hollow.\n",
}


@pytest.fixture
def library(api: Api, tenant: Namespace, work: Callable[[], int]) -> dict[str, Document]:
    """Three documents, searchable, by their file names."""
    answer = api.upload(*TEXTS.items())
    assert answer.status == 202
    assert work() == 3
    with namespace(tenant.pk):
        return {d.source_uri.removeprefix("upload:"): d for d in Document.objects.all()}


@pytest.fixture
def golden_set(tenant: Namespace, library: dict[str, Document]) -> GoldenSet:
    """Two queries judged by spans, one by a document."""
    with namespace(tenant.pk):
        golden = GoldenSet.objects.create(namespace=tenant, name="trade")
        lights = add_query(golden, "how many lights does the harbour have?")
        judge(lights, library["harbour.md"], grade=3, quote="twelve lights")
        fee = add_query(golden, "what does a mooring cost?", tags=["money"])
        judge(fee, library["harbour.md"], grade=3, quote="A mooring costs twelve crowns a night")
        judge(fee, library["bread.md"], grade=0, is_hard_negative=True)
        firing = add_query(golden, "how hot must the kiln be?")
        judge(firing, library["kiln.md"], grade=2)
    return golden


@pytest.fixture
def rows() -> Callable[..., Any]:
    """rows(tenant, Model, **filters): what the namespace holds, as a list."""

    def read(tenant: Namespace, model: Any, **filters: Any) -> list[Any]:
        with namespace(tenant.pk):
            return list(model.objects.filter(**filters))

    return read
