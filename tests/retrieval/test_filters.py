"""The filter language: the database and a plain reading of docs/filters.md agree on every row."""

import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from documents.models import Document, Namespace
from ragsite.database.tenancy import namespace
from retrieval.api.filters import FiltersSerializer, filters_of
from retrieval.filter_sql import compile_filters
from retrieval.filters import Filters

Json = Any


def read(data: dict[str, Json]) -> Filters:
    form = FiltersSerializer(data=data)
    form.is_valid(raise_exception=True)
    return filters_of(form.validated_data)


def document(number: int, tenant: Namespace, **fields: Any) -> Document:
    return Document(
        namespace=tenant,
        source_uri=str(number),
        byte_size=0,
        **{"source_type": "txt", "dated_at": datetime(2026, 1, 1, tzinfo=UTC), **fields},
    )


def numbers_found(tenant: Namespace, documents: list[dict[str, Any]], data: Json) -> set[int]:
    return all_found(tenant, documents, [data])[0]


def all_found(
    tenant: Namespace, documents: list[dict[str, Any]], questions: list[Json]
) -> list[set[int]]:
    """Which of the documents the database finds for each filter. None of them stays."""
    found = []
    with namespace(tenant.pk):
        Document.objects.bulk_create(document(n, tenant, **d) for n, d in enumerate(documents))
        for data in questions:
            condition, parameters = compile_filters(read(data))
            with connection.cursor() as cursor:
                cursor.execute(
                    f"SELECT source_uri, ({condition or 'true'}) FROM documents_document document",
                    parameters,
                )
                judged = cursor.fetchall()
            assert {verdict for _, verdict in judged} <= {True, False}  # never NULL
            found.append({int(number) for number, verdict in judged if verdict})
        transaction.set_rollback(True)
    return found


# -- the language, read by a person ----------------------------------------------------

VALUES: dict[str, dict[str, Json]] = {
    "nothing": {},
    "integer": {"v": 1},
    "float": {"v": 1.0},
    "true": {"v": True},
    "string": {"v": "1"},
    "null": {"v": None},
    "list": {"v": [1, 5, "b", {"w": 1, "x": 2}]},
    "list in list": {"v": [[1]]},
    "object": {"v": {"w": 1, "0": 7}},
    "dotted key": {"v.w": 1},
    "dollar key": {"$v": 1},
}
EVERYTHING = set(VALUES)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({}, EVERYTHING),
        ({"v": 1}, {"integer", "float", "list"}),
        ({"v": {"$eq": 1.0}}, {"integer", "float", "list"}),
        ({"v": True}, {"true"}),
        ({"v": "1"}, {"string"}),
        ({"v": None}, {"null"}),
        ({"v": [5, 1]}, {"list"}),
        ({"v": [{"w": 1}]}, {"list"}),
        ({"v": [[1]]}, {"list in list"}),
        ({"v": []}, set()),
        ({"$not": {"v": []}}, EVERYTHING),
        ({"v": {}}, {"object"}),
        ({"v": {"$ne": 1}}, EVERYTHING - {"integer", "float", "list"}),
        ({"v": {"$in": ["1", None, "no"]}}, {"string", "null"}),
        ({"v": {"$in": []}}, set()),
        ({"v": {"$nin": []}}, EVERYTHING),
        ({"v": {"$nin": [True, "1"]}}, EVERYTHING - {"true", "string"}),
        ({"v": {"$gt": 0}}, {"integer", "float", "list"}),
        ({"v": {"$gt": 1}}, {"list"}),
        ({"v": {"$gte": "1"}}, {"string", "list"}),
        ({"v": {"$gte": 4, "$lt": 2}}, {"list"}),  # each by another element
        ({"v": {"$exists": True}}, EVERYTHING - {"nothing", "dotted key", "dollar key"}),
        ({"v": {"$exists": False}}, {"nothing", "dotted key", "dollar key"}),
        ({"v.w": 1}, {"object"}),
        ({"v": {"w": 1}}, {"object"}),
        ({"v": {"w": {"$lte": 1}, "0": 7}}, {"object"}),
        ({"v\\.w": 1}, {"dotted key"}),
        ({"\\$v": 1}, {"dollar key"}),
        ({"v.0": {"$gt": 0}}, {"object"}),  # a key, never a place in a list
        ({"v.0": {"$exists": True}}, {"object"}),
        ({"$not": {"v": {"$gt": 0}}}, EVERYTHING - {"integer", "float", "list"}),
        ({"v": {"$not": {"$gt": 0}}}, EVERYTHING - {"integer", "float", "list"}),
        ({"$or": [{"v": True}, {"$and": [{"v": 1}, {"v": 5}]}]}, {"true", "list"}),
        ({"v": {"$or": [{"$eq": "1"}, {"w": 1}]}}, {"string", "object"}),
        ({"v": 1, "$not": {"v": 5}}, {"integer", "float"}),
    ],
)
def test_a_condition_on_metadata_means(tenant: Namespace, condition: Json, expected: set[str]):
    documents = [{"metadata": metadata} for metadata in VALUES.values()]
    found = numbers_found(tenant, documents, {"metadata": condition})
    assert {list(VALUES)[number] for number in found} == expected


