"""Checks that schemathesis does not have: whose words an answer may hold, what an error is."""

import os
from typing import Any

import schemathesis

# Words that only other tenants' documents, names and questions hold.
FOREIGN_WORDS = os.environ.get("FUZZ_FOREIGN_WORDS", "").split()
WITHOUT_KEY = os.environ.get("FUZZ_WITHOUT_KEY") == "1"


@schemathesis.check
def no_words_of_other_tenants(ctx: Any, response: Any, case: Any) -> None:
    for word in FOREIGN_WORDS:
        assert word.encode() not in response.content, f"{word!r} belongs to another tenant"


@schemathesis.check
def errors_come_in_the_envelope(ctx: Any, response: Any, case: Any) -> None:
    if response.status_code >= 400:
        error = response.json()["error"]
        assert error.keys() == {"code", "message", "details", "request_id"}, error
        assert error["code"], error


@schemathesis.check
def nothing_happens_without_a_key(ctx: Any, response: Any, case: Any) -> None:
    if WITHOUT_KEY:
        # Paths that no route has, and bodies that are too large, are refused before the key.
        assert response.status_code in (401, 404, 413), response.status_code
