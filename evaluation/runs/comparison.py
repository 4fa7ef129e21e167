"""Compare two runs: means with a significance test, wins and losses, and changes by query."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from evaluation.errors import BadOptions
from evaluation.measures import metrics
from evaluation.models import EvaluationRun, Judgement, QueryScore
from ragsite.platform.wording import plural

MEASURE = "ndcg@10"  # by which wins and losses are counted
Pair = tuple[QueryScore, QueryScore]  # one query in a and in b
MIN_GAIN = 1e-6  # smaller differences count as ties


@dataclass(frozen=True, slots=True)
class QueryChange:
    """One query in both runs. If it changed, `answers` has each relevant judgement with its rank at
    each stage in a and in b."""

    text: str
    a: float
    b: float
    answers: list[dict[str, Any]]

    @property
    def gain(self) -> float:
        return round(self.b - self.a, 6)


@dataclass(frozen=True, slots=True)
class Comparison:
    a: EvaluationRun
    b: EvaluationRun
    measure: str
    queries: int  # in both runs
    measures: dict[str, dict[str, float]]  # name → a, b, gain, low, high, p_value
    wins: list[QueryChange]
    losses: list[QueryChange]
    ties: int
    warnings: list[str]


def compare(a: EvaluationRun, b: EvaluationRun, *, measure: str = MEASURE) -> Comparison:
    """Compare b with a over the queries that both have. Inside namespace() or operator()."""
    measure = metrics.checked(measure)
    old, new = _scores(a), _scores(b)
    shared = [text for text in old if text in new]
    if not shared:
        raise BadOptions("These runs have no query in common.")
    pairs = [(old[text], new[text]) for text in shared]
    names = [n for n in (*metrics.REPORTED, *metrics.OF_ANSWERS) if _both(n, pairs)]
    if measure not in names:
        if not _both(measure, pairs):
            raise BadOptions(f"These runs did not measure {measure}.")
        names.append(measure)
    changes = [
        QueryChange(a.text, a.metrics[measure], b.metrics[measure], [])
        for a, b in _both(measure, pairs)
    ]
    quotes = _quotes(row for text in shared for row in (*old[text].judged, *new[text].judged))
    changed = [
        QueryChange(c.text, c.a, c.b, _answers(old[c.text], new[c.text], quotes))
        for c in changes
        if abs(c.gain) > MIN_GAIN
    ]
    return Comparison(
        a=a,
        b=b,
        measure=measure,
        queries=len(shared),
        measures={name: _measured(name, _both(name, pairs)) for name in names},
        wins=sorted((c for c in changed if c.gain > 0), key=lambda c: -c.gain),
        losses=sorted((c for c in changed if c.gain < 0), key=lambda c: c.gain),
        ties=len(changes) - len(changed),
        warnings=list(_warnings(a, b, len(old), len(new), len(shared))),
    )


def _scores(run: EvaluationRun) -> dict[str, QueryScore]:
    """Return scores by query text, because a reimported set has new rows with the same texts."""
    if run.state != EvaluationRun.State.SUCCEEDED:
        raise BadOptions(f"The run {run.pk} has not succeeded: it is {run.state}.")
    return {score.text: score for score in run.scores.defer("ranking")}


def _both(name: str, pairs: Sequence[Pair]) -> list[Pair]:
    """Return the queries with the measure in both runs; not every query has judged text."""
    return [(a, b) for a, b in pairs if name in a.metrics and name in b.metrics]


def _measured(name: str, pairs: Sequence[Pair]) -> dict[str, float]:
    before = [a.metrics[name] for a, _ in pairs]
    after = [b.metrics[name] for _, b in pairs]
    means = {"a": sum(before) / len(before), "b": sum(after) / len(after)}
    figures = means | asdict(metrics.difference(before, after))
    return {key: round(value, 6) for key, value in figures.items()}


def _quotes(rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    names = {row["judgement"] for row in rows}
    found = Judgement.objects.filter(pk__in=names).values_list("pk", "source_uri", "quote")
    return {str(pk): f"{uri}: {quote[:80]}" if quote else uri for pk, uri, quote in found}


def _answers(a: QueryScore, b: QueryScore, quotes: Mapping[str, str]) -> list[dict[str, Any]]:
    old = {row["judgement"]: row for row in a.judged}
    new = {row["judgement"]: row for row in b.judged}
    return [
        {
            "judgement": name,
            "what": quotes.get(name, "(deleted)"),
            "grade": (new.get(name) or old[name])["grade"],
            "a": _stages(old.get(name)),
            "b": _stages(new.get(name)),
        }
        for name in dict.fromkeys((*old, *new))
        if (new.get(name) or old[name])["grade"] > 0
    ]


def _stages(row: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if row is None:
        return None
    return {**row["ranks"], "final": row["rank"], "fate": row["fate"]}


def _warnings(a: EvaluationRun, b: EvaluationRun, old: int, new: int, shared: int) -> Iterable[str]:
    if shared < max(old, new):
        yield f"Compared {plural(shared, 'query')} that both runs have, of {old} and {new}."
    mine, theirs = (run.configuration.get("questions", {}).get("fingerprint") for run in (a, b))
    if mine != theirs:
        yield "Queries or judgements were changed between the runs."
    before, after = (run.configuration.get("content", {}).get("revision") for run in (a, b))
    if before != after:
        yield "The documents were changed between the runs, or are those of a copy."


def as_data(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison as plain data, for the API and the command."""
    return {
        "a": str(comparison.a.pk),
        "b": str(comparison.b.pk),
        "measure": comparison.measure,
        "queries": comparison.queries,
        "measures": comparison.measures,
        "wins": [{**asdict(change), "gain": change.gain} for change in comparison.wins],
        "losses": [{**asdict(change), "gain": change.gain} for change in comparison.losses],
        "ties": comparison.ties,
        "warnings": comparison.warnings,
    }
