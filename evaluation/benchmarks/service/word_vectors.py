"""The service's settings with vectors that cost nearly nothing: for `make load` and `make soak`."""

from ragsite.settings import *  # noqa: F403
from ragsite.settings import EMBEDDERS

EMBEDDERS = {
    **EMBEDDERS,
    "default": {"BACKEND": "evaluation.benchmarks.data.vectors.WordEmbedder", "OPTIONS": {}},
}
