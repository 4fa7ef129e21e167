"""Format figures as text, for commands and reports."""

from collections.abc import Mapping, Sequence
from typing import Any

from evaluation.measures import metrics
from evaluation.models import EvaluationRun
from evaluation.runs.comparison import Comparison, QueryChange
from evaluation.runs.worst import WorstQuestion

STAGES = ("vector", "lexical", "fused", "rerank", "final")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table, aligned for a terminal."""
    cells = [list(head), *[[str(cell).replace("|", "\\|") for cell in row] for row in rows]]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]

    def line(row: Sequence[str]) -> str:
        first, *others = (
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        return "| " + " | ".join((first, *others)) + " |"

    ruler = "|" + "|".join(
        ("-" * (width + 2)) if column == 0 else ("-" * (width + 1) + ":")
        for column, width in enumerate(widths)
    )
    return "\n".join([line(cells[0]), ruler + "|", *map(line, cells[1:])])


def described(run: EvaluationRun) -> str:
    """Describe a run in one line."""
    label = f"{run.label}: " if run.label else ""
    known = ", ".join(filter(None, (run.code_version, str(run.pk))))
    return f"{label}{configured(run)} ({known})"


def configured(run: EvaluationRun) -> str:
    """Describe the run's options in one line. The profile is known once the run has started."""
    options = run.configuration.get("options", run.options)
    parts = [options["mode"]]
    if options["mode"] == "hybrid":
        weight = f" {options['semantic_weight']:g}" if options["fusion"] == "weighted" else ""
        parts.append(f"{options['fusion']}{weight}")
    parts += [f"rerank {options['rerank']}", run.configuration.get("profile", {}).get("name")]
    return ", ".join(filter(None, parts))


def run_table(run: EvaluationRun) -> str:
    rows = [
        (name, f"{figures['mean']:.4f}", f"{figures['low']:.4f} – {figures['high']:.4f}")
        for name in (*metrics.REPORTED, *metrics.OF_ANSWERS)
        if (figures := run.metrics.get(name))
    ]
    measures = table(("measure", "mean", "95 %"), rows)
    stages = table(
        ("stage", "p50 ms", "p95 ms", "p99 ms"),
        [
            (stage, *(f"{figures[name]:.1f}" for name in ("p50", "p95", "p99")))
            for stage, figures in run.latency_ms.items()
        ],
    )
    tokens = run.tokens
    answered = answer_line(run)
    cost = (
        f"Tokens of context: {tokens['mean']:.0f} a query on average, p95 {tokens['p95']:.0f}, "
        f"{tokens['total']:,} in all."
        if tokens
        else ""
    )
    return "\n\n".join(filter(None, (measures, stages, answered, cost, *answer_lines(run))))


def answer_line(run: EvaluationRun) -> str:
    """Describe what answer@context was measured on, and the tokens used."""
    figures = run.metrics.get(metrics.ANSWER)
    if not figures:
        return ""
    unanswerable = run.metrics.get("abstained@unanswerable", {}).get("queries", 0)
    queries = figures["queries"]
    left_out = run.queries_done - queries - unanswerable
    without = f" ({left_out} judged by document alone are left out)" if left_out else ""
    noun = "query" if queries == 1 else "queries"
    return (
        f"Answer in context: {figures['mean']:.1%} of {queries} {noun}{without}, at "
        f"{run.tokens.get('mean', 0):.0f} tokens on average."
    )


def answer_lines(run: EvaluationRun) -> list[str]:
    """Describe the measures of written answers in sentences; none without answers."""
    if "answer_failures" not in run.metrics:
        return []
    options = run.configuration.get("options", run.options)
    model = run.configuration.get("answers", {}).get("model") or options.get("model")
    return [
        _correctness(run, model),
        _abstentions(run),
        _citations(run),
        _spent(run),
    ]


def _share(run: EvaluationRun, name: str, of: str = "answers") -> str:
    figures = run.metrics.get(name)
    return f"{figures['mean']:.1%} of {figures['queries']} {of}" if figures else "unmeasured"


def _total(run: EvaluationRun, name: str) -> float:
    figures = run.metrics.get(name)
    return figures["mean"] * figures["queries"] if figures else 0.0


def _correctness(run: EvaluationRun, model: str) -> str:
    if "answer@text" not in run.metrics:
        return f"Answer correctness of {model}: unmeasured, because no query has judged text."
    return (
        f"Answer correctness of {model}: the expected words stand in {_share(run, 'answer@text')}; "
        f"{_share(run, 'answer@cited')} cite a passage judged relevant."
    )


def _abstentions(run: EvaluationRun) -> str:
    answered = run.metrics.get("answered@answerable")
    refused = f"{1 - answered['mean']:.1%} of {answered['queries']}" if answered else "none of 0"
    unanswerable = _share(run, "abstained@unanswerable", "unanswerable ones")
    if unanswerable == "unmeasured":
        unanswerable = "no question is tagged unanswerable"
    return f"Abstained: {refused} answerable questions; {unanswerable}."


def _citations(run: EvaluationRun) -> str:
    return (
        f"Citations: {_total(run, 'answer_citations'):.0f} emitted, equal to the stored text: "
        f"{_share(run, 'citations_equal')}; unknown ids dropped "
        f"{_total(run, 'answer_unknown_ids'):.0f}, malformed markers "
        f"{_total(run, 'answer_malformed_markers'):.0f}. Quotes exact as written: "
        f"{_share(run, 'quotes_exact')}. ALCE recall: {_share(run, 'citation_recall')}, "
        f"precision: {_share(run, 'citation_precision')}."
    )


def _spent(run: EvaluationRun) -> str:
    cost = f"{_total(run, 'answer_cost'):.4f}" if "answer_cost" in run.metrics else "unmeasured"
    return (
        f"Tokens: {_total(run, 'answer_prompt_tokens'):,.0f} of prompts, "
        f"{_total(run, 'answer_completion_tokens'):,.0f} of answers; cost: {cost}; "
        f"failed: {_total(run, 'answer_failures'):.0f}."
    )


def comparison_table(comparison: Comparison) -> str:
    return table(
        ("measure", "a", "b", "b − a", "95 %", "p"),
        [
            (
                name,
                f"{figures['a']:.4f}",
                f"{figures['b']:.4f}",
                f"{figures['gain']:+.4f}",
                f"{figures['low']:+.4f} … {figures['high']:+.4f}",
                f"{figures['p_value']:.4f}",
            )
            for name, figures in comparison.measures.items()
        ],
    )


def change_lines(change: QueryChange) -> list[str]:
    """Return lines for a query and the rank of each answer at every stage, a → b."""
    lines = [f"{change.gain:+.4f}  ({change.a:.4f} → {change.b:.4f})  {change.text}"]
    for answer in change.answers:
        stages = ", ".join(
            f"{stage} {_rank(answer['a'], stage)} → {_rank(answer['b'], stage)}"
            for stage in STAGES
            if any((side or {}).get(stage) for side in (answer["a"], answer["b"]))
        )
        fate = (answer["b"] or {}).get("fate")
        why = f" [{fate}]" if fate else ""
        lines.append(f"      {answer['what']}  (grade {answer['grade']}): {stages}{why}")
    return lines


def worst_lines(question: WorstQuestion) -> list[str]:
    return [
        f"  {question.score:.4f}  {question.text}",
        *(f"      expected {line}" for line in question.expected),
        *(f"      came     {line}" for line in question.instead),
    ]


def _rank(side: Mapping[str, Any] | None, stage: str) -> str:
    rank = (side or {}).get(stage)
    return str(rank) if rank else "–"
