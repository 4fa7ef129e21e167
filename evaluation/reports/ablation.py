"""The results of an ablation, as Markdown and HTML."""

from collections.abc import Sequence
from pathlib import Path

from evaluation.experiments.ablation import MEASURES, VariantResult
from evaluation.experiments.ann_methods import MethodResult

from .files import STYLE, html_table
from .tables import table

HEAD = ("variant", *MEASURES, "Δ nDCG@10", "p", "p50 ms", "p95 ms", "tokens")
Section = tuple[str, Sequence[str], list[Sequence[str]]]  # title, head, rows


def outcome_section(title: str, outcomes: Sequence[VariantResult]) -> Section:
    return title, HEAD, [_row(outcome) for outcome in outcomes]


def _row(outcome: VariantResult) -> Sequence[str]:
    run = outcome.run
    total = run.latency_ms.get("total", {})
    return (
        outcome.name,
        *(f"{run.metrics[name]['mean']:.4f}" if name in run.metrics else "–" for name in MEASURES),
        "" if outcome.gain is None else f"{outcome.gain:+.4f}",
        "" if outcome.p_value is None else f"{outcome.p_value:.3f}",
        f"{total.get('p50', 0):.0f}",
        f"{total.get('p95', 0):.0f}",
        f"{run.tokens.get('mean', 0):.0f}",
    )


def method_section(rows: int, methods: Sequence[MethodResult]) -> Section:
    ks = list(methods[0].recall) if methods else []
    head = ("method", *(f"recall@{k}" for k in ks), "p50 ms", "p95 ms", "build s")
    body: list[Sequence[str]] = [
        (
            m.method,
            *(f"{m.recall[k]:.4f}" for k in ks),
            f"{m.p50_ms:.2f}",
            f"{m.p95_ms:.2f}",
            f"{m.build_seconds:.2f}" if m.build_seconds else "",
        )
        for m in methods
    ]
    return f"Vector search over {rows:,} vectors, against an exact scan", head, body


def markdown(title: str, sections: Sequence[Section], notes: Sequence[str]) -> str:
    parts = [f"# {title}", *notes]
    for name, head, rows in sections:
        parts += [f"## {name}", table(head, rows) if rows else "Nothing to measure."]
    return "\n\n".join(parts) + "\n"


def write(folder: Path, title: str, sections: Sequence[Section], notes: Sequence[str]) -> None:
    """Write ablation.md and ablation.html."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ablation.md").write_text(markdown(title, sections, notes), encoding="utf-8")
    body = "".join(f"<h2>{name}</h2>{html_table(head, rows)}" for name, head, rows in sections)
    about = html_table(("about",), [(note,) for note in notes])
    page = f"<!doctype html><meta charset='utf-8'><title>Ablation</title><style>{STYLE}</style>"
    heading = html_table((title,), [])
    (folder / "ablation.html").write_text(page + heading + about + body, encoding="utf-8")
