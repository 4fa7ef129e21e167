"""What the query log keeps: all of a question, a part of it, its hash, or not every question."""

import random
import re
from typing import Any

import pytest

from documents.models import Namespace
from documents.text.redaction import redacted
from ragsite.database.tenancy import namespace
from retrieval import query_log
from retrieval.models import QueryLog

from ..client import Api
from ..linear_time import assert_grows_linearly

QUESTION = "what did ann@example.com pay for 4012 8888 8888 1881 in 2024?"


def lines(tenant: Namespace) -> list[QueryLog]:
    query_log.flush()
    with namespace(tenant.pk):
        return list(QueryLog.objects.order_by("created_at"))


def keep(settings: Any, **changes: Any) -> None:
    settings.QUERY_LOG_PRIVACY = {**settings.QUERY_LOG_PRIVACY, **changes}


def test_addresses_and_numbers_are_replaced_in_question_and_filters(
    api: Api, tenant: Namespace, settings: Any
):
    keep(settings, text="redacted", pattern=re.compile("in 20.."))
    assert api.query(QUESTION, filters={"tags": ["bob@example.com", "plain"]}).status == 200
    (line,) = lines(tenant)
    assert line.query == "what did [email] pay for [number] [redacted]?"
    assert line.filters == {"tags": ["[email]", "plain"]}


def test_a_hash_counts_equal_questions_of_one_namespace_only(
    api_of: Any, tenant: Namespace, other_tenant: Namespace, settings: Any
):
    api = api_of(tenant)
    keep(settings, text="hash")
    for question in (QUESTION, f"  {QUESTION.upper()} ", "another"):
        api.query(question, filters={"tags": ["secret"]})
    api_of(other_tenant).query(QUESTION)
    first, again, another = lines(tenant)
    assert first.query == again.query != another.query
    assert query_log.is_hashed(first.query)
    assert first.filters == {}
    assert [line.query for line in lines(other_tenant)] != [first.query]


def test_stricter_rules_reach_the_rows_that_are_there(
    api: Api, tenant: Namespace, other_tenant: Namespace, settings: Any
):
    api.query(QUESTION)
    lines(tenant)
    query_log.delete_old_rows()
    assert lines(tenant)[0].query == QUESTION  # by default everything is kept
    keep(settings, text="redacted")
    query_log.delete_old_rows()
    assert lines(tenant)[0].query == "what did [email] pay for [number] in 2024?"
    keep(settings, text="redacted", pattern=re.compile("2024"))
    query_log.delete_old_rows()
    assert lines(tenant)[0].query == "what did [email] pay for [number] in [redacted]?"
    keep(settings, text="hash")
    query_log.delete_old_rows()
    hashed = lines(tenant)[0].query
    assert query_log.is_hashed(hashed)
    query_log.delete_old_rows()
    keep(settings, text="redacted")
    query_log.delete_old_rows()
    assert lines(tenant)[0].query == hashed  # what is gone does not come back


def test_every_batch_is_rewritten(
    api: Api, tenant: Namespace, settings: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(query_log, "REWRITE_BATCH", 2)
    for number in range(5):
        api.query(f"question {number}")
    lines(tenant)
    keep(settings, text="hash")
    query_log.delete_old_rows()
    assert all(query_log.is_hashed(line.query) for line in lines(tenant))


def test_only_a_share_of_the_questions_is_logged(
    api: Api, tenant: Namespace, settings: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(query_log.random, "random", random.Random(1).random)
    keep(settings, sample=0.5)
    ids = [api.query(f"question {number}").body["query_id"] for number in range(40)]
    logged = [query_id for query_id in ids if query_id]
    assert 10 < len(logged) < 30
    assert {str(line.pk) for line in lines(tenant)} == set(logged)
    keep(settings, sample=0.0)
    assert api.query("one more").body["query_id"] is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mail a.b+c@mail.example.co.uk now", "mail [email] now"),
        ("see https://example.com/a?b=c for it", "see [url] for it"),
        ("call +49 (0)30 123-45 67", "call [number]"),
        ("version 3.12 of 2024", "version 3.12 of 2024"),
        ("a@b and 1234", "a@b and 1234"),
    ],
)
def test_what_is_redacted(text: str, expected: str):
    assert redacted(text, ("email", "url", "number")) == expected
    assert redacted(text, ()) == text


@pytest.mark.parametrize("piece", ["a" * 100, "1" * 100, "a.", "@a.", "1 ", "http://a", "+(1)-"])
def test_redaction_takes_linear_time(piece: str):
    text = piece * 4000
    assert_grows_linearly(lambda each: redacted(each, ("email", "url", "number")), text, text * 4)
