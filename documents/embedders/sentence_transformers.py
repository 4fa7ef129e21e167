"""Models of sentence-transformers, by default the one installed as a package.

Nothing heavy is loaded before the first text is embedded. A plain BERT, such as the bundled model,
runs on onnxruntime from its own weights (bert_graph.py), about twice as fast as torch and without
loading it. Set `runtime="torch"` to disable that.
"""

import logging
from pathlib import Path

from documents.embedders import bert_graph, proof
from documents.embedders.encoders import Encoder, TorchEncoder
from documents.embedders.local import LocalEmbedder
from documents.embedders.model_files import ModelFiles

logger = logging.getLogger(__name__)

RUNTIMES = ("auto", "torch")


class SentenceTransformersEmbedder(LocalEmbedder):
    """`model` is a directory, a name on the Hugging Face hub, or "" for the bundled model.

    `proofs` is a folder that stores torch's vectors for a few texts, so that models other than the
    bundled one need torch only once, to check onnxruntime.
    """

    provider = "sentence-transformers"

    def __init__(
        self,
        model: str = "",
        *,
        threads: int = 0,
        batch_size: int = 64,
        dimensions: int = 0,
        query_prefix: str = "",
        document_prefix: str = "",
        device: str = "cpu",
        runtime: str = "auto",
        proofs: str = "",
    ) -> None:
        if threads < 0:
            raise ValueError("threads must be 0 or more")
        if runtime not in RUNTIMES:
            raise ValueError(f"runtime must be one of {', '.join(RUNTIMES)}")
        self.model = model
        self.threads = threads  # 0: torch decides, onnxruntime uses 1
        self.device = device
        self.runtime = runtime
        self.proofs = Path(proofs) if proofs else None
        super().__init__(
            ModelFiles(model),
            dimensions=dimensions,
            batch_size=batch_size,
            query_prefix=query_prefix,
            document_prefix=document_prefix,
        )

    def load(self) -> Encoder:
        if self.runtime == "auto" and self.device == "cpu" and bert_graph.fits(self.files):
            try:
                return self._proven()
            except Exception:
                logger.warning("embedder.onnx_refused", extra={"model": self.model}, exc_info=True)
        return self._torch()

    def _proven(self) -> Encoder:
        encoder = bert_graph.encoder(
            self.files, threads=max(1, self.threads), max_tokens=self.max_input_tokens
        )
        expected = proof.expected(self.files, self.proofs, lambda: self._torch())
        proof.compare(encoder, expected)
        return encoder

    def _torch(self) -> TorchEncoder:
        return TorchEncoder(
            self.model,
            self.files,
            threads=self.threads,
            batch_size=self.batch_size,
            device=self.device,
        )
