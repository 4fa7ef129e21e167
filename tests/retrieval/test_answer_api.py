"""/answer over HTTP, with a scripted pipeline: what is taken, what is answered, what is refused."""

import hashlib
import json
import logging
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from documents.language_models.base import (
    LanguageModelBrokeOff,
    LanguageModelFailed,
    LanguageModelRefused,
    LanguageModelTimeout,
    LanguageModelUnavailable,
    Message,
)
from documents.models import Namespace
from ragsite.platform.errors import ApiError
from retrieval.answering import answer as pipeline
from retrieval.answering.requests import PromptPreview
from retrieval.api.answers import runs
from retrieval.api.answers.serializers import MAX_CONVERSATION, MAX_MESSAGE, AnswerSerializer

from ..client import Answer, Api
from .scripted_pipeline import ANSWER, TEXT, Script, evidence, failing


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Script:
    made = Script()
    monkeypatch.setattr(pipeline, "answer", made.answer)
    return made


def ask(api: Api, **fields: Any) -> Answer:
    return api.post("answer", {"query": "How high?", **fields})


def fields_of(answer: Answer) -> dict[str, str]:
    assert (answer.status, answer.code) == (422, "invalid_request"), answer.body
    return {f["field"]: f["message"] for f in answer.body["error"]["details"]["fields"]}


def test_an_answer_has_the_shape_that_its_schema_promises(api: Api, script: Script):
    answer = ask(api)
    assert answer.status == 200, answer.body
    body = answer.body
    assert (body["query"], body["question"], body["answer"]) == ("How high?", "How high?", ANSWER)
    assert (body["is_answered"], body["grounded"], body["missing"]) == (True, True, "")
    assert body["usage"] == {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "total_tokens": 120,
        "is_estimated": False,
        "cost": 0.25,
    }
    assert body["diagnostics"]["checks"]["unknown_ids"] == 1
    assert body["diagnostics"]["searches"] == ["How high?"]
    assert "verification" not in body
    optional = {"verification"}
    assert set(AnswerSerializer().fields) - optional == set(body)
    for name in ("citations", "sources", "sentences", "uncertainties"):
        promised = AnswerSerializer().fields[name].child.fields  # type: ignore[attr-defined]
        assert set(promised) == set(body[name][0]), name


def test_citations_have_anthropics_shape_and_name_where_they_stand(api: Api, script: Script):
    body = ask(api).body
    (citation,) = body["citations"]
    assert citation["type"] == "char_location"
    start, end = citation["start_char_index"], citation["end_char_index"]
    assert TEXT[start:end] == citation["cited_text"]
    assert citation["checksum"] == hashlib.sha256(citation["cited_text"].encode()).hexdigest()
    assert (citation["start_page_number"], citation["end_page_number"]) == (3, 4)  # exclusive
    span = citation["answer_span"]
    assert ANSWER[span["start"] : span["end"]] == "It is forty metres high"
    source = body["sources"][citation["document_index"]]
    for name in ("id", "document_id", "document_version", "chunk_id", "section", "source_uri"):
        assert source[name] == citation[name]
    assert [s["cited"] for s in body["sources"]] == [True, False]
    assert source["as_of"] == "2020-05-01T00:00:00Z"


def test_a_source_without_pages_has_none(api: Api, script: Script):
    assert ask(api).body["sources"][1]["page"] is None


def test_uncertainties_say_which_value_stands_where(api: Api, script: Script):
    body = ask(api).body
    (uncertainty,) = body["uncertainties"]
    (value,) = uncertainty["values"]
    assert (uncertainty["kind"], uncertainty["answer_span"]) == (
        "conflict",
        {"start": 6, "end": 11},
    )
    assert TEXT[value["span"]["start"] : value["span"]["end"]] == value["text"] == "forty"
    assert value["document_id"] == body["sources"][0]["document_id"]


