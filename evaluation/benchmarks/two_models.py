"""The service's settings with a second embedder: for `make bench-reindex`."""

from ragsite.settings import *  # noqa: F403
from ragsite.settings import EMBEDDERS

EMBEDDERS = {
    **EMBEDDERS,
    "other": {
        "BACKEND": "documents.embedders.hashing.HashingEmbedder",
        "OPTIONS": {"dimensions": 512},
    },
}
