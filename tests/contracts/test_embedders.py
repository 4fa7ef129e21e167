"""Both embedders keep the contract, and no embedder gets a bad vector past its base class."""

import math
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from documents.embedders import Embedder
from documents.embedders.hashing import HashingEmbedder
from documents.embedders.model_files import ModelFiles
from documents.embedders.sentence_transformers import SentenceTransformersEmbedder
from documents.errors import BadVectors, EmbeddingFailed

from .embedder_contract import EmbedderContract


class TestHashingEmbedder(EmbedderContract):
    def again(self) -> Embedder:
        return HashingEmbedder(batch_size=8)

    @pytest.fixture
    def embedder(self) -> Embedder:
        return HashingEmbedder(batch_size=8)

    def test_a_text_without_words_has_a_vector_too(self, embedder: Embedder) -> None:
        assert embedder.embed_query("...") == [1.0] + [0.0] * 255

    def test_a_long_word_counts_by_its_length(self, embedder: Embedder) -> None:
        assert embedder.count_tokens(["a" * 100, "a" * 101, "a, b"]) == [1, 2, 3]

    def test_vectors_are_the_same_in_every_process(self, embedder: Embedder) -> None:
        code = (
            "from documents.embedders.hashing import HashingEmbedder as E;"
            "print(E().embed_query('one two three'))"
        )
        printed = [
            subprocess.check_output([sys.executable, "-c", code], env={"PYTHONHASHSEED": seed})
            for seed in ("0", "1")
        ]
        assert printed[0] == printed[1] == f"{embedder.embed_query('one two three')}\n".encode()

    @pytest.mark.parametrize("options", [{"dimensions": 0}, {"max_tokens": 0}, {"batch_size": 0}])
    def test_options_that_make_no_sense_are_refused(self, options: dict[str, int]) -> None:
        with pytest.raises(ValueError, match="must be 1 or more"):
            HashingEmbedder(**options)


LOCAL = SentenceTransformersEmbedder(batch_size=8)


