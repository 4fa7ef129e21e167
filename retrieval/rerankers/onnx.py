"""A cross-encoder exported to ONNX: onnxruntime and tokenizers, no torch.

By default one passage at a time and without padding. An int8 model computes its scale from the
whole batch, including padding and other passages, so only then does a score depend on query and
passage alone; on a CPU larger batches were no faster (docs/decisions/0013-rerank.md).
"""

import math
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from documents.embedders import onnx_model
from retrieval.rerankers.base import (
    RerankFailed,
    RerankPassage,
    RerankUnavailable,
    checked,
    pairs_of,
)
from retrieval.rerankers.deadline import RerankRunner, batches

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer


class OnnxReranker:
    """`directory` contains model.onnx (or onnx/model.onnx) and tokenizer.json.

    `widths`, in tokens: a batch is padded to the first width that it fits in; one width pads
    everything alike, none pads to the longest of the batch.
    """

    name = "cross-encoder"

    def __init__(
        self,
        directory: str,
        *,
        max_length: int = 256,
        batch_size: int = 1,
        widths: Sequence[int] = (),
        threads: int = 1,
        places: int = 2,
    ) -> None:
        if min(max_length, batch_size, threads, *widths) < 1:
            raise ValueError("max_length, batch_size, threads and widths must be 1 or more")
        self.directory = Path(directory).expanduser()
        self.model = onnx_model.model_file(self.directory)
        self.max_length = max_length
        self.batch_size = batch_size
        self.widths = tuple(sorted(w for w in widths if w < max_length))
        if widths:
            self.widths += (max_length,)
        self.threads = threads
        self._runner = RerankRunner(places)
        self._loading = threading.Lock()
        self._loaded: tuple[InferenceSession, Tokenizer] | None = None

    def rerank(
        self, query: str, passages: Sequence[RerankPassage], *, deadline: float
    ) -> list[float]:
        if not passages:
            return []
        return self._runner.run(lambda: self._scores(query, passages, deadline), deadline=deadline)

    def warm(self) -> None:
        self._score(*self._load(), [("warm", "warm")])

    def _scores(
        self, query: str, passages: Sequence[RerankPassage], deadline: float
    ) -> list[float]:
        session, tokenizer = self._load()
        scores: list[float] = []
        for batch in batches(passages, size=self.batch_size, deadline=deadline):
            scores += self._score(session, tokenizer, pairs_of(query, batch))
        return checked(scores, len(passages))

    def _score(
        self, session: "InferenceSession", tokenizer: "Tokenizer", pairs: list[tuple[str, str]]
    ) -> list[float]:
        encodings = tokenizer.encode_batch(pairs)
        longest = max(len(encoding.ids) for encoding in encodings)
        width = next((w for w in self.widths if w >= longest), longest)
        inputs = onnx_model.inputs(
            session, encodings, width=width, blank=onnx_model.pad_id(tokenizer)
        )
        (logits, *_) = session.run(None, inputs)
        return [_probability(row) for row in logits.reshape(len(pairs), -1).tolist()]

    def _load(self) -> "tuple[InferenceSession, Tokenizer]":
        with self._loading:
            if self._loaded is None:
                try:
                    self._loaded = (
                        onnx_model.open_session(self.model, threads=self.threads),
                        onnx_model.open_tokenizer(
                            self.directory / "tokenizer.json", max_tokens=self.max_length
                        ),
                    )
                except onnx_model.UnknownInputs as error:
                    raise RerankUnavailable(str(error)) from None
                except Exception as error:
                    raise RerankUnavailable("The exported model cannot be loaded.") from error
            return self._loaded


def _probability(logits: list[float]) -> float:
    """Return the probability of "relevant": models return one logit, or one each for no and yes."""
    if len(logits) not in (1, 2):
        raise RerankFailed(f"The model gives {len(logits)} figures for a pair, not one or two.")
    logit = logits[0] if len(logits) == 1 else logits[1] - logits[0]
    if not math.isfinite(logit):
        return math.nan
    small = math.exp(-abs(logit))  # never overflows
    return 1 / (1 + small) if logit >= 0 else small / (1 + small)
