"""A cross-encoder of sentence-transformers, from a directory or by its name on the hub.

torch is loaded with the first pair or by `warm()`, not by the constructor.
"""

import os
import threading
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from retrieval.rerankers.base import RerankPassage, RerankUnavailable, checked, pairs_of
from retrieval.rerankers.deadline import RerankRunner, batches

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder


class CrossEncoderReranker:
    """`model` is a directory or a name on the Hugging Face hub."""

    name = "cross-encoder"

    def __init__(
        self,
        model: str,
        *,
        max_length: int = 256,
        batch_size: int = 4,
        threads: int = 0,
        device: str = "cpu",
        places: int = 2,
    ) -> None:
        if min(max_length, batch_size) < 1 or threads < 0:
            raise ValueError("max_length and batch_size must be 1 or more, threads 0 or more")
        self.model = model
        self.is_local = Path(model).expanduser().is_dir()
        if not self.is_local and (Path(model).is_absolute() or model.startswith((".", "~"))):
            raise ValueError(f"There is no model directory {model}.")
        self.max_length = max_length
        self.batch_size = batch_size
        self.threads = threads  # 0: unchanged, because torch has one number for the whole process
        self.device = device
        self._runner = RerankRunner(places)
        self._lock = threading.Lock()
        self._loaded: CrossEncoder | None = None

    def rerank(
        self, query: str, passages: Sequence[RerankPassage], *, deadline: float
    ) -> list[float]:
        if not passages:
            return []
        return self._runner.run(lambda: self._scores(query, passages, deadline), deadline=deadline)

    def warm(self) -> None:
        self._predict([("warm", "warm")])

    def _scores(
        self, query: str, passages: Sequence[RerankPassage], deadline: float
    ) -> list[float]:
        scores: list[float] = []
        for batch in batches(passages, size=self.batch_size, deadline=deadline):
            scores += self._predict(pairs_of(query, batch))
        return checked(scores, len(passages))

    def _predict(self, pairs: list[tuple[str, str]]) -> list[float]:
        # One thread at a time: a Hugging Face tokenizer in use elsewhere raises "Already borrowed".
        with self._lock:
            model = self._loaded = self._loaded or self._load()
            scores: list[float] = model.predict(
                pairs, batch_size=len(pairs), show_progress_bar=False
            ).tolist()
        return scores

    def _load(self) -> "CrossEncoder":
        if self.is_local:
            os.environ.setdefault("HF_HUB_OFFLINE", "1")
            os.environ.setdefault("TRANSFORMERS_OFFLINE", "1")
        import torch
        from sentence_transformers import CrossEncoder

        import_module("transformers.utils.logging").disable_progress_bar()
        if self.threads:
            torch.set_num_threads(self.threads)
        try:
            model: CrossEncoder = CrossEncoder(
                str(Path(self.model).expanduser()) if self.is_local else self.model,
                num_labels=1,
                max_length=self.max_length,
                device=self.device,
                local_files_only=self.is_local,
                activation_fn=torch.nn.Sigmoid(),
            )
            return model
        except Exception as error:  # no such name, no network, a damaged file
            raise RerankUnavailable(
                "The cross-encoder cannot be loaded. Without a network, name a local directory."
            ) from error