def test_every_field_reaches_the_pipeline(api: Api, tenant: Namespace, script: Script):
    answer = ask(
        api,
        k=3,
        mode="lexical",
        filters={"tags": ["coast"]},
        model="extractive",
        temperature=0.5,
        max_tokens=50,
        stop=["\n\n", "END"],
        instructions="Briefly.",
        verify=True,
        expand_query="hyde",
        messages=[{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Yes?"}],
    )
    assert answer.status == 200, answer.body
    (asked,) = script.requests
    assert (asked.search.query, asked.search.k, asked.search.mode) == ("How high?", 3, "lexical")
    assert (asked.model, asked.temperature, asked.max_tokens) == ("extractive", 0.5, 50)
    assert (asked.stop, asked.instructions) == (("\n\n", "END"), "Briefly.")
    assert (asked.verify, asked.expand_query) == (True, "hyde")
    assert asked.messages == (Message("user", "Hello"), Message("assistant", "Yes?"))
    assert script.namespaces == [tenant.pk]


def test_the_question_may_be_the_last_message(api: Api, script: Script):
    messages = [
        {"role": "user", "content": "How high is it?"},
        {"role": "assistant", "content": "Forty metres."},
        {"role": "user", "content": "And how old?"},
    ]
    assert api.post("answer", {"messages": messages}).body["query"] == "And how old?"
    assert api.post("answer", {"messages": messages, "query": "And how old?"}).status == 200
    for asked in script.requests:
        assert asked.search.query == "And how old?"
        assert [m.content for m in asked.messages] == ["How high is it?", "Forty metres."]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"query": ""}, "query"),
        ({"query": "x" * 4001}, "query"),
        ({"temperature": 3}, "temperature"),
        ({"temperature": "warm"}, "temperature"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"stop": ["a"] * 5}, "stop"),
        ({"stop": "END"}, "stop"),
        ({"stop": ["x" * 101]}, "stop.0"),
        ({"instructions": "x" * 4001}, "instructions"),
        ({"messages": [{"role": "system", "content": "Obey."}]}, "messages.0.role"),
        ({"messages": [{"role": "user", "content": ""}]}, "messages.0.content"),
        ({"messages": [{"role": "user", "content": "x", "name": "me"}]}, "messages.0.name"),
        (
            {"messages": [{"role": "user", "content": "x" * (MAX_MESSAGE + 1)}]},
            "messages.0.content",
        ),
        ({"messages": [{"role": "user", "content": "x"}] * 51}, "messages"),
        (
            {"messages": [{"role": "user", "content": "x" * MAX_MESSAGE}] * 7},
            "messages",
        ),
        ({"expand_query": "think"}, "expand_query"),
        ({"stream": "yes"}, "stream"),
        ({"verify": 1}, "verify"),
        ({"temprature": 1}, "temprature"),
        ({"k": 1000}, "k"),
    ],
)
def test_what_is_not_acceptable_is_named(
    api: Api, script: Script, fields: dict[str, Any], field: str
):
    assert field in fields_of(ask(api, **fields))
    assert fields_of(ask(api, **{"stream": True, **fields}))  # before any stream begins
    assert script.requests == []
    assert 7 * MAX_MESSAGE > MAX_CONVERSATION


@pytest.mark.parametrize(
    "body",
    [{}, {"messages": []}, {"messages": [{"role": "assistant", "content": "Yes?"}]}],
)
def test_there_has_to_be_a_question(api: Api, script: Script, body: dict[str, Any]):
    assert "the user's" in fields_of(api.post("answer", body))["query"]


def test_a_model_nobody_configured_is_refused_with_those_there_are(api: Api, script: Script):
    for stream in (False, True):
        refused = ask(api, model="gpt-12", stream=stream)
        assert (refused.status, refused.code) == (422, "model_not_configured")
        assert "extractive" in refused.body["error"]["details"]["available"]
    assert script.requests == []


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (LanguageModelFailed("It failed."), 502),
        (LanguageModelRefused("It refused."), 502),
        (LanguageModelBrokeOff("It broke off."), 502),
        (LanguageModelUnavailable("It is away."), 503),
        (LanguageModelTimeout("It is slow."), 504),
        (ApiError("model_not_configured", "No such model.", http_status=422), 422),
        (ValueError("secret details"), 500),
    ],
)
def test_a_pipeline_that_fails_is_an_error_with_its_code(
    api: Api, script: Script, error: Exception, status: int
):
    script.pieces = failing(error)
    failed = ask(api)
    code = getattr(error, "code", "internal_error")
    assert (failed.status, failed.code) == (status, code)
    assert ("Retry-After" in failed.headers) is (status == 503)
    assert "secret" not in json.dumps(failed.body)
    assert script.ended == 1
    assert runs.slots.count() == 0


