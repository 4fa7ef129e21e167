"""What an evaluation varies: the options of a search, and how deep its ranking is measured."""

from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Self

from retrieval.requests import Filters, Fusion, Mode, SearchRequest

UNBOUNDED = 100_000_000  # tokens: a ranking is measured whole, whatever fits into a context


@dataclass(frozen=True, slots=True)
class RunOptions:
    k: int = 10  # what a client asks for: latency and tokens are measured with it
    depth: int = 100  # how far the ranking is looked at
    mode: Mode = "hybrid"
    fusion: Fusion = "weighted"
    semantic_weight: float = 0.5
    rrf_k: int = 60
    rerank: str = "auto"
    max_per_document: int | None = None  # None: several documents are preferred, k comes first
    token_budget: int | None = None  # of the context; None: the setting's
    mmr_lambda: float = 1.0
    answers: bool = False  # let each query be answered, and measure that too
    model: str = ""  # who answers: an alias; blank: the namespace's, else the default
    verify: bool = False  # and let the verifier judge the citations

    @classmethod
    def from_stored(cls, stored: dict[str, Any]) -> Self:
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in stored.items() if name in known})

    def stored(self) -> dict[str, Any]:
        return asdict(self)

    def asked(self, query: str, filters: Filters) -> SearchRequest:
        """As a client asks."""
        return SearchRequest(
            query=query,
            k=self.k,
            filters=filters,
            mode=self.mode,
            fusion=self.fusion,
            semantic_weight=self.semantic_weight,
            lexical_weight=round(1 - self.semantic_weight, 6),
            rrf_k=self.rrf_k,
            rerank=self.rerank,
            max_per_document=self.max_per_document,
            mmr_lambda=self.mmr_lambda,
            token_budget=self.token_budget,
        )

    def ranked(self, query: str, filters: Filters, *, by_document: bool) -> SearchRequest:
        """The same, down to the depth. Where whole documents are judged, each of them once."""
        return replace(
            self.asked(query, filters),
            k=self.depth,
            max_per_document=1 if by_document else self.max_per_document,
            token_budget=UNBOUNDED,
            explain=True,
        )
