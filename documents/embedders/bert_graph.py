"""A plain BERT as an onnxruntime graph, built in memory from the model's weights.

Nothing is exported: the graph is built layer by layer with onnxruntime's fused operators, and the
weights are passed in unchanged. docs/decisions/0017-embedding.md says what that saves; proof.py
checks that the vectors are the same.
"""

import importlib.util
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from documents.embedders import onnx_model
from documents.embedders.encoders import OnnxEncoder
from documents.embedders.model_files import ModelFiles

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto

FUSED = "com.microsoft"
LAYER = (
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "attention.output.LayerNorm",
    "intermediate.dense",
    "output.dense",
    "output.LayerNorm",
)
EMBEDDINGS = ("word_embeddings", "position_embeddings", "token_type_embeddings")


def fits(files: ModelFiles) -> bool:
    """Whether `encoder` supports this model, and the required packages are installed."""
    config = files.config
    return (
        files.is_local
        and files.is_plain
        and files.pooling in ("mean", "cls")
        and config.get("model_type") == "bert"
        and config.get("hidden_act") == "gelu"
        and config.get("position_embedding_type", "absolute") == "absolute"
        and not config.get("is_decoder")
        and (files.directory / "model.safetensors").is_file()
        and importlib.util.find_spec("onnx") is not None
    )


def encoder(files: ModelFiles, *, threads: int, max_tokens: int) -> OnnxEncoder:
    weights = _weights(files)
    model = _Graph(files.config, weights).model()
    # One thread for the session, because `threads` texts are processed in parallel.
    session = onnx_model.open_session(model.SerializeToString(), threads=1, weights=weights)
    tokenizer = onnx_model.open_tokenizer(files.tokenizer, max_tokens=max_tokens)
    return OnnxEncoder(session, tokenizer, pooling=files.pooling, threads=threads)


def _weights(files: ModelFiles) -> dict[str, Any]:
    """Return the weights in the graph's layout: transposed, with query, key and value
    concatenated."""
    import numpy as np
    from safetensors.numpy import load_file

    stored = load_file(files.directory / "model.safetensors")
    if any(array.dtype != np.float32 for name, array in stored.items() if name[-2:] != "ds"):
        raise ValueError("The weights are not in single precision.")
    wanted = {
        f"embeddings.{name}.weight": stored[f"embeddings.{name}.weight"] for name in EMBEDDINGS
    }
    wanted |= {f"embeddings.LayerNorm.{p}": stored[f"embeddings.LayerNorm.{p}"] for p in PARTS}
    for number in range(int(files.config["num_hidden_layers"])):
        for part in LAYER:
            name = f"encoder.layer.{number}.{part}"
            weight = stored[f"{name}.weight"]
            wanted[f"{name}.weight"] = weight.T if weight.ndim == 2 else weight
            wanted[f"{name}.bias"] = stored[f"{name}.bias"]
        attention = f"encoder.layer.{number}.attention.self"
        for p, axis in (("weight", 1), ("bias", 0)):
            parts = [wanted.pop(f"{attention}.{one}.{p}") for one in ("query", "key", "value")]
            wanted[f"{attention}.{p}"] = np.concatenate(parts, axis=axis)
    return {name: np.ascontiguousarray(array) for name, array in wanted.items()}


PARTS = ("weight", "bias")


class _Graph:
    def __init__(self, config: dict[str, Any], weights: dict[str, Any]) -> None:
        self._layers = int(config["num_hidden_layers"])
        self._heads = int(config["num_attention_heads"])
        self._epsilon = float(config["layer_norm_eps"])
        self._weights = weights
        self._nodes: list[NodeProto] = []

    def model(self) -> "ModelProto":
        from onnx import TensorProto, helper

        hidden = self._embeddings()
        for number in range(self._layers):
            hidden = self._layer(f"encoder.layer.{number}", hidden)
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT32, ["texts", "tokens"])
            for name in ("input_ids", "attention_mask", "token_type_ids")
        ]
        size = self._weights["embeddings.LayerNorm.bias"].shape[0]
        shape = ["texts", "tokens", size]
        result = helper.make_tensor_value_info(hidden, TensorProto.FLOAT, shape)
        graph = helper.make_graph(self._nodes, "bert", inputs, [result], self._placeholders())
        operators = [helper.make_opsetid("", 17), helper.make_opsetid(FUSED, 1)]
        return helper.make_model(graph, opset_imports=operators, ir_version=8)

    def _embeddings(self) -> str:
        from onnx import helper

        names = [f"embeddings.{name}.weight" for name in EMBEDDINGS]
        norm = [f"embeddings.LayerNorm.{part}" for part in PARTS]
        node = helper.make_node(
            "EmbedLayerNormalization",
            ["input_ids", "token_type_ids", *names, *norm],
            ["embedded", "unused"],
            domain=FUSED,
            epsilon=self._epsilon,
        )
        self._nodes.append(node)
        return "embedded"

    def _layer(self, name: str, hidden: str) -> str:
        attention = self._node(
            "Attention",
            [hidden, *_pair(f"{name}.attention.self"), "attention_mask"],
            f"{name}.attended",
            num_heads=self._heads,
        )
        hidden = self._added(f"{name}.attention.output", attention, hidden)
        wide = self._times(f"{name}.intermediate.dense", hidden)
        wide = self._node("BiasGelu", [wide, f"{name}.intermediate.dense.bias"], f"{name}.wide")
        return self._added(f"{name}.output", wide, hidden)

    def _added(self, name: str, change: str, hidden: str) -> str:
        """LayerNorm(hidden + dense(change))."""
        product = self._times(f"{name}.dense", change)
        return self._node(
            "SkipLayerNormalization",
            [product, hidden, *_pair(f"{name}.LayerNorm"), f"{name}.dense.bias"],
            f"{name}.sum",
            epsilon=self._epsilon,
        )

    def _times(self, name: str, hidden: str) -> str:
        return self._node("MatMul", [hidden, f"{name}.weight"], f"{name}.product", domain="")

    def _node(
        self, kind: str, inputs: Sequence[str], result: str, *, domain: str = FUSED, **options: Any
    ) -> str:
        from onnx import helper

        self._nodes.append(helper.make_node(kind, inputs, [result], domain=domain, **options))
        return result

    def _placeholders(self) -> list[Any]:
        """Return names and shapes only: onnxruntime gets the weights with the session."""
        from onnx import TensorProto

        placeholders = []
        for name, array in self._weights.items():
            tensor = TensorProto(
                name=name, data_type=TensorProto.FLOAT, data_location=TensorProto.EXTERNAL
            )
            tensor.dims.extend(array.shape)
            tensor.external_data.add(key="location", value="given with the session")
            placeholders.append(tensor)
        return placeholders


def _pair(name: str) -> tuple[str, str]:
    return f"{name}.weight", f"{name}.bias"
