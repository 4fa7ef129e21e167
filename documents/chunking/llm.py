"""Chunks that end where a language model sees a new topic begin.

The model only names sentences. The cuts are ours, at the sentences' exact spans, so whatever it
answers, no character of the text can change.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from documents.chunking.atoms import Atom
from documents.chunking.base import Splitter
from documents.chunking.packing import TINY, Draft, Packer
from documents.chunking.sections import Run
from documents.chunking.semantic import TurnPacker
from documents.chunking.sizes import CountTokens, token_sizes
from documents.language_models.base import LanguageModelBadResponse, LanguageModelFailed

# Sentences in; out come the places of those at which a new topic begins, counted from 0.
# Raises LanguageModelFailed.
FindTopics = Callable[[Sequence[str]], Iterable[int]]
Place = tuple[int, int]  # a run, and a sentence of it

MAX_SENTENCES = 60  # in one question
MAX_CHARACTERS = 12_000
MAX_SENTENCE = 600  # characters of a sentence that the model gets to see
CONTEXT_SENTENCES = 2  # repeated from the question before, so that the first is not without context
MAX_BAD_ANSWERS = 3  # then the model is left alone for the rest of the document


class TopicSplitter(Splitter):
    """Cuts at new topics, then down to `size`. Where the model fails, paragraphs are packed as by
    the structure chunker, and `warnings` says so. With no `find_topics` nobody is asked."""

    def __init__(
        self, count_tokens: CountTokens, find_topics: FindTopics | None, *, size: int, limit: int
    ) -> None:
        super().__init__(count_tokens, sizes=token_sizes(size, overlap=0, limit=limit))
        self.find_topics = find_topics

    def draft(self, text: str, runs: Sequence[Run]) -> Iterable[list[Draft]]:
        of_runs = self.cutter.cut(text, runs)
        by_model, starts = self._topics(text, of_runs)
        for number, (run, atoms) in enumerate(zip(runs, of_runs, strict=True)):
            packer = Packer(run, atoms, sizes=self.sizes)
            if number in by_model:
                turns = [float((number, place) in starts) for place in range(1, len(atoms))]
                packer = TurnPacker(run, atoms, sizes=self.sizes, turns=turns, far=0.5)
            yield packer.pack()

    def _topics(self, text: str, of_runs: Sequence[Sequence[Atom]]) -> tuple[set[int], set[Place]]:
        """The runs that the model has gone through, and where it saw a new topic begin."""
        if self.find_topics is None:
            return set(), set()
        asked = [number for number, atoms in enumerate(of_runs) if self._could_be_cut(atoms)]
        places = [(number, place) for number in asked for place in range(len(of_runs[number]))]
        sentences = [_sentence(text, of_runs[number][place]) for number, place in places]
        windows = list(_windows(sentences))
        starts: set[Place] = set()
        failures: list[LanguageModelFailed] = []
        failed: set[int] = set()
        for first, stop in windows:
            if not _is_over(failures):
                lead = max(0, first - CONTEXT_SENTENCES)
                try:
                    found = self.find_topics(sentences[lead:stop])
                    starts |= {places[lead + n] for n in found if first <= lead + n < stop}
                    continue
                except LanguageModelFailed as error:
                    failures.append(error)
            failed |= {number for number, _ in places[first:stop]}
        if failures:
            self.warnings = (
                f"llm_chunking: {len(failed)} of {len(asked)} sections were cut between paragraphs "
                f"instead of at topics ({failures[-1].code}): {failures[-1]}",
            )
        return set(asked) - failed, starts

    def _could_be_cut(self, atoms: Sequence[Atom]) -> bool:
        """Enough for two chunks that are not tiny; else there is nothing to ask."""
        return sum(atom.tokens for atom in atoms) * TINY >= 2 * self.sizes.size and len(atoms) > 1


def _is_over(failures: Sequence[LanguageModelFailed]) -> bool:
    """One bad answer may be bad luck. A model that is away, late or out of budget stays so."""
    unlike = any(not isinstance(error, LanguageModelBadResponse) for error in failures)
    return unlike or len(failures) >= MAX_BAD_ANSWERS


def _sentence(text: str, atom: Atom) -> str:
    words = " ".join(text[atom.start : atom.end].split())
    return words if len(words) <= MAX_SENTENCE else f"{words[:MAX_SENTENCE]}…"


def _windows(sentences: Sequence[str]) -> Iterator[tuple[int, int]]:
    first = length = 0
    for place, sentence in enumerate(sentences):
        is_full = place - first == MAX_SENTENCES or length + len(sentence) > MAX_CHARACTERS
        if is_full and place > first:
            yield first, place
            first, length = place, 0
        length += len(sentence)
    if first < len(sentences):
        yield first, len(sentences)