@pytest.mark.parametrize(
    ("stored", "operator", "operand", "expected"),
    [
        (2**53 + 1, "$eq", 2**53, False),
        (2**53 + 1, "$gt", float(2**53), True),
        (10**23, "$eq", 1e23, True),  # as written, not as a binary float holds it
        (0.1, "$eq", 0.1, True),
        (10**400, "$gt", 1e308, True),
        (5e-324, "$gt", 0, True),
        (-0.0, "$eq", 0, True),
        ("10", "$lt", "9", True),
        ("Z", "$lt", "a", True),  # by code point, whatever the database's language
        ("é", "$gt", "z", True),
        ("\U0001f4a5", "$gt", "\uffff", True),
        ("e\u0301", "$eq", "é", False),
        ("2024-02-29", "$lt", "2024-03", True),
        (False, "$lt", 1, False),
        (None, "$lte", 0, False),
        ({"a": 2}, "$gt", 1, False),
    ],
)
def test_numbers_and_strings_compare_exactly(
    tenant: Namespace, stored: Json, operator: str, operand: Json, expected: bool
):
    condition = {"metadata": {"v": {operator: operand}}}
    assert numbers_found(tenant, [{"metadata": {"v": stored}}], condition) == {0} - (
        set() if expected else {0}
    )


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ([], set()),
        ({"any": []}, set()),
        ({"all": []}, set()),
        ({"none": []}, {0, 1, 2}),
        ({"any": ["a"], "all": []}, set()),
        (["a", "b"], {1, 2}),
        ({"any": ["a", "c"]}, {1, 2}),
        ({"all": ["a", "b"]}, {2}),
        ({"none": ["b"]}, {0, 1}),
        ({"any": ["a"], "none": ["b"]}, {1}),
        ({"any": ["b"], "all": ["a"], "none": ["c"]}, {2}),
        ({}, {0, 1, 2}),
    ],
)
def test_tags_any_all_and_none(tenant: Namespace, tags: Json, expected: set[int]):
    documents = [{"tags": []}, {"tags": ["a"]}, {"tags": ["a", "b"]}]
    assert numbers_found(tenant, documents, {"tags": tags}) == expected


# -- the same, by a plain Python evaluation of random trees ------------------------------

MISSING = object()
SIGNS = {
    "$gt": lambda a, b: a > b,
    "$gte": lambda a, b: a >= b,
    "$lt": lambda a, b: a < b,
    "$lte": lambda a, b: a <= b,
}


def comparable(value: Json) -> tuple[str, Any]:
    """Kind and value: only values of one kind can be equal, above or below."""
    if isinstance(value, bool) or value is None:
        return "constant", str(value)
    if isinstance(value, int | float):
        return "number", Decimal(repr(value))
    return "string", value


def alternatives(value: Json) -> list[tuple[str, Any]]:
    """A value, or each element of a list: what can be compared at all."""
    values = value if isinstance(value, list) else [value]
    return [comparable(v) for v in values if v is not MISSING and not isinstance(v, dict | list)]


