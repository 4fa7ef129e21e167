"""Reports as files: an HTML page that needs nothing else, charts that are pictures."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from PIL import Image

from documents.models import Namespace
from evaluation.models import EvaluationRun, GoldenSet
from evaluation.reports import charts
from evaluation.runs.options import RunOptions
from evaluation.runs.runner import measure_now
from ragsite.database.tenancy import operator


def test_a_report_has_the_figures_every_query_and_the_charts(
    golden_set: GoldenSet, tenant: Namespace, tmp_path: Path
):
    measure_now(golden_set, RunOptions(mode="lexical"), label="words")
    measure_now(golden_set, RunOptions(), label="both <b>")
    with operator():
        score = EvaluationRun.objects.get(label="words").scores.get(text__contains="kiln")
        score.metrics |= {"ndcg@10": 0.1}
        score.save()
    call_command("evaluation_report", "both <b>", "--compare=words", f"--out={tmp_path}")
    page = (tmp_path / "report.html").read_text()
    assert "how hot must the kiln be?" in page
    assert "1 query got better" in page
    assert "both &lt;b&gt;" in page
    assert "<b>)" not in page
    assert page.count("data:image/svg+xml;base64,") == 6
    assert "http://" not in page.replace("http://www.w3.org", "")
    pictures = sorted(path.name for path in tmp_path.glob("*.png"))
    assert len(pictures) == 6
    for name in pictures:
        with Image.open(tmp_path / name) as picture:
            assert picture.size[0] > 500
    with pytest.raises(CommandError, match="no run"):
        call_command("evaluation_report", "nobody", f"--out={tmp_path}")


def test_charts_can_be_drawn_of_very_little():
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    point = charts.Point(moment, 0.5, 0.4, 0.6)
    for drawn in (
        charts.recall_curve({"one": {"recall@10": 0.5}}),
        charts.over_time({"ndcg@10": [point]}, marked=moment),
        charts.latency_histogram({"one": []}),
        charts.gains([], "ndcg@10"),
    ):
        assert drawn.rstrip().endswith(b"</svg>")
    assert charts.gains([0.1, -0.2], "ndcg@10", kind="png").startswith(b"\x89PNG")