class TestSentenceTransformersEmbedder(EmbedderContract):
    def again(self) -> Embedder:
        return SentenceTransformersEmbedder(batch_size=8)

    @pytest.fixture
    def embedder(self) -> Embedder:
        return LOCAL

    def test_the_bundled_model_describes_itself(self) -> None:
        assert (LOCAL.dimensions, LOCAL.max_tokens) == (384, 254)
        assert LOCAL.identity.startswith("sentence-transformers/all-MiniLM-L6-v2@")

    def test_a_longer_text_is_the_mean_of_its_windows(self) -> None:
        cats, rates = "the cat sleeps on the sofa " * 30, "interest rates rose in March " * 36
        (long,) = LOCAL.embed_batch([cats + rates])
        one, other = LOCAL.embed_batch([cats.strip(), rates.strip()])
        assert LOCAL.count_tokens([cats, rates]) == [180, 180]
        mean = [(a + b) / 2 for a, b in zip(one, other, strict=True)]
        length = math.hypot(*mean)
        assert long == pytest.approx([value / length for value in mean], abs=1e-5)

    def test_every_word_up_to_the_last_window_is_read_and_none_beyond(self) -> None:
        longest = LOCAL.max_tokens * LOCAL.max_windows
        filler = "word " * (longest - 1)
        full, marked, beyond = LOCAL.embed_batch(
            [filler + "word", filler + "elephant", filler + "word elephant"]
        )
        assert full != pytest.approx(marked, abs=1e-4)
        assert full == pytest.approx(beyond, abs=1e-6)

    def test_prefixes_change_vectors_identity_and_room(self) -> None:
        prefixed = SentenceTransformersEmbedder(query_prefix="query: ", document_prefix="text: ")
        assert prefixed.max_tokens == LOCAL.max_tokens - 2
        assert prefixed.identity != LOCAL.identity
        assert prefixed.embed_query("cats") == pytest.approx(
            LOCAL.embed_query("query: cats"), abs=1e-6
        )
        assert prefixed.embed_batch(["cats"])[0] == pytest.approx(
            LOCAL.embed_batch(["text: cats"])[0], abs=1e-6
        )

    def test_retrained_weights_of_the_same_shape_have_another_identity(
        self, tmp_path: Path
    ) -> None:
        bundled = ModelFiles("")
        copy = Path(shutil.copytree(bundled.directory, tmp_path / "model"))
        assert ModelFiles(str(copy)).revision == bundled.revision
        with (copy / "model.safetensors").open("r+b") as weights:
            weights.seek(45_000_000)
            weights.write(bytes(2_000_000))
        assert ModelFiles(str(copy)).revision != bundled.revision

    def test_threads_may_embed_at_once(self) -> None:
        texts = [f"question {n} " * (n % 7 + 1) for n in range(24)]
        with ThreadPoolExecutor(8) as pool:
            at_once = list(pool.map(LOCAL.embed_query, texts))
        for vector, text in zip(at_once, texts, strict=True):
            assert vector == pytest.approx(LOCAL.embed_query(text), abs=1e-5)

    def test_a_huge_word_is_counted_in_bounded_memory(self) -> None:
        assert LOCAL.count_tokens(["." * 2_000_000]) == [2_000_000]

    def test_describing_and_counting_load_no_torch(self) -> None:
        code = (
            "import sys;"
            "from documents.embedders.sentence_transformers import SentenceTransformersEmbedder;"
            "e = SentenceTransformersEmbedder(); e.identity, e.count_tokens(['a b']);"
            "assert not {'torch', 'transformers', 'sentence_transformers'} & set(sys.modules)"
        )
        subprocess.run([sys.executable, "-c", code], check=True)

    def test_a_missing_directory_is_refused_at_once(self) -> None:
        with pytest.raises(ValueError, match="no model directory"):
            SentenceTransformersEmbedder("/no/such/model")

    @pytest.mark.parametrize("options", [{"threads": -1}, {"batch_size": 0}])
    def test_options_that_make_no_sense_are_refused(self, options: dict[str, int]) -> None:
        with pytest.raises(ValueError, match="or more"):
            SentenceTransformersEmbedder(**options)

    def test_prefixes_that_leave_no_room_are_refused(self) -> None:
        with pytest.raises(ValueError, match="no room"):
            SentenceTransformersEmbedder(query_prefix="word " * 300)


class Canned(HashingEmbedder):
    """Gives whatever it was made with."""

    def __init__(self, *vectors: list[float]) -> None:
        super().__init__(dimensions=2)
        self.vectors = list(vectors)

    def embed_batch(self, texts: list[str]) -> list[list[float]]:
        return self.vectors


class Broken(HashingEmbedder):
    def embed_batch(self, texts: list[str]) -> list[list[float]]:
        raise ConnectionError("the model is away")


def test_good_vectors_pass_unchanged() -> None:
    assert Canned([3.0, 4.0]).embed_query("text") == [3.0, 4.0]


@pytest.mark.parametrize(
    ("vectors", "complaint"),
    [
        ([], "Asked for 1 vectors"),
        ([[1.0, 0.0], [1.0, 0.0]], "Asked for 1 vectors"),
        ([[1.0]], "1 dimensions where 2"),
        ([[1.0, float("nan")]], "not finite"),
        ([[1.0, float("inf")]], "not finite"),
        ([[0.0, 0.0]], "all zeros"),
    ],
)
def test_bad_vectors_are_refused(vectors: list[list[float]], complaint: str) -> None:
    embedder = Canned(*vectors)
    with pytest.raises(BadVectors, match=complaint):
        embedder.embed_query("text")
    with pytest.raises(BadVectors, match=complaint):
        list(embedder.embed_documents(["text"]))


def test_any_other_failure_is_wrapped_in_a_sentence_with_its_cause() -> None:
    with pytest.raises(EmbeddingFailed, match="Broken could not embed 1 text") as info:
        Broken().embed_query("text")
    assert "the model is away" not in str(info.value)  # a provider's own words may hold secrets
    assert isinstance(info.value.__cause__, ConnectionError)
    assert info.value.code == "embedding_failed"
