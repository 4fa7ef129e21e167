"""`manage.py answer`: the same answers on a terminal."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from documents.language_models.base import LanguageModelTimeout
from documents.models import Namespace
from retrieval.answering import answer as pipeline

from .scripted_pipeline import ANSWER, Script, failing


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Script:
    made = Script()
    monkeypatch.setattr(pipeline, "answer", made.answer)
    return made


def printed(*arguments: str, **options: Any) -> str:
    out = StringIO()
    call_command("answer", "How high?", "--namespace", "tenant", *arguments, stdout=out, **options)
    return out.getvalue()


@pytest.mark.parametrize("options", [[], ["--stream"]])
def test_the_answer_is_printed_with_the_sources_it_cites(
    tenant: Namespace, script: Script, options: list[str]
):
    errors = StringIO()
    text = printed(*options, stderr=errors)
    assert text.startswith(f"{ANSWER}\n")
    assert "[cite:k7] The Tower" in text
    assert "upload:tower.md  characters 9–40" in text
    assert "m2" not in text  # not cited
    assert "Uncertain: 40 or 41 metres" in errors.getvalue()


def test_json_is_what_the_api_answers(tenant: Namespace, script: Script):
    shown = json.loads(printed("--json", "-k", "3", "--tags", "coast"))
    assert (shown["answer"], shown["query"]) == (ANSWER, "How high?")
    assert shown["citations"][0]["type"] == "char_location"
    assert script.requests[0].search.k == 3
    assert script.namespaces == [tenant.pk]


def test_what_goes_wrong_is_said_in_a_line(tenant: Namespace, script: Script):
    with pytest.raises(CommandError, match="extractive"):
        printed("--model", "gpt-12")
    with pytest.raises(CommandError, match="k: "):
        printed("-k", "0")
    with pytest.raises(CommandError, match="choose one"):
        printed("--json", "--stream")
    script.pieces = failing(LanguageModelTimeout("It is slow."))
    with pytest.raises(CommandError, match="language_model_timeout: It is slow"):
        printed()
