"""A small library of documents, indexed with the hashing embedder or the real model."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.cache import caches

from documents.accounts import keys
from documents.models import Namespace
from ragsite.database.tenancy import operator
from retrieval.tools.base import ToolContext

from ..client import Api

LIBRARY = {
    "lighthouse.md": """---
title: The Lighthouse
tags: [coast, history]
date: 2020-05-01
author: {name: Ada, team: keepers}
---
# Building

The tower is made of granite and stands forty metres above the rock. Its keepers lived inside.

## The lamp

Every night the lamp turned once in ten seconds. Oil was carried up by hand until electricity came.

## Turning

```python
def turn_lamp(seconds: int = 10) -> None:
    rotate(360, seconds)
```
""",
    "harbour.md": """---
title: The Harbour
tags: [coast, trade]
date: 2022-01-15
---
# Trade

Fishing boats leave the harbour before dawn and sell their catch on the quay by noon.

# Rules

Boats longer than twelve metres need a pilot. The error code ERR_CONN_42 means the radio is silent.
""",
    "kitchen.txt": "Knead the dough for ten minutes and let it rest.\n\nBake it at 220 degrees.",
}


@pytest.fixture
def library(api: Api, work: Callable[[], int]) -> Api:
    api.upload(*LIBRARY.items())
    assert work() == 3
    return api


@pytest.fixture
def real_library(
    api_of: Callable[..., Api], real_tenant: Namespace, work: Callable[[], int]
) -> Api:
    api = api_of(real_tenant)
    api.upload(*LIBRARY.items())
    assert work() == 3
    return api


@pytest.fixture
def no_agent_limit(settings: Any) -> Iterator[None]:
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "agent": 0}
    yield
    caches["results"].clear()


@pytest.fixture
def context_of() -> Callable[..., ToolContext]:
    def create(tenant: Namespace, scopes: tuple[str, ...] = ("read", "write")) -> ToolContext:
        with operator():
            key, _ = keys.issue(tenant, scopes=scopes)
        return ToolContext(tenant.pk, key.pk, frozenset(scopes), request_id="trace-1")

    return create


@pytest.fixture
def context(context_of: Callable[..., ToolContext], tenant: Namespace) -> ToolContext:
    return context_of(tenant)
