"""Models on onnxruntime: sessions that leave cores to other work, and their inputs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Encoding, Tokenizer

MODEL_FILES = ("model.onnx", "onnx/model.onnx")
KNOWN_INPUTS = {"input_ids", "attention_mask", "token_type_ids"}


class UnknownInputs(ValueError):
    """The model needs inputs that we cannot provide."""


def model_file(directory: Path, name: str = "") -> Path:
    """Return the exported model from a directory that also contains its tokenizer.json."""
    for candidate in (name,) if name else MODEL_FILES:
        if (directory / candidate).is_file() and (directory / "tokenizer.json").is_file():
            return directory / candidate
    raise ValueError(f"{directory} holds no {name or 'model.onnx'} with a tokenizer.json.")


def open_session(
    model: Path | bytes, *, threads: int, weights: Mapping[str, Any] | None = None
) -> "InferenceSession":
    """`weights` are arrays for the initializers that the graph names but does not contain."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    if weights:
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(array) for array in weights.values()]
        options.add_external_initializers(list(weights), values)
    session = onnxruntime.InferenceSession(
        model if isinstance(model, bytes) else str(model),
        options,
        providers=["CPUExecutionProvider"],
    )
    unknown = {each.name for each in session.get_inputs()} - KNOWN_INPUTS
    if unknown:
        raise UnknownInputs(f"The model needs unknown inputs: {sorted(unknown)}.")
    return session


def open_tokenizer(path: Path, *, max_tokens: int) -> "Tokenizer":
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.enable_truncation(max_tokens, strategy="longest_first")
    tokenizer.no_padding()
    return tokenizer


def pad_id(tokenizer: "Tokenizer") -> int:
    known = (tokenizer.token_to_id(token) for token in ("[PAD]", "<pad>"))
    return next((number for number in known if number is not None), 0)


def inputs(
    session: "InferenceSession", encodings: "Sequence[Encoding]", *, width: int, blank: int
) -> dict[str, Any]:
    """Return the inputs of the session, with every row padded to `width` with the token `blank`."""
    import numpy as np

    columns = {
        "input_ids": np.full((len(encodings), width), blank, dtype=np.int64),
        "attention_mask": np.zeros((len(encodings), width), dtype=np.int64),
        "token_type_ids": np.zeros((len(encodings), width), dtype=np.int64),
    }
    for row, encoding in enumerate(encodings):
        length = len(encoding.ids)
        columns["input_ids"][row, :length] = encoding.ids
        columns["attention_mask"][row, :length] = 1
        columns["token_type_ids"][row, :length] = encoding.type_ids
    types = {each.name: each.type for each in session.get_inputs()}
    return {
        name: columns[name].astype(np.int32) if kind == "tensor(int32)" else columns[name]
        for name, kind in types.items()
    }