def contains(value: Json, wanted: Json) -> bool:
    if isinstance(wanted, dict):
        return isinstance(value, dict) and all(
            k in value and contains(value[k], w) for k, w in wanted.items()
        )
    if isinstance(wanted, list):
        return isinstance(value, list) and all(any(contains(v, w) for v in value) for w in wanted)
    return not isinstance(value, dict | list) and comparable(value) == comparable(wanted)


def steps(key: str) -> list[str]:
    hidden = key.replace("\\\\", "\ue001").replace("\\.", "\ue002").replace("\\$", "$")
    return [s.replace("\ue001", "\\").replace("\ue002", ".") for s in hidden.split(".")]


def holds(condition: Json, value: Json) -> bool:
    return all(entry_holds(key, operand, value) for key, operand in condition.items())


def entry_holds(key: str, operand: Json, value: Json) -> bool:
    match key:
        case "$and":
            return all(holds(part, value) for part in operand)
        case "$or":
            return any(holds(part, value) for part in operand)
        case "$not":
            return not holds(operand, value)
        case "$exists":
            return (value is not MISSING) == operand
        case "$eq" | "$ne":
            return (comparable(operand) in alternatives(value)) == (key == "$eq")
        case "$in" | "$nin":
            wanted = [comparable(item) for item in operand]
            return any(a in wanted for a in alternatives(value)) == (key == "$in")
        case "$gt" | "$gte" | "$lt" | "$lte":
            kind, number = comparable(operand)
            return any(k == kind and SIGNS[key](v, number) for k, v in alternatives(value))
    for step in steps(key):
        value = value.get(step, MISSING) if isinstance(value, dict) else MISSING
    if isinstance(operand, dict) and operand:
        return holds(operand, value)
    if operand == []:
        return False
    if isinstance(operand, dict | list):
        return value is not MISSING and contains(value, operand)
    return comparable(operand) in alternatives(value)


def passes(filters: Json, row: dict[str, Any]) -> bool:
    tags, own = filters["tags"], set(row["tags"])
    if isinstance(tags, list):
        tags = {"any": tags}
    start, end = filters["date_range"]
    return (
        ("any" not in tags or bool(own & set(tags["any"])))
        and ("all" not in tags or (bool(tags["all"]) and own >= set(tags["all"])))
        and not own & set(tags.get("none", []))
        and (row["source_type"] in filters["source_types"])
        and (start is None or row["dated_at"].date().isoformat() >= start)
        and (end is None or row["dated_at"].date().isoformat() <= end)
        and holds(filters["metadata"], row["metadata"])
    )


# Few keys and values, so that filters meet documents; odd ones and any at all now and then.
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5)
ODD = st.sampled_from(["", "0", "$gt", "'\"", "%s", "\\", "{}", "é💥", "true", "2020-01-01"])
KEYS = st.one_of(*[st.sampled_from(["a", "b", "a.b"])] * 4, ODD)
NUMBERS = st.one_of(
    *[st.sampled_from([0, 1, 1.0, 2])] * 3,
    st.sampled_from([-1, 0.1, 1e23, 10**23, 2**53 + 1, float(2**53)]),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
)
STRINGS = st.one_of(
    *[st.sampled_from(["", "a", "b", "1"])] * 3, st.sampled_from(["A", "é"]), ODD, TEXT
)
SCALARS = st.one_of(st.sampled_from([None, True, False]), NUMBERS, STRINGS)
METADATA = st.dictionaries(
    KEYS,
    st.recursive(
        SCALARS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
        max_leaves=4,
    ),
    max_size=3,
)
# In a list that is looked for, keys are data, except that none may look like an operator.
LISTS = st.recursive(
    st.lists(SCALARS, max_size=2),
    lambda inner: st.lists(inner | st.dictionaries(st.just("a"), inner | SCALARS), max_size=2),
    max_leaves=3,
)
OPERATORS = st.one_of(
    st.tuples(st.sampled_from(["$eq", "$ne"]), SCALARS),
    st.tuples(st.sampled_from(["$in", "$nin"]), st.lists(SCALARS, max_size=3)),
    st.tuples(st.sampled_from(list(SIGNS)), NUMBERS | STRINGS),
    st.tuples(st.just("$exists"), st.booleans()),
)


