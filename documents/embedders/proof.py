"""Check at every start, with a few texts, that another runtime returns the model's own vectors.

torch's vectors for these texts are in this folder for the bundled model. For any other model they
are computed once and stored, so that torch need not be loaded again.
"""

import json
import os
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from documents.embedders.encoders import Encoder
from documents.embedders.model_files import ModelFiles

KNOWN = Path(__file__).with_name("bundled_vectors.json")
TEXTS = (
    "how hot must the kiln be?",
    "  Ragsite v2.1 — naïve café, 東京, “C++” & <b>42 %</b>;\n\tsnake_case_name  ",
    "Heat the kiln to 1240 degrees for nine hours. " * 12 + "end " * 200,
)
TOLERANCE = 1e-5


class VectorsDiffer(Exception):
    """The vectors are not the model's."""


def expected(files: ModelFiles, folder: Path | None, own: Callable[[], Encoder]) -> Any:
    """Return the normalised vectors of TEXTS by the model's `own` encoder."""
    known = json.loads(KNOWN.read_text())
    if files.revision in known:
        return known[files.revision]
    name = f"{files.revision[:16]}-sentence-transformers-{version('sentence-transformers')}.json"
    stored = folder / name if folder else None
    if stored is not None:
        with suppress(OSError, ValueError):
            return json.loads(stored.read_text())
    vectors = normalised(own().encode(TEXTS)).tolist()
    if stored is not None:
        with suppress(OSError):  # not writable: computed again next time
            stored.parent.mkdir(parents=True, exist_ok=True)
            draft = stored.with_suffix(f".{os.getpid()}")
            draft.write_text(json.dumps(vectors))
            draft.replace(stored)
    return vectors


def compare(encoder: Encoder, vectors: Any) -> None:
    import numpy as np

    actual = normalised(encoder.encode(TEXTS))
    wanted = np.asarray(vectors, dtype=np.float32)
    if actual.shape != wanted.shape or not np.abs(actual - wanted).max() <= TOLERANCE:
        raise VectorsDiffer("onnxruntime gives other vectors than sentence-transformers.")


def normalised(vectors: Any) -> Any:
    import numpy as np

    vectors = np.asarray(vectors, dtype=np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
