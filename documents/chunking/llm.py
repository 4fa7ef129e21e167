"""Chunks that end where a language model finds a new topic.

The model only names sentences. We cut at the sentences' exact spans, so no answer of the model can
change the text.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from documents.chunking.atoms import Atom
from documents.chunking.base import Splitter
from documents.chunking.packing import TINY, Draft, Packer
from documents.chunking.sections import Run
from documents.chunking.semantic import TurnPacker
from documents.chunking.sizes import CountTokens, token_sizes
from documents.language_models.base import LanguageModelBadResponse, LanguageModelFailed

# Takes sentences and returns the indexes of those that start a new topic. Raises
# LanguageModelFailed.
FindTopics = Callable[[Sequence[str]], Iterable[int]]
SentencePlace = tuple[int, int]  # index of a run, and of a sentence in it

MAX_SENTENCES = 60  # per request
MAX_CHARACTERS = 12_000
MAX_SENTENCE = 600  # characters; the rest of a longer sentence is not sent
CONTEXT_SENTENCES = 2  # repeated from the previous request, as context for the first new sentence
MAX_BAD_ANSWERS = 3  # then the model is not called again for this document


class TopicSplitter(Splitter):
    """Cuts at new topics, then down to `size`.

    If the model fails, or `find_topics` is None, paragraphs are packed as by the structure chunker.
    A failure is reported in `warnings`.
    """

    def __init__(
        self, count_tokens: CountTokens, find_topics: FindTopics | None, *, size: int, limit: int
    ) -> None:
        super().__init__(count_tokens, sizes=token_sizes(size, overlap=0, limit=limit))
        self.find_topics = find_topics

    def draft(self, text: str, runs: Sequence[Run]) -> Iterable[list[Draft]]:
        atoms_by_run = self.cutter.cut(text, runs)
        by_model, starts = self._topics(text, atoms_by_run)
        for number, (run, atoms) in enumerate(zip(runs, atoms_by_run, strict=True)):
            packer = Packer(run, atoms, sizes=self.sizes)
            if number in by_model:
                turns = [float((number, place) in starts) for place in range(1, len(atoms))]
                packer = TurnPacker(run, atoms, sizes=self.sizes, turns=turns, far=0.5)
            yield packer.pack()

    def _topics(
        self, text: str, atoms_by_run: Sequence[Sequence[Atom]]
    ) -> tuple[set[int], set[SentencePlace]]:
        """Return the runs that the model has read, and where it found a new topic."""
        if self.find_topics is None:
            return set(), set()
        eligible = [
            number for number, atoms in enumerate(atoms_by_run) if self._could_be_cut(atoms)
        ]
        places = [
            (number, place) for number in eligible for place in range(len(atoms_by_run[number]))
        ]
        sentences = [_sentence(text, atoms_by_run[number][place]) for number, place in places]
        windows = list(_windows(sentences))
        starts: set[SentencePlace] = set()
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
                f"llm_chunking: {len(failed)} of {len(eligible)} sections were cut between "
                f"paragraphs instead of at topics ({failures[-1].code}): {failures[-1]}",
            )
        return set(eligible) - failed, starts

    def _could_be_cut(self, atoms: Sequence[Atom]) -> bool:
        """Whether there is enough text for two chunks that are not tiny."""
        return sum(atom.tokens for atom in atoms) * TINY >= 2 * self.sizes.size and len(atoms) > 1


def _is_over(failures: Sequence[LanguageModelFailed]) -> bool:
    """Whether to stop calling the model.

    One bad answer may be bad luck, but a model that is unreachable, late or out of budget stays so.
    """
    unavailable = any(not isinstance(error, LanguageModelBadResponse) for error in failures)
    return unavailable or len(failures) >= MAX_BAD_ANSWERS


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
