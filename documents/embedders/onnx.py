"""A model exported to ONNX: needs a directory, onnxruntime and tokenizers, but not torch."""

from pathlib import Path

from documents.embedders import onnx_model
from documents.embedders.encoders import POOLS, Encoder, OnnxEncoder
from documents.embedders.local import LocalEmbedder
from documents.embedders.model_files import ModelFiles


class OnnxEmbedder(LocalEmbedder):
    """`directory` contains tokenizer.json, config.json and the model: `file`, or else model.onnx or
    onnx/model.onnx.

    `pooling` is mean, cls or last, and required if the directory has no 1_Pooling/config.json of
    sentence-transformers. `width` pads every text to that many tokens, and `rows` is the number of
    texts per run. The vectors of an int8 model depend on both, so they are part of the identity; by
    default each text runs alone and without padding.
    """

    provider = "onnx"

    def __init__(
        self,
        directory: str,
        *,
        file: str = "",
        pooling: str = "",
        query_prefix: str = "",
        document_prefix: str = "",
        dimensions: int = 0,
        max_length: int = 0,
        width: int = 0,
        rows: int = 1,
        threads: int = 1,
        batch_size: int = 64,
    ) -> None:
        if min(rows, threads) < 1 or width < 0:
            raise ValueError("rows and threads must be 1 or more, width 0 or more")
        folder = Path(directory).expanduser()
        self.path = onnx_model.model_file(folder, file)
        name = str(self.path.relative_to(folder))
        # The second pattern matches external weights, which larger models have.
        super().__init__(
            ModelFiles(str(folder), weights=(name, f"{name}[._]data")),
            dimensions=dimensions,
            batch_size=batch_size,
            query_prefix=query_prefix,
            document_prefix=document_prefix,
            max_length=max_length,
        )
        self.pooling = pooling or self.files.pooling
        if self.pooling not in POOLS:
            raise ValueError(f"{folder} does not say its pooling: name {', '.join(POOLS)}.")
        if width > self.max_input_tokens:
            raise ValueError(f"width must not exceed the {self.max_input_tokens} tokens it reads")
        self.width = width
        self.rows = rows
        self.threads = threads
        padding = f"/width-{width}" if width else ""
        together = f"/rows-{rows}" if rows > 1 else ""
        self.identity_extra = f"/{self.pooling}{padding}{together}"

    def load(self) -> Encoder:
        return OnnxEncoder(
            onnx_model.open_session(self.path, threads=1),
            onnx_model.open_tokenizer(self.files.tokenizer, max_tokens=self.max_input_tokens),
            pooling=self.pooling,
            threads=self.threads,
            rows=self.rows,
            width=self.width,
        )
