"""Texts made of the bundled model's own vocabulary: as many as needed, always the same, without a
file.

A few documents share a subject: some dozen words that recur in their passages and hardly in others.
The rest are common words, by Zipf's law. So questions made from a passage have answers, and vectors
form clusters. They are not prose, so quality is not measured on them.
"""

import json
import random
import uuid
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate
from pathlib import Path

from documents.embedders.sentence_transformers import SentenceTransformersEmbedder
from evaluation.benchmarks.data.corpus import CorpusDocument

PASSAGES = 6  # passages of a document
DOCUMENTS = 5  # words about a subject
WORDS = 60  # words of a passage
SUBJECT_WORDS = 40
OF_SUBJECT = 0.5  # fraction of the words


def pages(number: int, owner: uuid.UUID, *, seed: str) -> Iterator[CorpusDocument]:
    """Yield documents with `number` passages in total."""
    for first in range(0, number, PASSAGES):
        of_subject = random.Random(f"{seed} {first // (PASSAGES * DOCUMENTS)}")  # noqa: S311
        subject = of_subject.sample(words(), SUBJECT_WORDS)
        chance = random.Random(f"{seed} document {first}")  # noqa: S311
        count = min(PASSAGES, number - first)
        texts = tuple(_passage(subject, chance) for _ in range(count))
        title = " ".join(chance.sample(subject, 4))
        yield CorpusDocument(f"{seed}/{first}", title, texts, owner)


def _passage(subject: Sequence[str], chance: random.Random) -> str:
    common = iter(chance.choices(words(), cum_weights=_weights(), k=WORDS))
    chosen = (
        chance.choice(subject) if chance.random() < OF_SUBJECT else next(common)
        for _ in range(WORDS)
    )
    return " ".join(chosen).capitalize() + "."


@cache
def words() -> list[str]:
    """Return whole words of the tokenizer, in an order independent of their spelling."""
    tokenizer = json.loads(Path(SentenceTransformersEmbedder().files.tokenizer).read_text())
    whole = sorted(w for w in tokenizer["model"]["vocab"] if w.isascii() and w.isalpha())
    random.Random(5).shuffle(whole)  # noqa: S311
    return [word for word in whole if len(word) > 2]


@cache
def _weights() -> list[float]:
    return list(accumulate(1 / (rank + 10) for rank in range(len(words()))))
