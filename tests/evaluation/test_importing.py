"""Golden sets from files and back again; a BEIR folder as a stranger would bring it."""

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from documents.models import Document, Namespace
from evaluation.benchmarks.data.beir import BeirCollection
from evaluation.errors import BadGoldenSet
from evaluation.golden.exporting import questions_of
from evaluation.golden.formats import read_beir, read_csv, read_jsonl, write_csv, write_jsonl
from evaluation.models import GoldenQuery, GoldenSet, Judgement
from ragsite.database.tenancy import namespace


@pytest.fixture
def beir(tmp_path: Path) -> Path:
    folder = tmp_path / "mini"
    (folder / "qrels").mkdir(parents=True)
    corpus = [
        {"_id": "1", "title": "Harbour", "text": "The harbour has twelve lights."},
        {"_id": "2", "title": "Kiln", "text": "Heat the kiln to 1240 degrees.", "metadata": {}},
        {"_id": "3", "title": "Only a title", "text": ""},
    ]
    queries = [
        {"_id": "q1", "text": "harbour lights", "metadata": {}},
        {"_id": "q2", "text": "kiln heat"},
        {"_id": "q3", "text": "nobody judged this"},
    ]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in corpus))
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in queries))
    lines = ["query-id\tcorpus-id\tscore", "q1\t1\t2", "q1\t2\t0", "q2\t2\t1", "q2\t99\t1"]
    (folder / "qrels" / "test.tsv").write_text("\n".join(lines) + "\n")
    (folder / "qrels" / "dev.tsv").write_text(lines[0] + "\nq3\t3\t1\n")
    return folder


def run_import(path: Path, tenant: Namespace, *options: str) -> tuple[dict[str, Any], int]:
    out, code = StringIO(), 0
    try:
        call_command(
            "import_golden_set",
            str(path),
            f"--namespace={tenant.slug}",
            "--json",
            *options,
            stdout=out,
        )
    except SystemExit as stop:
        code = int(stop.code or 0)
    return json.loads(out.getvalue()), code


def test_a_beir_folder_comes_in_with_its_corpus_and_again_changes_nothing(
    beir: Path, tenant: Namespace, rows: Callable[..., list[Any]]
):
    for indexed in (3, 0):
        told, code = run_import(beir, tenant, "--with-corpus", "--name=mini")
        assert code == 0
        assert told["documents"] == 3
        assert told["indexed"] == indexed
        assert told["queries"] == 2
        assert told["judgements"] == 4
        assert told["judged_documents_not_here"] == 1
        documents = rows(tenant, Document)
        assert {d.source_uri for d in documents} == {"mini:1", "mini:2", "mini:3"}
        assert {d.status for d in documents} == {"ready"}
        (golden,) = rows(tenant, GoldenSet)
        assert golden.name == "mini"
        assert len(rows(tenant, GoldenQuery)) == 2
        judged = {
            (j.source_uri, j.grade, j.document_id is None)
            for j in rows(tenant, Judgement, query__external_id="q2")
        }
        assert judged == {("mini:2", 1, False), ("mini:99", 1, True)}


def test_qrels_find_documents_that_are_known_by_their_bare_ids(
    beir: Path, tenant: Namespace, api: Any, work: Callable[[], int], rows: Callable[..., list[Any]]
):
    api.post("ingest", {"documents": [{"content": "Lights.", "source_uri": "1"}]})
    work()
    told, _ = run_import(beir, tenant)
    assert told["judged_documents_not_here"] == 3
    (judgement,) = rows(tenant, Judgement, grade=2)
    assert (judgement.source_uri, judgement.document_id is None) == ("1", False)


def test_another_split_can_be_named_and_a_wrong_one_is_told(beir: Path):
    questions, split = read_beir(beir, split="dev")
    assert split == "dev"
    assert [question.external_id for question in questions] == ["q3"]
    with pytest.raises(BadGoldenSet, match="dev, test"):
        read_beir(beir, split="train")


def test_grades_below_zero_and_trecs_own_four_columns_are_read(beir: Path):
    (beir / "qrels" / "test.tsv").write_text("q1\t0\t1\t2\nq1\t0\t2\t-1\n")
    (question,) = read_beir(beir)[0]
    assert [(a.source_uri, a.grade) for a in question.answers] == [("1", 2), ("2", 0)]


