"""Ablations and the recall of the vector index: every variant measured, nothing left behind."""

import json
import random
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from documents.models import IndexProfile, Namespace
from evaluation.experiments.ann_methods import measure_methods
from evaluation.experiments.ann_recall import ann_recall, question_vectors
from evaluation.models import EvaluationRun, GoldenSet
from ragsite.database.tenancy import operator

from ..client import Api

WORDS = [
    "harbour",
    "light",
    "tower",
    "granite",
    "mooring",
    "crown",
    "night",
    "boat",
    "kiln",
    "glaze",
]


def prose(number: int) -> str:
    chance = random.Random(number)
    parts = (" ".join(chance.choices(WORDS, k=40)) + "." for _ in range(3))
    return f"# Note {number}\n\n" + "\n\n".join(parts) + "\n"


@pytest.fixture
def many(api: Api, tenant: Namespace, work: Callable[[], int]) -> Namespace:
    """A namespace with some hundred chunks."""
    api.upload(*[(f"{number}.md", prose(number)) for number in range(60)])
    assert work() == 60
    with operator():
        return Namespace.objects.select_related("active_profile").get(pk=tenant.pk)


def test_one_command_measures_every_part_and_leaves_nothing_behind(
    golden_set: GoldenSet, tenant: Namespace, tmp_path: Path
):
    out = StringIO()
    call_command(
        "ablate",
        "--golden-set=trade",
        f"--namespace={tenant.slug}",
        "--weights=0.3,0.5",
        "--chunks=16/0,60/9",
        f"--out={tmp_path}",
        stdout=out,
    )
    told = out.getvalue()
    for variant in ("semantic", "lexical", "hybrid, rrf", "weighted 0.3", "+ cosine"):
        assert variant in told
    assert told.count("structure 60/9") == 1  # that is how they are cut now
    assert "structure 16/0" in told
    assert (tmp_path / "ablation.md").read_text().strip() == told.strip()
    assert "hybrid, rrf" in (tmp_path / "ablation.html").read_text()
    with operator():
        labels = set(EvaluationRun.objects.values_list("label", flat=True))
        assert not Namespace.objects.filter(slug__startswith="scratch-").exists()
        assert not IndexProfile.objects.filter(name__startswith="ablation-").exists()
    assert {"ablation: lexical", "ablation: structure 16/0"} <= labels


@pytest.mark.parametrize(
    ("option", "why"),
    [
        ("--weights=2", "weights"),
        ("--chunks=big", "SIZE/OVERLAP"),
        ("--chunks=10/20", "10/20"),
        ("--golden-set=none", "no golden set"),
    ],
)
def test_what_cannot_be_varied_is_told(
    option: str, why: str, golden_set: GoldenSet, tenant: Namespace
):
    with pytest.raises(CommandError, match=why):
        call_command(
            "ablate", "--golden-set=trade", f"--namespace={tenant.slug}", "--only=chunks", option
        )
    with operator():
        assert not IndexProfile.objects.filter(name__startswith="ablation-").exists()


def test_methods_are_measured_against_the_exact_answer(many: Namespace):
    vectors = question_vectors(many, 20)
    assert len(vectors) == 20
    with operator():
        rows, methods = measure_methods(many, vectors, ks=(5, 10))
    assert rows == many.chunk_count >= 100
    by_name = {method.method: method for method in methods}
    assert by_name["exact"].recall == {5: 1.0, 10: 1.0}
    wide = next(m for name, m in by_name.items() if name.startswith("hnsw, ef_search 200"))
    assert wide.recall[10] > 0.9
    narrow = next(m for name, m in by_name.items() if name.endswith("lists, 1 probes"))
    assert narrow.recall[10] < 1  # it looks into one list of several: the figure can tell


def test_recall_says_how_it_looked_and_how_much_a_filter_left(many: Namespace):
    whole, half = ann_recall(many, shares=[1, 0.5], queries=20, k=10)
    assert (whole.plan, whole.recall, whole.size) == ("exact", 1.0, "< 1k")
    assert 0 < half.left < whole.left == many.chunk_count
    with operator():
        IndexProfile.objects.filter(pk=many.active_profile_id).update(ann_method="hnsw")
        many.active_profile.refresh_from_db()
    (indexed,) = ann_recall(many, shares=[1], queries=20, k=10, always_index=True)
    assert indexed.plan == "hnsw"


def test_the_recall_command_prints_every_namespace(many: Namespace, other_tenant: Namespace):
    out = StringIO()
    call_command("recall", "--queries=5", "--json", "--shares=1,0.2", stdout=out)
    rows: list[dict[str, Any]] = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [(row["namespace"], row["share"]) for row in rows] == [("tenant", 1), ("tenant", 0.2)]
    out = StringIO()
    call_command("recall", "--queries=5", stdout=out)
    assert "| tenant" in out.getvalue()
    with pytest.raises(CommandError, match="Shares"):
        call_command("recall", "--shares=0")