def escaped(key: str) -> str:
    return re.sub(r"([.$\\])", r"\\\1", key)


PATHS = KEYS.map(escaped) | st.lists(KEYS.map(escaped), min_size=1, max_size=2).map(".".join)


def conditions(depth: int, *, under_key: bool = False) -> st.SearchStrategy[dict[str, Json]]:
    entries = [st.tuples(PATHS, st.one_of(SCALARS, LISTS, st.just({})))]
    if under_key:
        entries += [OPERATORS] * 4
    if depth:
        inner = conditions(depth - 1, under_key=under_key)
        entries += [
            st.tuples(PATHS, conditions(depth - 1, under_key=True)),
            st.tuples(PATHS, conditions(depth - 1, under_key=True)),
            st.tuples(st.sampled_from(["$and", "$or"]), st.lists(inner, min_size=1, max_size=2)),
            st.tuples(st.just("$not"), inner),
        ]
    return st.lists(st.one_of(entries), min_size=1, max_size=2).map(dict)


TAGS = st.lists(st.sampled_from(["a", "b", "c"]), max_size=2)
DAYS = st.integers(1, 5).map(lambda day: datetime(2020, 1, day, 12, tzinfo=UTC))
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "tags": TAGS,
            "source_type": st.sampled_from(["md", "txt"]),
            "dated_at": DAYS,
            "metadata": METADATA,
        }
    ),
    min_size=4,
    max_size=8,
)
RANGES = st.tuples(DAYS, DAYS).map(lambda days: [str(day.date()) for day in sorted(days)])
FILTERS = st.fixed_dictionaries(
    {
        "tags": st.one_of(
            st.just({}),
            TAGS,
            st.fixed_dictionaries({}, optional={"any": TAGS, "all": TAGS, "none": TAGS}),
        ),
        "source_types": st.sampled_from([[], ["md"], ["txt"], *[["md", "txt"]] * 5]),
        "date_range": st.just([None, None]) | RANGES,
        "metadata": st.just({}) | conditions(2),
    }
)
WITH_DATABASE = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@settings(WITH_DATABASE, max_examples=100)
@given(rows=ROWS, questions=st.lists(FILTERS, min_size=3, max_size=6))
def test_random_filters_find_what_a_plain_evaluation_finds(
    tenant: Namespace, rows: list[dict[str, Any]], questions: list[Json]
):
    expected = [{n for n, row in enumerate(rows) if passes(q, row)} for q in questions]
    assert all_found(tenant, rows, questions) == expected


@settings(WITH_DATABASE, max_examples=150)
@given(
    metadata=st.lists(METADATA, min_size=4, max_size=8),
    questions=st.lists(conditions(2), min_size=3, max_size=6),
)
def test_random_conditions_and_their_negations_share_the_documents(
    tenant: Namespace, metadata: list[dict[str, Json]], questions: list[Json]
):
    rows = [{"metadata": one} for one in metadata]
    everything = set(range(len(rows)))
    expected = [{n for n in everything if holds(q, metadata[n])} for q in questions]
    assert all_found(tenant, rows, [{"metadata": q} for q in questions]) == expected
    negated = all_found(tenant, rows, [{"metadata": {"$not": q}} for q in questions])
    assert negated == [everything - found for found in expected]


FEW = st.sampled_from([0, 1, 1.0, 2, True, None, "", "a", "b", "1"])


@settings(WITH_DATABASE, max_examples=60)
@given(
    values=st.lists(FEW | st.lists(FEW | st.lists(FEW, max_size=1)), min_size=8, max_size=12),
    questions=st.lists(OPERATORS, min_size=8, max_size=12),
)
def test_random_operators_on_one_key_find_what_a_plain_evaluation_finds(
    tenant: Namespace, values: list[Json], questions: list[tuple[str, Json]]
):
    rows = [{"metadata": {"v": value}} for value in values]
    conditions = [{"v": {operator: operand}} for operator, operand in questions]
    expected = [{n for n, v in enumerate(values) if holds(c, {"v": v})} for c in conditions]
    assert all_found(tenant, rows, [{"metadata": c} for c in conditions]) == expected