def test_jsonl_and_csv_come_back_as_they_went_out(
    golden_set: GoldenSet, tenant: Namespace, tmp_path: Path
):
    with namespace(tenant.pk):
        before = questions_of(golden_set)
    assert len(before) == 3
    assert read_jsonl("".join(write_jsonl(before)).splitlines()) == before
    assert read_csv(write_csv(before)) == before
    for kind in ("jsonl", "csv"):
        path = tmp_path / f"set.{kind}"
        where = f"--namespace={tenant.slug}"
        call_command("export_golden_set", "trade", where, f"--format={kind}", f"--out={path}")
        told, code = run_import(path, tenant, f"--name=again {kind}")
        assert (code, told["queries"], told["judgements"]) == (0, 3, 4)
        with namespace(tenant.pk):
            again = GoldenSet.objects.get(name=f"again {kind}")
            assert questions_of(again) == before


def test_a_beir_export_can_be_imported_elsewhere(
    golden_set: GoldenSet, tenant: Namespace, other_tenant: Namespace, tmp_path: Path
):
    where = f"--namespace={tenant.slug}"
    call_command("export_golden_set", "trade", where, "--format=beir", f"--out={tmp_path / 'out'}")
    told, code = run_import(tmp_path / "out", other_tenant, "--with-corpus")
    assert code == 0
    assert (told["documents"], told["queries"], told["judgements"]) == (3, 3, 4)
    assert told["judged_documents_not_here"] == 0


def test_hard_negatives_come_out_with_the_answers_they_are_to_be_told_from(
    golden_set: GoldenSet, tenant: Namespace
):
    out = StringIO()
    where = f"--namespace={tenant.slug}"
    call_command("export_golden_set", "trade", where, "--format=hard-negatives", stdout=out)
    (row,) = map(json.loads, out.getvalue().splitlines())
    assert row["query"] == "what does a mooring cost?"
    assert row["positive"] == "A mooring costs twelve crowns a night"
    assert row["grade"] == 3
    assert len(row["negatives"]) == 1
    assert "Knead flour" in row["negatives"][0]


def test_a_quotation_that_is_not_there_is_refused_and_named(
    library: dict[str, Document], tenant: Namespace, tmp_path: Path
):
    path = tmp_path / "set.jsonl"
    answers = [
        {"source_uri": "upload:kiln.md", "quote": "1240  degrees\nfor nine hours", "grade": 3},
        {"source_uri": "upload:kiln.md", "quote": "1400 degrees"},
    ]
    path.write_text(json.dumps({"query": "how hot?", "judgements": answers}))
    told, code = run_import(path, tenant)
    assert code == 1
    assert told["judgements"] == 1  # white space does not matter
    assert "1400 degrees" in told["refused"][0]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "not JSON"),
        ("[]", "query"),
        ('{"query": "x", "judgements": [{}]}', "source_uri"),
        ('{"query": "x", "judgements": [{"source_uri": "a", "grade": "good"}]}', "whole number"),
        ('{"query": "x", "judgements": [{"source_uri": "a", "grade": -1}]}', "below 0"),
        ('{"query": "x", "judgements": [{"source_uri": "a", "grade": 99}]}', "at most"),
        ('{"query": " ", "judgements": []}', "blank"),
        ('{"query": "x", "filters": {"colour": 1}}', "filters"),
        ("", "no judged query"),
    ],
)
def test_what_cannot_be_taken_is_told_with_its_line(
    line: str, why: str, tenant: Namespace, tmp_path: Path
):
    path = tmp_path / "set.jsonl"
    path.write_text(line)
    with pytest.raises(CommandError, match=why):
        run_import(path, tenant)


def test_an_empty_document_is_skipped_with_a_note(
    beir: Path, tenant: Namespace, capsys: pytest.CaptureFixture[str]
):
    with (beir / "corpus.jsonl").open("a") as corpus:
        corpus.write('{"_id": "471", "title": "", "text": ""}\n')
        corpus.write('{"_id": "995", "title": " ", "text": "\\n"}\n')
    told, code = run_import(beir, tenant, "--with-corpus")
    assert code == 0
    assert (told["documents"], told["failed"]) == (3, [])
    assert told["skipped"] == ["mini:471", "mini:995"]
    collection = BeirCollection(beir)  # as the benchmarks read it
    assert collection.ids == ["1", "2", "3"]
    assert collection.empty == ["471", "995"]
    assert "mini: 2 empty documents skipped: 471, 995" in capsys.readouterr().err
