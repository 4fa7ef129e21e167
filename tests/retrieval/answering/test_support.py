"""Support of sentences by words and by meaning."""

import math

from documents.embedders.hashing import HashingEmbedder
from retrieval.answering.checks.support import judge_sentences

from .evidence import checked, evidence

PASSAGE = "The warranty lasts 24 months from the date of purchase. Returns are free of charge."


def judged(text, *, embed=None):
    checker = checked(text, evidence("e0", PASSAGE), evidence("e1", "Bananas grow in the tropics."))
    return checker, judge_sentences(checker.text, checker.citations, embed=embed)


class Counting:
    """Embeds with shared words as the only meaning, and counts how often it was asked."""

    def __init__(self):
        self.calls = 0
        self.embedder = HashingEmbedder(dimensions=64)

    def __call__(self, texts):
        self.calls += 1
        vectors = [list(vector) for vector in self.embedder.embed_batch(list(texts))]
        return [[x / (math.hypot(*v) or 1.0) for x in v] for v in vectors]


def test_what_the_passage_says_is_supported_and_what_it_does_not_is_less_so():
    text = (
        "The warranty lasts 24 months [cite:e0]. The moon consists of green cheese [cite:e0]. "
        "Yes, it does rain."
    )
    for embed in (None, Counting()):
        _, (good, bad, none) = judged(text, embed=embed)
        assert good.support is not None
        assert bad.support is not None
        assert 1 >= good.support > 0.6 > 0.35 > bad.support >= 0
        assert none.support is None
        assert good.citation_ids == ("e0",)
        assert none.citation_ids == ()


def test_a_changed_number_lowers_the_support():
    _, (right, wrong) = judged("It lasts 24 months [cite:e0]. It lasts 12 months [cite:e0].")
    assert right.support > wrong.support


def test_only_cited_passages_count():
    _, (right, wrong) = judged("Returns are free [cite:e0]. Returns are free [cite:e1].")
    assert right.support > 0.9
    assert wrong.support == 0


def test_sentences_are_embedded_in_one_call_and_spans_are_the_answers():
    embed = Counting()
    checker, sentences = judged("Returns are free [cite:e0]. Bananas grow [cite:e1].", embed=embed)
    assert embed.calls == 1
    assert [checker.text[s.start : s.end].split(" [")[0] for s in sentences] == [
        "Returns are free",
        "Bananas grow",
    ]


def test_nothing_is_embedded_when_nothing_is_cited():
    embed = Counting()
    judged("Nothing to see here.", embed=embed)
    assert embed.calls == 0
