"""Training data from judgements and feedback: places, reasons, order and the wall."""

import json
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command

from documents.models import Document, Namespace
from evaluation.golden.curating import add_query, judge
from evaluation.golden.feedback import record_feedback
from evaluation.models import GoldenSet
from ragsite.database.tenancy import namespace

from ..client import Api


def exported(tenant: Namespace, *options: str) -> list[dict[str, Any]]:
    out = StringIO()
    call_command("export_training", f"--namespace={tenant.slug}", *options, stdout=out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_judgements_become_positives_and_hard_negatives(golden_set: GoldenSet, tenant: Namespace):
    rows = {row["question"]: row for row in exported(tenant)}
    assert list(rows) == sorted(rows)
    fee = rows["what does a mooring cost?"]
    (positive,), (negative,) = fee["positives"], fee["negatives"]
    assert positive["text"] == "A mooring costs twelve crowns a night"
    assert (positive["source_uri"], positive["grade"]) == ("upload:harbour.md", 3)
    assert positive["end"] - positive["start"] == len(positive["text"])
    assert "Knead flour" in negative["text"]
    assert negative["reason"] == "judged_irrelevant"
    assert "start" not in negative
    assert "1240 degrees" in rows["how hot must the kiln be?"]["positives"][0]["text"]


def test_what_was_passed_over_and_what_was_useless_are_negatives(
    api: Api, tenant: Namespace, library: dict[str, Document]
):
    answer = api.query("twelve crowns for the harbour master", k=5).body
    shown = [hit["chunk_id"] for hit in answer["results"]]
    assert len(shown) >= 3
    record_feedback(
        tenant.pk, query_id=answer["query_id"], selected_chunk_ids=[UUID(shown[2])], useful=True
    )
    record_feedback(
        tenant.pk, query_id=answer["query_id"], selected_chunk_ids=[UUID(shown[1])], useful=False
    )
    (row,) = exported(tenant)
    assert row["source"] == "feedback"
    assert [p["chunk_id"] for p in row["positives"]] == [shown[2]]
    reasons = {p["chunk_id"]: p["reason"] for p in row["negatives"]}
    assert reasons == {shown[0]: "ranked_above_and_not_selected", shown[1]: "not_useful"}
    assert all(p["text"] for p in row["negatives"])
    assert exported(tenant, "--no-feedback") == []


def test_shapes_for_trainers_have_exactly_their_columns(
    golden_set: GoldenSet, tenant: Namespace, tmp_path: Path
):
    (triplet,) = exported(tenant, "--shape=triplets")
    assert list(triplet) == ["anchor", "positive", "negative"]
    (listed,) = exported(tenant, "--shape=lists", "--golden-set=trade")
    assert list(listed) == ["query", "docs", "labels"]
    assert listed["labels"] == [3, 0]
    first, second = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    for path in (first, second):
        out = StringIO()
        options = (f"--namespace={tenant.slug}", f"--output={path}")
        call_command("export_training", *options, stdout=out)
        assert out.getvalue().startswith("3 lines")
    assert first.read_bytes() == second.read_bytes()


def test_nothing_of_another_namespace_is_exported(
    golden_set: GoldenSet,
    tenant: Namespace,
    other_tenant: Namespace,
    library: dict[str, Document],
):
    record_feedback(tenant.pk, query="a useful question", useful=True)
    assert exported(other_tenant) == []
    with namespace(tenant.pk):
        query = add_query(golden_set, "nothing judged")
        judge(query, library["kiln.md"], grade=0)
    assert "nothing judged" not in [row["question"] for row in exported(tenant)]
    with pytest.raises(CommandError, match="no golden set"):
        exported(other_tenant, "--golden-set=trade")
