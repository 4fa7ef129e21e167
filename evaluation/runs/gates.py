"""Gates for CI: minimum figures for a run, and a baseline run it must not fall behind."""

from dataclasses import dataclass

from evaluation.errors import BadOptions
from evaluation.measures import metrics
from evaluation.models import EvaluationRun

from .comparison import Comparison

HEADLINES = ("ndcg@10", metrics.ANSWER, "mrr@10", "recall@10")
LATENCY = "p95_ms"  # the only figure where less is better


@dataclass(frozen=True, slots=True)
class Floor:
    """MEASURE=VALUE is the minimum of a mean; p95_ms=VALUE is the maximum latency."""

    measure: str
    value: float

    @classmethod
    def parse(cls, text: str) -> "Floor":
        name, _, number = text.partition("=")
        try:
            value = float(number)
        except ValueError:
            raise BadOptions(f"Write MEASURE=NUMBER, e.g. ndcg@10=0.7, not {text!r}.") from None
        if name.strip() == LATENCY:
            return cls(LATENCY, value)
        try:
            return cls(metrics.checked(name), value)
        except metrics.UnknownMeasure as error:
            raise BadOptions(str(error)) from None

    def broken(self, run: EvaluationRun) -> str:
        """Return the problem; blank if the gate holds."""
        if self.measure == LATENCY:
            p95 = run.latency_ms.get("total", {}).get("p95", 0.0)
            return f"p95 is {p95:.0f} ms, above {self.value:g}" if p95 > self.value else ""
        if self.measure not in run.metrics:
            why = " No query has judged text." if self.measure == metrics.ANSWER else ""
            raise BadOptions(f"The run did not measure {self.measure}.{why}")
        mean = run.metrics[self.measure]["mean"]
        return f"{self.measure} is {mean:.4f}, below {self.value:g}" if mean < self.value else ""


def regressions(comparison: Comparison, *, tolerance: float) -> list[str]:
    """Return the headline measures that fell by more than the tolerance."""
    messages = []
    for name in HEADLINES:
        figures = comparison.measures.get(name)
        if figures and figures["gain"] < -tolerance:
            messages.append(
                f"{name} fell from {figures['a']:.4f} to {figures['b']:.4f} "
                f"(p = {figures['p_value']:.3f})"
            )
    return messages
