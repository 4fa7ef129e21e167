"""What every embedder promises; subclass it and give an `embedder` fixture."""

import math
from operator import mul

import pytest

from documents.embedders import Embedder


class EmbedderContract:
    def again(self) -> Embedder:
        """A second embedder made with the same options."""
        raise NotImplementedError

    def test_order_and_count_survive_batching(self, embedder: Embedder) -> None:
        texts = [f"the number {n} and nothing else" for n in range(embedder.batch_size + 3)]
        batches = list(embedder.embed_documents(texts))
        together = [vector for batch in batches for vector in batch]
        assert [len(batch) for batch in batches] == [embedder.batch_size, 3]
        for place in (0, embedder.batch_size - 1, embedder.batch_size, len(texts) - 1):
            (alone,) = embedder.embed_batch([texts[place]])
            assert together[place] == pytest.approx(alone, abs=1e-5)

    def test_no_texts_give_no_batches(self, embedder: Embedder) -> None:
        assert list(embedder.embed_documents([])) == []

    def test_vectors_have_the_promised_dimensions_and_unit_length(self, embedder: Embedder) -> None:
        texts = ["A sentence.", "東京に行った。", "👩‍👩‍👧", "\u0001", "...", "x" * 5000]
        for vector in next(embedder.embed_documents(texts)):
            assert len(vector) == embedder.dimensions
            assert math.hypot(*vector) == pytest.approx(1, abs=1e-4)

    def test_the_same_text_gives_the_same_vector(self, embedder: Embedder) -> None:
        text = "Twice the same words."
        first, second = next(embedder.embed_documents([text, text]))
        assert first == pytest.approx(second, abs=1e-6)
        assert self.again().embed_query(text) == pytest.approx(embedder.embed_query(text), abs=1e-6)

    def test_different_texts_give_different_vectors(self, embedder: Embedder) -> None:
        first, second = next(embedder.embed_documents(["red apples", "fast trains"]))
        assert first != pytest.approx(second, abs=1e-3)

    def test_identity_is_the_same_for_the_same_options(self, embedder: Embedder) -> None:
        assert embedder.identity == self.again().identity
        assert str(embedder.dimensions) in embedder.identity

    def test_tokens_are_counted_text_by_text(self, embedder: Embedder) -> None:
        texts = ["", "one", "one two three", "x " * 300_000]
        counts = embedder.count_tokens(texts)
        assert counts == [embedder.count_tokens([text])[0] for text in texts]
        assert counts == [0, 1, 3, 300_000]
        assert embedder.count_tokens([]) == []

    def test_the_last_token_inside_the_limit_still_matters(self, embedder: Embedder) -> None:
        filler = "word " * (embedder.max_tokens - 1)
        full, marked = filler + "word", filler + "elephant"
        assert embedder.count_tokens([full, marked]) == [embedder.max_tokens] * 2
        first, second = next(embedder.embed_documents([full, marked]))
        assert first != pytest.approx(second, abs=1e-4)

    def test_a_question_is_nearest_to_the_text_that_shares_its_words(
        self, embedder: Embedder
    ) -> None:
        texts = ["The cat sleeps on the sofa.", "Interest rates rose again in March."]
        cat, rates = next(embedder.embed_documents(texts))
        question = embedder.embed_query("where does the cat sleep: on the sofa?")
        assert _cosine(question, cat) > _cosine(question, rates)


def _cosine(first: list[float], second: list[float]) -> float:
    return sum(map(mul, first, second))
