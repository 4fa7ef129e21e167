"""Rows as facts, from the upload to the list: what is kept, replaced, removed, and who sees it."""

import json
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from django.core.management import call_command
from django.db import DatabaseError, connection, connections
from django.test.utils import CaptureQueriesContext

from documents.models import Document, Fact, Namespace
from ragsite.database.tenancy import namespace, operator

from ..client import Api
from .test_spreadsheet_extractor import workbook

STOCK = "sku,name,price\nA1,Desk lamp,12\nB2,Floor lamp,80\n"


@pytest.fixture
def send(api: Api, work: Callable[[], int]) -> Callable[..., dict[str, Any]]:
    """Upload one file, index it, and hand back its result."""

    def run(name: str, content: str | bytes, **fields: Any) -> dict[str, Any]:
        result = api.upload((name, content), **fields).body["results"][0]
        work()
        return result

    return run


def facts_of(api: Api, **wanted: object) -> list[dict[str, Any]]:
    answer = api.get(f"facts?{urlencode(wanted)}")
    assert answer.status == 200, answer.body
    return answer.body["results"]


def said(facts: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    return [(fact["subject"], fact["predicate"], fact["object"]) for fact in facts]


def warnings_of(api: Api, document_id: str) -> list[str]:
    return api.get(f"documents/{document_id}/versions").body["results"][0]["warnings"]


# -- from rows to facts ------------------------------------------------------------------------


def test_a_csv_with_a_key_says_what_its_cells_say_of_the_key(api: Api, send: Callable):
    result = send("stock.csv", STOCK, rows_as_facts="true")
    facts = facts_of(api)
    assert said(facts) == [
        ("A1", "name", "Desk lamp"),
        ("A1", "price", "12"),
        ("B2", "name", "Floor lamp"),
        ("B2", "price", "80"),
    ]
    text = api.get(f"documents/{result['document_id']}/text").body["text"]
    span = facts[0]["provenance"].pop("span")
    assert text[span["start"] : span["end"]] == "| A1 | Desk lamp | 12 |"
    assert facts[0]["provenance"] == {
        "document_id": result["document_id"],
        "version": 1,
        "source_uri": "upload:stock.csv",
    }
    assert (facts[0]["certainty"], facts[0]["source"]) == (1.0, "row")
    assert (facts[0]["valid_from"], facts[0]["valid_to"]) == (None, None)


def test_a_csv_without_a_key_is_told_row_by_row(api: Api, send: Callable):
    send("visits.tsv", "who\twhere\nAnn\tOslo\nAnn\tOslo\n", rows_as_facts="true", title="Visits")
    assert said(facts_of(api)) == [
        ("Visits row 1", "who", "Ann"),
        ("Visits row 1", "where", "Oslo"),
        ("Visits row 2", "who", "Ann"),
        ("Visits row 2", "where", "Oslo"),
    ]


STATEMENTS = """subject,predicate,object,certainty,valid_from,valid_to,user,tags
Ann,lives in,Oslo,0.9,2020-01-01,2024-06-01,,home; north
Ann,lives in,Rome,,2024-06-01,,,
Ann,likes,tea,,,,u-1,
Bob,likes,tea,,2024-01-01,2023-01-01,,
"""


def test_a_list_of_statements_gives_each_as_it_stands(api: Api, send: Callable):
    result = send("known.csv", STATEMENTS, rows_as_facts="true")
    oslo, rome, tea = facts_of(api)
    assert (oslo["object"], oslo["certainty"], oslo["tags"]) == ("Oslo", 0.9, ["home", "north"])
    assert (oslo["valid_from"], oslo["valid_to"]) == (
        "2020-01-01T00:00:00Z",
        "2024-06-01T00:00:00Z",
    )
    assert (rome["object"], rome["certainty"], rome["tags"]) == ("Rome", 1.0, [])
    assert (rome["valid_to"], tea["user"], tea["valid_from"]) == (None, "u-1", None)
    assert said(facts_of(api, subject="Ann", as_of="2022-01-01")) == [
        ("Ann", "lives in", "Oslo"),
        ("Ann", "likes", "tea"),
    ]
    (warning,) = warnings_of(api, result["document_id"])
    assert warning.endswith(": 4.")


def test_every_sheet_of_a_workbook_is_read_and_every_span_is_its_row(api: Api, send: Callable):
    people = [["name", "age"], *([f"P{n}", n % 9 + 20] for n in range(200))]
    book = workbook(People=people, Places=[["town", "rank"], ["Oslo", 1], ["Rome", 2]])
    result = send("book.xlsx", book, rows_as_facts="true")
    text = api.get(f"documents/{result['document_id']}/text").body["text"]
    facts = [*facts_of(api, predicate="age", limit=200), *facts_of(api, predicate="rank")]
    assert len(facts) == 202
    for fact in facts:
        span = fact["provenance"]["span"]
        row = f"| {fact['subject']} | {fact['object']} |"
        assert text[span["start"] : span["end"]] == row


def test_nothing_becomes_a_fact_unless_asked_for(api: Api, send: Callable):
    send("stock.csv", STOCK)
    send("more.csv", STOCK.replace("A1", "C3"), rows_as_facts="false")
    assert facts_of(api) == []


def test_texts_by_json_can_be_asked_for_one_by_one_or_all_together(
    api: Api, work: Callable[[], int]
):
    def item(key: str, **more: object) -> dict[str, object]:
        return {"content": f"id,x\n{key},1\n", "media_type": "text/csv", **more}

    api.post("ingest", {"documents": [item("one", rows_as_facts=True), item("two")]})
    api.post("ingest", {"documents": [item("three"), item("four", rows_as_facts=False)]})
    api.post(
        "ingest",
        {"documents": [item("five"), item("six", rows_as_facts=False)], "rows_as_facts": True},
    )
    work()
    assert {fact["subject"] for fact in facts_of(api)} == {"one", "five"}
    refused = api.post("ingest", {"documents": [item("x", rows_as_facts="perhaps")]})
    assert (refused.status, refused.code) == (422, "invalid_request")


def test_a_file_without_rows_is_taken_with_a_warning(api: Api, send: Callable):
    for again in (False, True):
        result = send("notes.md", "# Notes\n\n| a | b |\n|---|---|\n| 1 | 2 |\n", rows_as_facts="1")
        assert (result["error"], result["duplicate"]) == (None, again)
        (warning,) = result["warnings"]
        assert "text/markdown has no rows" in warning
    assert facts_of(api) == []


def test_beyond_the_limit_the_first_facts_are_kept_with_a_warning(
    api: Api, send: Callable, settings: Any
):
    settings.FACTS_PER_DOCUMENT = 3
    full = send("stock.csv", STOCK, rows_as_facts="true")
    assert [fact["object"] for fact in facts_of(api)] == ["Desk lamp", "12", "Floor lamp"]
    (warning,) = warnings_of(api, full["document_id"])
    assert "only the first 3 were kept" in warning
    assert full["warnings"] == []  # nothing was read yet
    assert send("stock.csv", STOCK, rows_as_facts="true")["warnings"] == [warning]
    exact = send("few.csv", "id,a,b,c\n1,x,y,z\n", rows_as_facts="true")
    assert len(facts_of(api, document_id=exact["document_id"])) == 3
    assert warnings_of(api, exact["document_id"]) == []


# -- replaced, kept, removed ---------------------------------------------------------------------


def test_a_new_version_replaces_the_facts_and_needs_not_say_it_again(api: Api, send: Callable):
    send("stock.csv", STOCK, rows_as_facts="true")
    other = send("other.csv", "id,x\n1,y\n", rows_as_facts="true")
    send("stock.csv", "sku,name\nA1,Desk light\n")
    by_subject = facts_of(api, subject="A1")
    assert said(by_subject) == [("A1", "name", "Desk light")]
    assert by_subject[0]["provenance"]["version"] == 2
    assert facts_of(api, subject="B2") == []
    assert len(facts_of(api, document_id=other["document_id"])) == 1


def test_indexing_again_gives_the_very_same_facts(
    api: Api, send: Callable, work: Callable[[], int]
):
    result = send("stock.csv", STOCK, rows_as_facts="true")
    before = [{**fact, "recorded_at": 0} for fact in facts_of(api)]
    api.post(f"documents/{result['document_id']}/reindex")
    assert work() == 1
    assert [{**fact, "recorded_at": 0} for fact in facts_of(api)] == before


def test_the_same_file_sent_again_turns_facts_on_and_off(api: Api, send: Callable):
    send("stock.csv", STOCK)
    turned_on = send("stock.csv", STOCK, rows_as_facts="true", title="Stock")
    assert (turned_on["duplicate"], turned_on["version"]) == (False, 1)
    assert (turned_on["updated"], turned_on["warnings"]) == (True, [])
    assert len(facts_of(api)) == 4
    assert send("stock.csv", STOCK)["duplicate"] is True
    assert send("stock.csv", STOCK, rows_as_facts="true")["duplicate"] is True
    assert len(facts_of(api)) == 4
    assert send("stock.csv", STOCK, rows_as_facts="false")["duplicate"] is False
    assert facts_of(api) == []


def test_a_copy_under_another_source_hears_that_it_changes_nothing(api: Api, send: Callable):
    send("stock.csv", STOCK)
    copy = send("copy.csv", STOCK, rows_as_facts="true")
    assert copy["duplicate"] is True
    assert "upload:stock.csv" in copy["warnings"][0]
    assert facts_of(api) == []


def test_a_source_that_is_no_table_any_more_has_no_facts(api: Api, send: Callable):
    send("stock.csv", STOCK, rows_as_facts="true", source_uri="stock")
    send("stock.md", "# Stock\n\nNothing left.", source_uri="stock")
    assert facts_of(api) == []


def test_a_deleted_document_takes_its_facts_with_it(api: Api, send: Callable):
    result = send("stock.csv", STOCK, rows_as_facts="true")
    send("other.csv", "id,x\n1,y\n", rows_as_facts="true")
    assert api.delete(f"documents/{result['document_id']}").body["facts"] == 4
    assert said(facts_of(api)) == [("1", "x", "y")]


def test_the_command_line_can_ask_for_it(tenant: Namespace, api: Api, tmp_path: Path):
    (tmp_path / "stock.csv").write_text(STOCK)
    (tmp_path / "notes.md").write_text("# Notes\n\nWords.")
    out = StringIO()
    call_command(
        "ingest", tmp_path, namespace=tenant.slug, rows_as_facts=True, json=True, stdout=out
    )
    results = {Path(r["path"]).name: r for r in map(json.loads, out.getvalue().splitlines())}
    assert "warnings" not in results["stock.csv"]
    assert "no rows" in results["notes.md"]["warnings"][0]
    assert len(facts_of(api)) == 4


# -- the list ------------------------------------------------------------------------------------


def test_facts_are_found_by_each_of_their_parts(api: Api, send: Callable):
    result = send("stock.csv", STOCK, rows_as_facts="true")
    send("long.csv", f"id,note\n1,{'word ' * 2000}\n", rows_as_facts="true")
    assert said(facts_of(api, subject="A1", predicate="price")) == [("A1", "price", "12")]
    assert said(facts_of(api, object="80")) == [("B2", "price", "80")]
    assert [fact["subject"] for fact in facts_of(api, predicate="name")] == ["A1", "B2"]
    assert len(facts_of(api, document_id=result["document_id"])) == 4
    assert [fact["subject"] for fact in facts_of(api, object=("word " * 2000).strip())] == ["1"]
    # Names mean what they mean to a search: in any of their forms.
    assert said(facts_of(api, subject="a1.", predicate="Price")) == [("A1", "price", "12")]
    api.post("fact-aliases", {"alias": "desk lamp", "name": "A1"})
    assert len(facts_of(api, subject="Desk Lamp")) == 2
    assert facts_of(api, subject="A2") == []
    assert facts_of(api, document_id=uuid.uuid4()) == []


@pytest.mark.parametrize(
    "query",
    [
        "document_id=x",
        "as_of=yesterday",
        "as_of=0001-01-01T00:00:00%2B01:00",
        "colour=red",
        "object=%00",
    ],
)
def test_a_question_that_makes_no_sense_is_refused(api: Api, query: str):
    refused = api.get(f"facts?{query}")
    assert (refused.status, refused.code) == (422, "invalid_request")


def test_pages_hold_each_fact_once_in_the_order_of_the_rows(api: Api, send: Callable):
    """Thousands of facts are recorded in one moment: a cursor over the time would lose some."""
    send("n.csv", "n,m\n" + "".join(f"{n},x\n" for n in range(1500)), rows_as_facts="true")
    seen: list[str] = []
    path = "facts?limit=200"
    while path:
        page = api.get(path).body
        seen += [fact["subject"] for fact in page["results"]]
        path = (page["next"] or "").partition("/api/v1/")[2]
    assert seen == [str(n) for n in range(1500)]
    assert api.get("facts?cursor=cD1ub3doZXJl").status == 422  # p=nowhere


def test_as_of_shows_what_holds_then_and_what_is_retracted_is_gone(api: Api, tenant: Namespace):
    def state(subject: str, **fields: Any) -> Fact:
        return Fact.objects.create(
            namespace=tenant,
            subject=subject,
            predicate="is",
            object="so",
            source="stated",
            **fields,
        )

    spring, autumn = datetime(2024, 3, 1, tzinfo=UTC), datetime(2024, 9, 1, tzinfo=UTC)
    with namespace(tenant.pk):
        state("always")
        state("until autumn", valid_to=autumn)
        state("since spring", valid_from=spring)
        state("never again", retracted_at=autumn)

    def subjects(**wanted: str) -> set[str]:
        return {fact["subject"] for fact in facts_of(api, **wanted)}

    assert subjects() == {"always", "until autumn", "since spring"}
    for far in ("0001-01-01", "9999-12-31T23:59:59Z", "2024-03-01T00:00:00+23:59"):
        assert "always" in subjects(as_of=far)
    assert subjects(as_of="2024-02-29") == {"always", "until autumn"}
    assert subjects(as_of="2024-03-01") == subjects()
    assert subjects(as_of="2024-09-01T00:00:00Z") == {"always", "since spring"}
    assert facts_of(api)[0]["provenance"] is None
    for wrong in ({"certainty": 1.1}, {"valid_from": autumn, "valid_to": spring}, {"start": 1}):
        with pytest.raises(DatabaseError, match="fact_"), namespace(tenant.pk):
            state("wrong", **wrong)


def test_a_fact_cannot_be_superseded_by_another_tenants(tenant: Namespace, other_tenant: Namespace):
    common = {"predicate": "is", "object": "so"}
    with operator():
        theirs = Fact.objects.create(namespace=other_tenant, subject="t", source="stated", **common)
        with pytest.raises(DatabaseError, match="same_namespace"):
            Fact.objects.create(
                namespace=tenant,
                subject="m",
                source="stated",
                superseded_by=theirs,
                retracted_at=datetime.now(UTC),
                **common,
            )


def test_another_tenant_sees_nothing_of_them(
    api: Api, send: Callable, api_of: Callable[..., Api], other_tenant: Namespace
):
    result = send("stock.csv", STOCK, rows_as_facts="true")
    stranger = api_of(other_tenant)
    assert facts_of(stranger) == []
    assert facts_of(stranger, subject="A1") == []
    assert facts_of(stranger, document_id=result["document_id"]) == []
    assert Fact.objects.count() == 0  # nor does whoever has named no tenant


@pytest.mark.parametrize(
    ("query", "index"),
    [
        ("", "fact_in_namespace"),
        ("subject=7", "fact_subject"),
        ("predicate=p7", "fact_predicate"),
        ("object=7", "fact_object"),
        (f"document_id={uuid.UUID(int=7)}", "fact_document"),
    ],
)
def test_the_list_is_read_from_an_index(
    api: Api, send: Callable, tenant: Namespace, query: str, index: str
):
    header = ",".join(["n", *(f"p{n}" for n in range(20))])
    rows = "".join(f"{n}{f',{n}' * 20}\n" for n in range(100))
    send("n.csv", f"{header}\n{rows}", rows_as_facts="true")
    with connections["owner"].cursor() as cursor:
        cursor.execute("REINDEX TABLE documents_fact")  # without the dead rows of other tests
        cursor.execute("ANALYZE documents_fact")
    with CaptureQueriesContext(connection) as captured:
        assert api.get(f"facts?{query}").status == 200
    (sql,) = [q["sql"] for q in captured if 'FROM "documents_fact"' in q["sql"]]
    with namespace(tenant.pk), connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {sql}")
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert f"Index Scan using {index} " in plan, plan
    assert '"text"' not in sql  # of the version: long, and not shown


def test_a_failed_document_leaves_no_facts_and_a_changed_wish_is_heard_on_the_next_try(
    api: Api, send: Callable
):
    result = send("empty.csv", ",,\n,,\n")
    assert send("empty.csv", ",,\n,,\n", rows_as_facts="true")["duplicate"] is False
    assert facts_of(api) == []
    with operator():
        given = Document.objects.get(pk=result["document_id"]).given
    assert given["rows_as_facts"] is True
