"""Chunkers chosen by profile, from an upload to a cited chunk; and which profiles make sense."""

import hashlib
from collections.abc import Callable
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from documents.chunking.context_headers import with_headers
from documents.chunking.methods import splitter_for
from documents.embedders.hashing import HashingEmbedder
from documents.embedders.sentence_transformers import SentenceTransformersEmbedder
from documents.models import Chunk, EmbeddingCache, IndexProfile, IngestJob, Namespace
from documents.passages import Extracted, Passage
from ragsite.database.tenancy import operator
from tests.client import Api

SENTENCES = " ".join(f"Sentence number {n} speaks of kilns and of clay." for n in range(60))
GUIDE = f"# Guide\n\nHow to fire.\n\n## Firing\n\n{SENTENCES}\n\n```sh\nfire --slowly\n```\n"
SETTINGS: dict[str, dict[str, Any]] = {
    "structure": {"chunk_size": 60, "chunk_overlap": 20},
    "fixed": {"chunk_size": 1000, "chunk_overlap": 200},
    "semantic": {"chunk_size": 60, "chunk_overlap": 0, "chunker_options": {"percentile": 80}},
}


def profile(**fields: Any) -> IndexProfile:
    made = {"chunk_size": 60, "chunk_overlap": 0, "dimensions": 256, "embedder": "hashing"}
    return IndexProfile(**{"name": "mine", "ann_method": "exact", **made, **fields})


def saved(**fields: Any) -> IndexProfile:
    with operator():
        new = profile(**fields)
        new.full_clean()
        new.save()
    return new


def chunks() -> list[Chunk]:
    with operator():
        return list(Chunk.objects.order_by("ordinal"))


@pytest.mark.parametrize("chunker", SETTINGS)  # llm: test_topic_splitting.py
def test_each_chunker_gives_chunks_that_slice_back(
    chunker: str,
    new_namespace: Callable[..., Namespace],
    api_of: Callable[..., Api],
    work: Callable[[], int],
):
    api = api_of(new_namespace(profile=saved(chunker=chunker, **SETTINGS[chunker])))
    document = api.upload(("guide.md", GUIDE)).body["results"][0]["document_id"]
    work()
    text = api.get(f"documents/{document}/text").body["text"]
    found = chunks()
    assert len(found) > 4
    assert all(text[chunk.start : chunk.end] == chunk.content for chunk in found)
    assert [chunk.content for chunk in found if chunk.kind == "code"] == [
        "```sh\nfire --slowly\n```"
    ]
    assert {chunk.section for chunk in found[1:]} == {"Guide > Firing"}
    (hit,) = api.query("sentence number 42", k=1).body["results"]
    assert "number 42 " in hit["content"]
    assert text[hit["span"]["start"] : hit["span"]["end"]] == hit["content"]
    texts = [chunk for chunk in found if chunk.kind == "text"]
    if chunker == "fixed":
        assert all(900 < len(chunk.content) <= 1000 for chunk in texts[1:-1])
    else:
        assert max(chunk.tokens for chunk in texts) <= 72


def test_a_header_is_embedded_but_not_quoted(
    new_namespace: Callable[..., Namespace], api_of: Callable[..., Api], work: Callable[[], int]
):
    api = api_of(new_namespace(profile=saved(contextual_header=True)))
    source = "# Guide\n\n## Firing\n\nSlowly.\n"
    api.upload(("guide.md", source), title="Kilns")
    work()
    (chunk,) = chunks()
    assert chunk.content == source.strip()
    embedded = f"Kilns > Guide > Firing\n{chunk.content}"
    with operator():
        cached = EmbeddingCache.objects.get()
    assert bytes(cached.text_sha256) == hashlib.sha256(embedded.encode()).digest()
    (vector,) = HashingEmbedder().embed_batch([embedded])
    assert list(chunk.embedding) == pytest.approx(vector, abs=1e-3)  # half precision


def test_a_header_gives_way_where_the_model_cannot_read_it_too():
    passage = Passage("One two three.", 0, 14, tokens=4, heading_path=("Far away", "Near"))
    count = HashingEmbedder().count_tokens

    def embedded(limit: int, title: str = "Book") -> str:
        return with_headers([passage], title=title, count_tokens=count, limit=limit)[0]

    assert embedded(20) == "Book > Far away > Near\nOne two three."
    assert embedded(20, title="Far away") == "Far away > Near\nOne two three."
    assert embedded(20, title="") == "Far away > Near\nOne two three."
    assert embedded(5) == "Near\nOne two three."
    assert embedded(4) == "One two three."


def test_a_passage_without_title_and_section_has_no_header():
    passage = Passage("One.", 0, 4, tokens=2)
    count = HashingEmbedder().count_tokens
    assert with_headers([passage], title="", count_tokens=count, limit=9) == ["One."]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"chunker": "random"}, "chunker"),
        ({"chunk_size": 8}, "chunk_size"),
        ({"chunk_size": 100_000}, "chunk_size"),
        ({"chunk_size": 60, "chunk_overlap": 30}, "chunk_overlap"),
        ({"chunker": "fixed", "chunk_size": 60}, "chunk_size"),
        ({"chunker": "fixed", "chunk_size": 1000, "chunk_overlap": 500}, "chunk_overlap"),
        ({"chunker": "semantic", "chunk_overlap": 5}, "chunk_overlap"),
        ({"chunker_options": {"percentile": 90}}, "chunker_options"),
        ({"chunker": "semantic", "chunker_options": {"percentile": 100}}, "chunker_options"),
        ({"chunker": "semantic", "chunker_options": {"percentile": True}}, "chunker_options"),
        ({"chunker": "semantic", "chunker_options": ["percentile"]}, "chunker_options"),
    ],
)
@pytest.mark.usefixtures("db")
def test_settings_that_make_no_sense_are_refused(fields: dict[str, Any], field: str):
    with operator(), pytest.raises(ValidationError) as refused:
        profile(**fields).full_clean()
    assert list(refused.value.message_dict) == [field]


def test_a_size_the_model_cannot_read_fails_with_a_clear_code(
    new_namespace: Callable[..., Namespace], api_of: Callable[..., Api], work: Callable[[], int]
):
    api = api_of(new_namespace(profile=saved(chunk_size=4000)))
    api.upload(("guide.md", GUIDE))
    work()
    with operator():
        job = IngestJob.objects.get()
    assert job.error_code == "profile_mismatch"
    assert "limit of 2048 tokens" in job.error_message


def test_a_size_above_what_the_model_reads_at_once_is_read_in_windows():
    embedder = SentenceTransformersEmbedder()
    text = "The boats of the harbour come and go with the tide every day. " * 60
    for size, read in ((200, 254), (254, 254), (255, 508), (350, 508), (1016, 1016)):
        splitter = splitter_for("structure", embedder, size=size, overlap=0, options={})
        assert embedder.whole_windows(splitter.sizes.limit) == read
        longest = max(passage.tokens for passage in splitter.split(Extracted(text)))
        assert min(size, 840) - 14 < longest <= size
    with pytest.raises(ValueError, match="limit of 1016 tokens, not 1017"):
        splitter_for("structure", embedder, size=1017, overlap=0, options={})
