"""Write a run or a comparison as a self-contained HTML page and PNG charts."""

import base64
import html
from collections.abc import Mapping, Sequence
from pathlib import Path

from evaluation.measures import metrics
from evaluation.models import EvaluationRun
from evaluation.runs.comparison import Comparison
from ragsite.platform.wording import plural

from . import pictures
from .pictures import Draw
from .tables import STAGES, answer_line, described

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem;
       color: #222 }
table { border-collapse: collapse; margin: 1rem 0 }
th, td { padding: .25rem .7rem; border-bottom: 1px solid #ddd; text-align: right }
th:first-child, td:first-child { text-align: left }
img { max-width: 100% } .worse { color: #b3392f } .better { color: #3d8b40 }
.stages { font-size: .85em; color: #555 }
"""


def write_report(run: EvaluationRun, folder: Path, *, comparison: Comparison | None = None) -> Path:
    """Write report.html and a PNG for each chart. Inside namespace() or operator()."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = {f"run-{name}": draw for name, draw in pictures.of_run(run).items()}
    if comparison is not None:
        drawn |= {f"compare-{n}": draw for n, draw in pictures.of_comparison(comparison).items()}
    for name, draw in drawn.items():
        (folder / f"{name}.png").write_bytes(draw("png"))
    page = folder / "report.html"
    page.write_text(_page(run, comparison, drawn), encoding="utf-8")
    return page


def _page(run: EvaluationRun, comparison: Comparison | None, drawn: Mapping[str, Draw]) -> str:
    parts = [f"<h1>{_(run.golden_set.name)}: {plural(run.queries_done, 'query')}</h1>"]
    parts.append(f"<p>{_(described(run))}, {run.created_at:%Y-%m-%d %H:%M} UTC</p>")
    parts += [f"<p><b>{_(warning)}</b></p>" for warning in run.warnings]
    parts.append(_measures(run))
    parts += [_image(draw) for name, draw in drawn.items() if name.startswith("run-")]
    parts.append(_latency(run))
    if comparison is not None:
        parts.append(_compared(comparison))
        parts += [_image(draw) for name, draw in drawn.items() if name.startswith("compare-")]
        parts += _changes(comparison)
    parts.append(_queries(run))
    head = f"<!doctype html><meta charset='utf-8'><title>{_(run.golden_set.name)}</title>"
    return f"{head}<style>{STYLE}</style>" + "\n".join(parts)


def html_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return an HTML table with escaped cells."""
    lines = ["<tr>" + "".join(f"<th>{_(cell)}</th>" for cell in head) + "</tr>"]
    lines += ["<tr>" + "".join(f"<td>{_(cell)}</td>" for cell in row) + "</tr>" for row in rows]
    return "<table>" + "\n".join(lines) + "</table>"


def _(text: object) -> str:
    return html.escape(str(text))


def _image(draw: Draw) -> str:
    data = base64.b64encode(draw("svg")).decode()
    return f'<img alt="" src="data:image/svg+xml;base64,{data}">'


def _measures(run: EvaluationRun) -> str:
    rows = [
        (name, f"{f['mean']:.4f}", f"{f['low']:.4f} – {f['high']:.4f}")
        for name in (*metrics.REPORTED, *metrics.OF_ANSWERS)
        if (f := run.metrics.get(name))
    ]
    answered = f"<p>{_(answer_line(run))}</p>" if answer_line(run) else ""
    return html_table(("measure", "mean", "95 %"), rows) + answered


def _latency(run: EvaluationRun) -> str:
    rows = [
        (stage, *(f"{figures[name]:.1f}" for name in ("p50", "p95", "p99")))
        for stage, figures in run.latency_ms.items()
    ]
    tokens = f"<p>{run.tokens.get('mean', 0):.0f} tokens of context per query on average.</p>"
    return "<h2>Latency</h2>" + html_table(("stage", "p50 ms", "p95 ms", "p99 ms"), rows) + tokens


def _compared(comparison: Comparison) -> str:
    rows = [
        (
            name,
            f"{f['a']:.4f}",
            f"{f['b']:.4f}",
            f"{f['gain']:+.4f}",
            f"{f['low']:+.4f} … {f['high']:+.4f}",
            f"{f['p_value']:.4f}",
        )
        for name, f in comparison.measures.items()
    ]
    about = f"<p>a: {_(described(comparison.a))}<br>b: {_(described(comparison.b))}</p>"
    notes = "".join(f"<p><b>{_(warning)}</b></p>" for warning in comparison.warnings)
    head = ("measure", "a", "b", "b − a", "95 %", "p")
    return f"<h2>Compared</h2>{about}{notes}{html_table(head, rows)}"


def _changes(comparison: Comparison) -> list[str]:
    parts = []
    for title, changes in (("worse", comparison.losses), ("better", comparison.wins)):
        parts.append(f"<h3>{plural(len(changes), 'query')} got {title}</h3>")
        for change in changes:
            parts.append(
                f'<p><b class="{title}">{change.gain:+.3f}</b> {_(change.text)}</p>'
                + "".join(_stages(answer) for answer in change.answers)
            )
    return parts


def _stages(answer: Mapping[str, object]) -> str:
    a, b = (answer[side] or {} for side in ("a", "b"))
    ranks = ", ".join(
        f"{stage} {a.get(stage) or '–'} → {b.get(stage) or '–'}"  # type: ignore[attr-defined]
        for stage in STAGES
    )
    fate = f" [{_(b['fate'])}]" if b.get("fate") else ""  # type: ignore[attr-defined,index]
    what = f"{_(answer['what'])} (grade {answer['grade']})"
    return f'<div class="stages">{what}: {ranks}{fate}</div>'


def _queries(run: EvaluationRun) -> str:
    shown = ("ndcg@10", metrics.ANSWER, "mrr@10", "recall@10", "recall@100")
    rows = [
        (
            score.text,
            *(f"{score.metrics[name]:.3f}" if name in score.metrics else "–" for name in shown),
            f"{score.times_ms.get('total', 0):.0f}",
            f"{score.tokens}",
        )
        for score in run.scores.defer("ranking")
    ]
    return "<h2>Queries</h2>" + html_table(("query", *shown, "ms", "tokens"), rows)
