"""Answers as JSON: the quick writer says what the slow one said."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from uuid import UUID

import pytest
from rest_framework.renderers import JSONRenderer

from documents.models import Document
from ragsite.web.rendering import QuickJSONRenderer

PLAIN = {
    "text": "naïve “C++” \u2028 𝄞",
    "list": (1, 2.5, -0.1, 1e-9, None, True),
    "id": UUID(int=7),
    "when": datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC),
    "cost": Decimal("0.10"),
    "status": Document.Status.READY,
    "nested": {"empty": {}, "none": []},
}


@pytest.mark.parametrize("data", [PLAIN, [], {"huge": 2**80}, {1: "a number as key"}, "text", 0])
def test_both_writers_agree(data: object):
    assert json.loads(QuickJSONRenderer().render(data)) == json.loads(JSONRenderer().render(data))


def test_nothing_is_no_body_and_who_asks_for_indents_gets_them():
    assert QuickJSONRenderer().render(None) == b""
    indented = QuickJSONRenderer().render({"a": 1}, "application/json; indent=4")
    assert indented == b'{\n    "a": 1\n}'
