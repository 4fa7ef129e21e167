"""Facts that a model reads in a text: proposals with exact places, believed once approved."""

import json
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from ragsite.platform.backends import load_backend
from tests.client import Api

TEXT = "# People\n\nAnn moved to Rome in 2024. Bob runs the harbour.\n"
LISTED = {
    "facts": [
        {"subject": "Ann", "predicate": "lives in", "object": "Rome", "quote": "Ann moved to Rome"},
        {"subject": "Bob", "predicate": "runs", "object": "a circus", "quote": "Bob runs a circus"},
        {"subject": "", "predicate": "runs", "object": "x", "quote": "Bob"},
        "nonsense",
    ]
}


@pytest.fixture
def reader(settings: Any) -> Iterator[Callable[[str], None]]:
    """Lets the model that reads say something."""

    def use(reply: str) -> None:
        backend = "tests.retrieval.answering.scripted.ScriptedModel"
        entry = {"BACKEND": backend, "OPTIONS": {"reply": reply}}
        settings.LANGUAGE_MODELS = {**settings.LANGUAGE_MODELS, "reader": entry}
        settings.ANSWERS = {**settings.ANSWERS, "model": "reader"}
        load_backend.cache_clear()

    yield use
    load_backend.cache_clear()


def test_only_what_the_document_states_word_for_word_is_proposed_and_waits(
    api: Api, work: Callable[[], int], reader: Callable[[str], None]
):
    reader(json.dumps(LISTED))
    document_id = api.upload(("people.md", TEXT)).body["results"][0]["document_id"]
    work()
    found = api.post("facts/propose", {"document_id": document_id})
    assert found.status == 200, found.body
    assert found.body["dropped"] == 3
    (proposed,) = found.body["results"]
    fact = proposed["fact"]
    assert (proposed["outcome"], fact["status"], fact["source"]) == (
        "proposed",
        "proposed",
        "model",
    )
    text = api.get(f"documents/{document_id}/text").body["text"]
    span = fact["provenance"]["span"]
    assert text[span["start"] : span["end"]] == "Ann moved to Rome"
    assert api.post("facts/search", {"query": "Ann Rome"}).body["results"] == []
    again = api.post("facts/propose", {"document_id": document_id}).body["results"]
    assert [one["outcome"] for one in again] == ["known"]
    approved = api.post(f"facts/{fact['id']}/approve").body
    assert (approved["outcome"], approved["fact"]["id"]) == ("created", fact["id"])
    (held,) = api.post("facts/search", {"query": "Ann Rome"}).body["results"]
    assert held["provenance"]["document_id"] == document_id
    assert api.post(f"facts/{fact['id']}/approve").code == "fact_conflict"


def test_a_proposal_may_confirm_what_is_held_or_be_rejected(
    api: Api, reader: Callable[[str], None]
):
    reader(json.dumps(LISTED))
    (one,) = api.post("facts/propose", {"text": TEXT, "source_uri": "mail:1"}).body["results"]
    body = {"subject": "ann", "predicate": "lives in", "object": "rome", "certainty": 0.5}
    (stated,) = api.post("facts", body).body["results"]
    confirmed = api.post(f"facts/{one['fact']['id']}/approve").body
    assert (confirmed["outcome"], confirmed["fact"]["id"]) == ("confirmed", stated["fact"]["id"])
    assert confirmed["fact"]["certainty"] > 0.5
    assert len(api.get("facts").body["results"]) == 1
    api.post(f"facts/{stated['fact']['id']}/retract")
    (other,) = api.post("facts/propose", {"text": TEXT}).body["results"]
    assert api.post(f"facts/{other['fact']['id']}/reject").body["status"] == "rejected"
    assert api.get("facts").body["results"] == []


def test_a_deleted_document_takes_its_open_proposals_with_it(
    api: Api, work: Callable[[], int], reader: Callable[[str], None]
):
    reader(json.dumps(LISTED))
    document_id = api.upload(("people.md", TEXT)).body["results"][0]["document_id"]
    work()
    api.post("facts/propose", {"document_id": document_id})
    assert api.delete(f"documents/{document_id}").body["facts"] == 1
    assert api.get("facts?status=proposed").body["results"] == []


@pytest.mark.parametrize("reply", ["I found none.", "[]", '{"facts": 3}', "{}"])
def test_a_model_that_answers_something_else_proposes_nothing(
    api: Api, reader: Callable[[str], None], reply: str
):
    reader(reply)
    assert api.post("facts/propose", {"text": TEXT}).body == {"results": [], "dropped": 0}


def test_without_a_model_it_is_refused_and_so_is_what_is_no_text(api: Api):
    assert api.post("facts/propose", {"text": TEXT}).code == "model_not_configured"
    for body in ({}, {"text": "x", "document_id": "x"}):
        assert api.post("facts/propose", body).code == "invalid_request"


def proposed_by(*arguments: str) -> dict[str, Any]:
    out = StringIO()
    call_command("propose_facts", *arguments, "--namespace=tenant", "--json", stdout=out)
    return json.loads(out.getvalue())


def test_the_command_proposes_from_a_file_and_from_documents(
    api: Api, work: Callable[[], int], reader: Callable[[str], None], tmp_path: Path
):
    reader(json.dumps(LISTED))
    path = tmp_path / "people.txt"
    path.write_text(TEXT)
    of_file = proposed_by(str(path), "--user=u-1")
    assert of_file["dropped"] == 3
    (one,) = of_file["results"]
    assert (one["outcome"], one["fact"]["source_uri"]) == ("proposed", "people.txt")
    assert one["fact"]["user"] == "u-1"
    document_id = api.upload(("people.md", TEXT)).body["results"][0]["document_id"]
    work()
    (other,) = proposed_by("--document=upload:people.md")["results"]
    assert other["fact"]["provenance"]["document_id"] == document_id
    (known,) = proposed_by(f"--document={document_id}")["results"]
    assert (known["outcome"], known["fact"]["id"]) == ("known", other["fact"]["id"])
    assert len(api.get("facts?status=proposed").body["results"]) == 2
    out = StringIO()
    call_command("propose_facts", str(path), "--namespace=tenant", stdout=out)
    assert "Ann lives in Rome" in out.getvalue()
    assert "3 left out" in out.getvalue()


def test_the_command_says_what_is_wrong(api: Api, tmp_path: Path):
    path = tmp_path / "people.txt"
    path.write_text(TEXT)
    for arguments, message in (
        ([], "either"),
        ([str(path), "--document=x"], "either"),
        (["--document=upload:nothing.md"], "no document"),
        ([str(tmp_path / "missing.txt")], "cannot be read"),
        ([str(path)], "language model"),
    ):
        with pytest.raises(CommandError, match=message):
            call_command("propose_facts", *arguments, "--namespace=tenant", stdout=StringIO())