def test_beyond_its_places_a_namespace_and_the_process_are_busy(
    api: Api, api_of: Callable[..., Api], other_tenant: Namespace, tenant: Namespace, script: Script
):
    slots = runs.slots
    held = [tenant.pk] * slots.per_owner
    total = slots.total or 0
    try:
        for owner in held:
            slots.take(owner)
        for stream in (False, True):
            refused = ask(api, stream=stream)
            assert (refused.status, refused.code) == (429, "too_many_answers")
            assert refused.headers["Retry-After"]
        assert ask(api_of(other_tenant)).status == 200
        while slots.count() < total:
            held.append(uuid.uuid4())
            slots.take(held[-1])
        refused = ask(api_of(other_tenant))
        assert (refused.status, refused.code) == (503, "busy")
        assert refused.headers["Retry-After"]
    finally:
        for owner in held:
            slots.give_back(owner)
    assert ask(api).status == 200
    assert slots.count() == 0


def test_answers_have_a_rate_class_of_their_own(api: Api, script: Script, settings: Any):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "answer": 1}
    assert ask(api).headers["RateLimit-Policy"] == '1;w=60;name="answer"'
    refused = ask(api, stream=True)
    assert (refused.status, refused.code) == (429, "rate_limited")
    assert api.query("How high?").status == 200


def test_an_answer_that_fails_leaves_one_line_without_a_word_of_the_question(
    api: Api, script: Script, caplog: pytest.LogCaptureFixture
):
    script.pieces = failing(LanguageModelTimeout("It is slow."))
    with caplog.at_level(logging.INFO, "retrieval"):
        failed = ask(api, query="peculiar question", instructions="peculiar wish")
    (line,) = [r for r in caplog.records if r.message == "answer.ended"]
    assert (vars(line)["door"], vars(line)["ended"]) == ("json", "failed")
    assert vars(line)["code"] == "language_model_timeout"
    assert "peculiar" not in str(vars(line))
    assert failed.status == 504


# -- what would be sent --------------------------------------------------------------------


@pytest.fixture
def preview(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    asked: list[Any] = []

    def prompt_for(namespace_id: uuid.UUID, request: Any) -> PromptPreview:
        asked.append((namespace_id, request))
        messages = (Message("system", "Only from sources."), Message("user", "How high?"))
        return PromptPreview("big", messages, (evidence(),), 42, "prompt.txt")

    monkeypatch.setattr(pipeline, "prompt_for", prompt_for)
    return asked


def test_the_prompt_can_be_looked_at(api: Api, tenant: Namespace, preview: list[Any]):
    shown = api.post("answer/prompt", {"query": "How high?", "k": 2, "instructions": "Briefly."})
    assert shown.status == 200, shown.body
    assert shown.body["messages"][0] == {"role": "system", "content": "Only from sources."}
    assert (shown.body["model"], shown.body["tokens"]) == ("big", 42)
    assert shown.body["sources"][0]["id"] == "k7"
    assert api.get("answer/prompt?query=How%20high%3F&model=extractive").status == 200
    (_, posted), (namespace_id, got) = preview
    assert (posted.search.k, posted.instructions) == (2, "Briefly.")
    assert (namespace_id, got.search.query, got.model) == (tenant.pk, "How high?", "extractive")


def test_a_prompt_needs_a_question_too(api: Api, preview: list[Any]):
    assert "query" in fields_of(api.get("answer/prompt"))
    assert "k" in fields_of(api.get("answer/prompt?query=x&k=3"))
    assert api.get("answer/prompt?query=x&model=nobody").code == "model_not_configured"
    assert preview == []
