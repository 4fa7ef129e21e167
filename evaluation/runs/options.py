"""The options of a run: those of its searches, and the depth to which rankings are measured."""

from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Self

from retrieval.requests import Filters, Fusion, Mode, SearchRequest

UNBOUNDED = 100_000_000  # tokens, enough to measure the whole ranking


@dataclass(frozen=True, slots=True)
class RunOptions:
    k: int = 10  # results a client requests; latency and tokens are measured with it
    depth: int = 100  # to which the ranking is measured
    mode: Mode = "hybrid"
    fusion: Fusion = "weighted"
    semantic_weight: float = 0.5
    rrf_k: int = 60
    rerank: str = "auto"
    max_per_document: int | None = None  # None: several documents are preferred, without a limit
    token_budget: int | None = None  # tokens of the context; None: as in the settings
    mmr_lambda: float = 1.0
    answers: bool = False  # also answer each query and measure the answers
    model: str = ""  # alias of the writer; blank: the namespace's, else the default
    verify: bool = False  # also let the verifier judge citations

    @classmethod
    def from_stored(cls, stored: dict[str, Any]) -> Self:
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in stored.items() if name in known})

    def stored(self) -> dict[str, Any]:
        return asdict(self)

    def asked(self, query: str, filters: Filters) -> SearchRequest:
        """Return the request as a client would send it."""
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
        """Return the request down to the depth. If documents are judged, each is returned once."""
        return replace(
            self.asked(query, filters),
            k=self.depth,
            max_per_document=1 if by_document else self.max_per_document,
            token_budget=UNBOUNDED,
            explain=True,
        )
