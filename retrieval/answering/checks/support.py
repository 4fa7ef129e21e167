"""How far the cited passages support each sentence of an answer, by words and by meaning.

A weak measure: it distinguishes unrelated from related, but hardly right from wrong. It does not
measure faithfulness.
"""

from collections.abc import Sequence

from retrieval.answering.requests import AnswerSentence, Citation
from retrieval.answering.writers.base import Embed

from .claims import Sentence, answer_sentences
from .sources import passage_spans
from .words import content_stems, tokens

LEXICAL_SHARE = 0.5
# Unrelated sentences have some cosine similarity, too: anything below counts as none.
UNRELATED = 0.2
MAX_SENTENCES = 200  # per answer that are embedded; the rest is compared by words
MAX_PASSAGE_SENTENCES = 400
MAX_EMBEDDED = 1000  # characters per sentence


def judge_sentences(
    text: str,
    citations: Sequence[Citation],
    *,
    embed: Embed | None,
    language: str = "en",
) -> tuple[AnswerSentence, ...]:
    """Return each sentence with its support, 0…1, or None without citations. Embeds once."""
    sentences = answer_sentences(text, citations, language=language)
    meaning = _meaning(sentences, embed, language)
    judged = []
    for place, sentence in enumerate(sentences):
        ids = tuple(dict.fromkeys(citation.id for citation in sentence.citations))
        support = _support(_coverage(sentence), meaning.get(place)) if ids else None
        judged.append(AnswerSentence(sentence.start, sentence.end, ids, support))
    return tuple(judged)


def _support(coverage: float, meaning: float | None) -> float:
    if meaning is None:
        return round(coverage, 3)
    similar = max(0.0, (meaning - UNRELATED) / (1 - UNRELATED))
    return round(min(1.0, LEXICAL_SHARE * coverage + (1 - LEXICAL_SHARE) * similar), 3)


def _coverage(sentence: Sentence) -> float:
    """Return the fraction of the sentence's content words in what it cites; numbers count
    double."""
    wanted = content_stems(tokens(sentence.text))
    if not wanted:
        return 1.0
    stated: set[str] = set()
    for evidence in {citation.id: citation.evidence for citation in sentence.citations}.values():
        hit = evidence.hit
        place = f"{hit.title}\n{hit.section}\n{hit.table_header}\n{hit.content}"
        stated |= content_stems(tokens(place)).keys()
    return sum(wanted[word] for word in wanted.keys() & stated) / sum(wanted.values())


def _meaning(sentences: Sequence[Sentence], embed: Embed | None, language: str) -> dict[int, float]:
    """Return, for each cited sentence, the best similarity to a sentence of a passage it cites."""
    cited = [(n, s) for n, s in enumerate(sentences) if s.citations][:MAX_SENTENCES]
    if embed is None or not cited:
        return {}
    passages = _passage_sentences([sentence for _, sentence in cited], language)
    texts = [sentence.text[:MAX_EMBEDDED] for _, sentence in cited]
    places: dict[str, tuple[int, int]] = {}
    for name, parts in passages.items():
        places[name] = len(texts), len(texts) + len(parts)
        texts += parts
    vectors = embed(texts)
    meaning: dict[int, float] = {}
    for place, (number, sentence) in enumerate(cited):
        names = {citation.id for citation in sentence.citations}
        others = [n for name in names for n in range(*places.get(name, (0, 0)))]
        if others:
            meaning[number] = max(_dot(vectors[place], vectors[other]) for other in others)
    return meaning


def _passage_sentences(sentences: Sequence[Sentence], language: str) -> dict[str, list[str]]:
    passages: dict[str, list[str]] = {}
    left = MAX_PASSAGE_SENTENCES
    for citation in (citation for sentence in sentences for citation in sentence.citations):
        if citation.id in passages:
            continue
        text = citation.evidence.text
        spans = passage_spans(text, language=citation.evidence.hit.language or language)
        parts = [text[start:end][:MAX_EMBEDDED] for start, end in spans][:left]
        passages[citation.id] = parts
        left -= len(parts)
    return passages


def _dot(one: Sequence[float], two: Sequence[float]) -> float:
    return float(sum(a * b for a, b in zip(one, two, strict=True)))
