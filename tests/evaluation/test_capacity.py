"""The capacity plan: its arithmetic is that of the coefficients, whatever they are."""

import json
from dataclasses import replace
from io import StringIO
from math import ceil
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from evaluation.capacity import coefficients
from evaluation.capacity.coefficients import Coefficients, Growth, fitted
from evaluation.capacity.plan import Machine, Wish, plan
from evaluation.management.commands.capacity import rows as shown_rows

TOLERANCE = 0.35  # of a power law through three sizes
DOCUMENTED = (
    *("shards × copies", "memory for indexes", "disk", "database machines", "web machines"),
    *("CPU of a question", "loading", "money"),
)

MEASURED = Coefficients(
    machine="a test",
    measured_chunks=(10_000, 1_000_000),
    vectors="none",
    table_bytes=4000,
    words_index_bytes=400,
    vector_index_bytes={"hnsw": 1200, "bit": 350},
    recall={"hnsw": 0.98, "bit": 0.97},
    load_rate=100,
    build_rate={"hnsw": 50, "bit": 200},
    embed_rate=10,
    web_ms=15,
    postgres_ms=Growth(factor=1.0, power=0.2),
)


def test_a_power_law_is_found_again():
    growth = fitted([10_000, 100_000, 1_000_000], [3 * n**0.3 for n in (1e4, 1e5, 1e6)])
    assert growth.factor == pytest.approx(3)
    assert growth.power == pytest.approx(0.3)
    assert fitted([10_000], [7.0]).at(10**9) == 7.0  # one size says nothing about growth


def test_a_plan_is_the_coefficients_times_the_chunks():
    made = plan(Wish(documents=1_000_000, qps=20, chunks_per_document=4), MEASURED)
    assert made.wish.chunks == 4_000_000
    assert (made.method, made.shards, made.engine) == ("hnsw", 1, "PostgreSQL")
    assert made.memory_gb == pytest.approx(4_000_000 * (1200 + 400 / 2) / 1e9)
    assert made.disk_gb == pytest.approx(4_000_000 * (4000 + 400 + 1200) / 1e9)
    assert made.question_ms == pytest.approx(4_000_000**0.2)
    assert made.web_cores == ceil(20 * 0.015 / 0.5)
    assert made.loading_cores == ceil(4_000_000 * (1 / 10 + 1 / 100 + 1 / 50) / (7 * 86_400))
    assert (made.database_machines, made.web_machines) == (2, 2)
    assert made.price == pytest.approx(4 * 700 + 1_000_000 * 100_000 / 1e9 * 0.02)
    assert made.notes == ["extrapolated: a shard of 4,000,000 chunks; measured up to 1,000,000"]


def test_the_smaller_index_is_taken_when_the_better_one_does_not_fit_one_machine():
    wish = Wish(documents=25_000_000, qps=1, chunks_per_document=4)
    roomy = replace(wish, machine=Machine(disk_gb=10_000, memory_gb=512))
    assert (plan(roomy, MEASURED).method, plan(roomy, MEASURED).shards) == ("hnsw", 1)
    small = replace(wish, machine=Machine(disk_gb=10_000, memory_gb=128))
    assert (plan(small, MEASURED).method, plan(small, MEASURED).shards) == ("bit", 1)


def test_ten_billion_chunks_need_shards_and_an_engine_made_for_them():
    made = plan(Wish(documents=10**10, qps=100, chunks_per_document=1), MEASURED)
    by_memory = ceil(10**10 * (350 + 200) / 1e9 / (128 * 0.6))
    by_disk = ceil(10**10 * (4000 + 400 + 350) / 1e9 / (2000 * 0.7))
    assert made.shards == max(by_memory, by_disk)
    assert made.engine.startswith("Qdrant")
    assert made.question_ms == pytest.approx(made.shards * (10**10 / made.shards) ** 0.2)
    assert made.database_machines == made.shards * made.replicas


def test_more_questions_take_more_copies_and_never_fewer_than_two():
    few, many = (plan(Wish(documents=100_000, qps=qps), MEASURED) for qps in (1, 5000))
    assert few.replicas == 2
    assert many.replicas == ceil(5000 * 600_000**0.2 / 1000 / (16 * 0.5))
    assert many.limited_by == "questions"


def test_the_measured_coefficients_are_those_the_command_computes_with():
    measured = coefficients.read()
    out = StringIO()
    call_command("capacity", documents=1_000_000, qps=10, json=True, stdout=out)
    shown = json.loads(out.getvalue())
    assert shown["chunks"] == 6_000_000
    taken = measured.vector_index_bytes[shown["method"]] + measured.words_index_bytes / 2
    assert shown["memory_gb"] == pytest.approx(6_000_000 * taken / 1e9)
    call_command("capacity", documents=1_000_000, qps=10, stdout=out)
    assert "shards × copies" in out.getvalue()


def test_a_plan_for_what_was_measured_is_what_was_measured():
    """The plan's arithmetic against the measurements, one machine for all of it."""
    measured = coefficients.read()
    assert [point.chunks for point in measured.points] == list(measured.measured_chunks)
    for point in measured.points:
        wish = Wish(documents=point.chunks, qps=1, chunks_per_document=1)
        made = plan(wish, measured)
        assert (made.shards, made.method) == (1, "hnsw")
        assert made.question_ms == pytest.approx(point.postgres_ms, rel=TOLERANCE)
        on_disk = made.disk_gb * 1e9 / point.chunks
        assert on_disk == pytest.approx(point.bytes_on_disk, rel=TOLERANCE)


def test_the_plans_in_the_documentation_are_those_of_the_command():
    page = (Path(settings.BASE_DIR) / "docs/scale.md").read_text()
    measured = coefficients.read()
    for chunks in (10**6, 10**8, 10**10):
        made = plan(Wish(documents=ceil(chunks / 6), qps=20), measured)
        cells = " | ".join(cell for name, cell in shown_rows(made) if name in DOCUMENTED)
        assert f"| {cells} |" in page, cells


def test_written_coefficients_are_read_again(tmp_path: Path):
    path = tmp_path / "coefficients.json"
    coefficients.write(MEASURED, path)
    read = coefficients.read(path)  # JSON has lists for tuples
    assert read == replace(MEASURED, measured_chunks=[10_000, 1_000_000], notes=[], points=[])


def test_nothing_is_not_a_number_of_documents():
    with pytest.raises(CommandError, match="--documents: more than 0"):
        call_command("capacity", documents=0, qps=1)
