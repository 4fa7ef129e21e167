"""Encoders that run locally: onnxruntime, or torch where necessary."""

import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from documents.embedders import onnx_model
from documents.embedders.model_files import ModelFiles

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from sentence_transformers import SentenceTransformer
    from tokenizers import Encoding, Tokenizer

MAX_TEXT_LENGTH = 100_000  # characters; models read a few thousand


class Encoder(Protocol):
    def encode(self, texts: Sequence[str]) -> Any:
        """Return one row per text, normalised or not."""
        ...


class OnnxEncoder:
    """A model on onnxruntime, with `rows` texts per run, padded to `width` tokens if set.

    The default is one text per run: nothing else was faster on a CPU, and it makes the vector
    depend on the text alone. An int8 model computes its scale from the whole run, including padding
    and the other texts.
    """

    def __init__(
        self,
        session: "InferenceSession",
        tokenizer: "Tokenizer",
        *,
        pooling: str,
        threads: int = 1,
        rows: int = 1,
        width: int = 0,
    ) -> None:
        self._session = session
        self._tokenizer = tokenizer
        self._blank = onnx_model.pad_id(tokenizer)
        self._pool = POOLS[pooling]
        self._threads = threads
        self._rows = rows
        self._width = width

    def encode(self, texts: Sequence[str]) -> Any:
        import numpy as np

        encodings = self._tokenizer.encode_batch_fast([text[:MAX_TEXT_LENGTH] for text in texts])
        order = sorted(range(len(texts)), key=lambda index: len(encodings[index].ids))
        runs = [order[start : start + self._rows] for start in range(0, len(order), self._rows)]
        inputs = [[encodings[index] for index in run] for run in runs]
        if self._threads > 1 and len(runs) > 1:
            # The session has one thread: separate texts in parallel are faster than one text in
            # parallel.
            with ThreadPoolExecutor(self._threads) as pool:
                parts = list(pool.map(self._run, inputs))
        else:
            parts = [self._run(part) for part in inputs]
        vectors = np.empty((len(texts), parts[0].shape[1]), dtype=np.float32)
        for run, part in zip(runs, parts, strict=True):
            vectors[run] = part
        return vectors

    def _run(self, encodings: "Sequence[Encoding]") -> Any:
        longest = max(len(encoding.ids) for encoding in encodings)
        width = max(self._width, longest)
        inputs = onnx_model.inputs(self._session, encodings, width=width, blank=self._blank)
        (hidden, *_) = self._session.run(None, inputs)
        if hidden.ndim == 2:  # the exported graph includes pooling
            return hidden
        lengths = [len(encoding.ids) for encoding in encodings]
        return self._pool(hidden, lengths)


def _mean(hidden: Any, lengths: Sequence[int]) -> Any:
    import numpy as np

    return np.stack(
        [row[:length].mean(axis=0) for row, length in zip(hidden, lengths, strict=True)]
    )


def _first(hidden: Any, lengths: Sequence[int]) -> Any:
    return hidden[:, 0]


def _last(hidden: Any, lengths: Sequence[int]) -> Any:
    return hidden[range(len(lengths)), [length - 1 for length in lengths]]


POOLS = {"mean": _mean, "cls": _first, "last": _last}


class TorchEncoder:
    """sentence-transformers itself: any model and device that it supports."""

    def __init__(
        self, model: str, files: ModelFiles, *, threads: int, batch_size: int, device: str
    ) -> None:
        self._batch_size = batch_size
        self._lock = threading.Lock()
        self.model = self._load(model, files, threads, device)

    def encode(self, texts: Sequence[str]) -> Any:
        # One thread at a time: a Hugging Face tokenizer in use elsewhere raises "Already borrowed".
        with self._lock:
            return self.model.encode(
                list(texts), batch_size=self._batch_size, show_progress_bar=False
            )

    def _load(
        self, model: str, files: ModelFiles, threads: int, device: str
    ) -> "SentenceTransformer":
        if files.is_local:
            os.environ.setdefault("HF_HUB_OFFLINE", "1")
            os.environ.setdefault("TRANSFORMERS_OFFLINE", "1")
        import torch
        from sentence_transformers import SentenceTransformer

        import_module("transformers.utils.logging").disable_progress_bar()
        if threads:
            torch.set_num_threads(threads)
        if files.is_local:
            return SentenceTransformer(str(files.directory), device=device, local_files_only=True)
        return SentenceTransformer(model, device=device, revision=files.revision)
