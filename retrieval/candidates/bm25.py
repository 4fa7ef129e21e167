"""BM25 as a PostgreSQL query: which chunks to score, and the weight of each word.

A question's common words match nearly everything and decide almost nothing. So only chunks with a
certain share of the words' total weight are scored; the share is chosen so that about as many
chunks remain as there is time to score. docs/decisions/0015-retrieval.md has the numbers.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

# A boolean tree of more words costs more in the index than it saves.
MAX_PRUNING_TERMS = 6
# Factor on the weight of a guess for a misspelt word.
GUESS_WEIGHT = 0.8
SHARES = (0.0, 0.15, 0.25, 0.35, 0.42, 0.5, 0.6, 0.7, 0.85, 0.999)


@dataclass(frozen=True, slots=True)
class Term:
    """A word of the question in all its indexed forms, and the number of chunks that contain it."""

    lexemes: tuple[str, ...]
    dimensions: tuple[int, ...]
    chunks: int
    weight: float  # inverse document frequency, times its occurrences in the question
    is_prefix: bool = False  # its one lexeme is a prefix of words
    is_guess: bool = False  # replaces a misspelt word; weighs less

    @property
    def worth(self) -> float:
        """The weight it would have if it were not a guess."""
        return self.weight / GUESS_WEIGHT if self.is_guess else self.weight

    @property
    def label(self) -> str:
        return self.lexemes[0] + "*" if self.is_prefix else self.lexemes[0]

    def as_query(self) -> str:
        if self.is_prefix:
            return quoted(self.lexemes[0]) + ":*"
        forms = " | ".join(quoted(lexeme) for lexeme in self.lexemes)
        return forms if len(self.lexemes) == 1 else f"({forms})"


def weight(chunks: int, *, total: int) -> float:
    """Return the weight of a word: higher if rare, never negative, even with stale statistics."""
    chunks = min(chunks, total)
    return math.log(1 + (total - chunks + 0.5) / (chunks + 0.5))


def quoted(lexeme: str) -> str:
    """Quote as a tsquery literal: user text is data, whatever characters it contains."""
    return "'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'"


def sparse(terms: Sequence[Term]) -> str:
    """Return the question as a sparse vector, whose inner product with a chunk's impacts is
    BM25."""
    return "{" + ",".join(f"{d}:{w:.6g}" for d, w in weights(terms).items()) + "}/1000000000"


def weights(terms: Sequence[Term]) -> dict[int, float]:
    """Return the weight of each dimension of the question."""
    return {d: term.weight for term in terms for d in term.dimensions}


def choose_share(terms: Sequence[Term], *, total: int, budget: int) -> int:
    """Return the index of the lowest of SHARES that leaves at most about `budget` chunks."""
    for step in range(len(SHARES)):
        if expected(terms, step=step, total=total) <= budget:
            return step
    return len(SHARES) - 1


def expected(terms: Sequence[Term], *, step: int, total: int) -> float:
    """Estimate how many chunks have the share SHARES[step] of the weight."""
    rare = _for_pruning(terms)
    need = SHARES[step] * sum(term.weight for term in rare)
    return _chance(rare, terms, need, total) * total


def candidates_query(terms: Sequence[Term], *, share: float) -> str:
    """Return a tsquery for chunks with at least `share` of the words' total weight.

    Words without a count always match, so that a chunk that was just ingested is found.
    """
    if share == 0:
        return " | ".join(term.as_query() for term in terms)
    rare = _for_pruning(terms)
    total = sum(term.weight for term in rare)
    uncounted = [term.as_query() for term in terms if not term.chunks]
    return " | ".join([f"({_at_least(rare, share * total)})", *uncounted])


def _for_pruning(terms: Sequence[Term]) -> list[Term]:
    rarest = sorted(terms, key=lambda term: -term.weight)
    return [term for term in rarest if term.chunks][:MAX_PRUNING_TERMS] or rarest[:1]


def _at_least(terms: Sequence[Term], need: float) -> str:
    """Match any combination of words whose weights add up to `need`."""
    first, rest = terms[0], terms[1:]
    left = sum(term.weight for term in rest)
    ways = []
    if first.weight >= need:
        ways.append(first.as_query())
    elif first.weight + left >= need:
        ways.append(f"{first.as_query()} & ({_at_least(rest, need - first.weight)})")
    if rest and left >= need:
        ways.append(_at_least(rest, need))
    return " | ".join(ways) or first.as_query()


_ROUNDING = 1e-9  # sums of the same weights differ by their order


def _chance(rare: Sequence[Term], terms: Sequence[Term], need: float, total: int) -> float:
    """Return the probability that a chunk matches, assuming that words occur independently."""
    if need == 0:
        missed = math.prod(1 - min(1.0, term.chunks / max(total, 1)) for term in terms)
        return 1 - missed

    def worth(start: int, need: float) -> float:
        if need <= _ROUNDING:
            return 1.0
        if start == len(rare) or sum(term.weight for term in rare[start:]) < need - _ROUNDING:
            return 0.0
        has = min(1.0, rare[start].chunks / max(total, 1))
        return has * worth(start + 1, need - rare[start].weight) + (1 - has) * worth(
            start + 1, need
        )

    return worth(0, need)
