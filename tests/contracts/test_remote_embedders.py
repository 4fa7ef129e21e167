"""Embedding APIs, tried against a real server on this machine that misbehaves on purpose."""

import logging
import math
import socket
from itertools import islice, pairwise
from typing import Any

import pytest

from documents.embedders import Embedder
from documents.embedders.model_files import ModelFiles
from documents.embedders.ollama import OllamaEmbedder
from documents.embedders.openai import OpenAIEmbedder
from documents.embedders.remote import estimate_tokens
from documents.embedders.sentence_transformers import SentenceTransformersEmbedder
from documents.errors import EmbeddingFailed

from ..embedding_server import DIMENSIONS, MODEL, Handler
from .embedder_contract import EmbedderContract

KEY = "sk-very-secret"


@pytest.fixture
def site(embedding_site: str) -> str:
    return embedding_site


@pytest.fixture(autouse=True)
def seen() -> list[dict[str, Any]]:
    Handler.forget()
    return Handler.seen


def openai(url: str, **options: Any) -> OpenAIEmbedder:
    return OpenAIEmbedder(url, **{"model": "m", "dimensions": DIMENSIONS, "key": KEY, **options})


def ollama(url: str, **options: Any) -> OllamaEmbedder:
    return OllamaEmbedder(url, **{"model": "m", "dimensions": DIMENSIONS, **options})


class TestOpenAI(EmbedderContract):
    @pytest.fixture
    def embedder(self, site: str) -> Embedder:
        self.site = site
        return openai(f"{site}/good/v1", batch_size=8, max_tokens=2048)

    def again(self) -> Embedder:
        return openai(f"{self.site}/good/v1", batch_size=8, max_tokens=2048)


class TestOllama(EmbedderContract):
    @pytest.fixture
    def embedder(self, site: str) -> Embedder:
        self.site = site
        return ollama(f"{site}/good", batch_size=8)

    def again(self) -> Embedder:
        return ollama(f"{self.site}/good", batch_size=8)


# -- what is asked ---------------------------------------------------------------


def test_the_request_is_what_openai_expects(site: str, seen: list):
    embedder = openai(f"{site}/good/v1", query_prefix="q: ", document_prefix="d: ")
    embedder.embed_batch(["one", "two"])
    embedder.embed_query("three")
    assert [request["path"] for request in seen] == ["/good/v1/embeddings"] * 2
    assert seen[0]["key"] == f"Bearer {KEY}"
    assert seen[0]["body"] == {"model": "m", "input": ["d: one", "d: two"]}
    assert seen[1]["body"]["input"] == ["q: three"]


def test_the_request_is_what_ollama_expects(site: str, seen: list):
    embedder = ollama(f"{site}/good", options={"num_ctx": 512}, keep_alive="10m")
    embedder.embed_batch(["one"])
    assert embedder.max_tokens == 512
    assert seen[0]["path"] == "/good/api/embed"
    expected = {"model": "m", "input": ["one"], "options": {"num_ctx": 512}, "keep_alive": "10m"}
    assert seen[0]["body"] == expected


@pytest.mark.parametrize("encoding", ["", "float", "base64"])
@pytest.mark.parametrize("behaviour", ["good", "shuffled", "no-index", "doubled"])
def test_vectors_come_in_order_and_of_unit_length(site: str, behaviour: str, encoding: str):
    texts = [f"text number {n}" for n in range(20)]
    vectors = openai(f"{site}/{behaviour}", encoding=encoding).embed_batch(texts)
    for vector, expected in zip(vectors, MODEL.embed_batch(texts), strict=True):
        assert vector == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("make", [openai, ollama])
@pytest.mark.parametrize("shorten", ["server", "here"])
def test_matryoshka_vectors_are_cut_and_of_unit_length_again(
    site: str, seen: list, make: Any, shorten: str
):
    embedder = make(f"{site}/good", dimensions=64, shorten=shorten)
    question, (document,) = embedder.embed_query("a b c"), embedder.embed_batch(["a b c"])
    assert question == document
    assert len(question) == 64
    assert math.hypot(*question) == pytest.approx(1)
    assert ("dimensions" in seen[0]["body"]) == (shorten == "server")
    assert embedder.identity != make(f"{site}/good").identity


def test_everything_that_decides_a_vector_is_in_the_identity(site: str):
    variants: list[dict[str, Any]] = [
        {},
        {"model": "other"},
        {"revision": "2"},
        {"dimensions": 64},
        {"query_prefix": "q: "},
        {"document_prefix": "q: "},
    ]
    identities = {
        make(site, **options).identity for make in (openai, ollama) for options in variants
    }
    assert len(identities) == 12
    assert openai(site).identity == openai("http://elsewhere/v1", key="other").identity


def test_tokens_used_are_the_providers_own_or_an_estimate(site: str):
    assert openai(f"{site}/good").embed_metered(["one two three"])[1] == 3
    assert ollama(f"{site}/good").embed_metered(["one two three"])[1] == 3
    assert openai(f"{site}/no-index").embed_metered(["one two three"])[1] == 3


def test_a_tokenizer_of_the_model_counts_exactly(site: str):
    tokenizer = str(ModelFiles("").tokenizer)
    text = "Unbelievably, tokenizers tokenize."
    exact = openai(site, tokenizer=tokenizer).count_tokens([text])
    assert exact == SentenceTransformersEmbedder().count_tokens([text]) == [12]
    assert estimate_tokens(text) != 12


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("  \n", 0),
        ("word", 1),
        ("elephant", 1),
        ("elephants", 2),
        ("12345", 2),
        ("東京", 3),
        ("a, b!", 4),
        ("Geschwindigkeitsbegrenzung", 6),
    ],
)
def test_the_estimate(text: str, tokens: int):
    assert estimate_tokens(text) == tokens


# -- what goes wrong --------------------------------------------------------------


@pytest.mark.parametrize("make", [openai, ollama])
@pytest.mark.parametrize(
    ("behaviour", "code", "tries"),
    [
        ("broken", "provider_unavailable", 2),
        ("cut", "provider_unavailable", 2),
        ("always-busy", "provider_rate_limited", 1),
        ("refused", "provider_refused", 1),
        ("moved", "provider_refused", 1),
        ("html", "provider_bad_response", 1),
        ("a-list", "provider_bad_response", 1),
        ("nothing", "provider_bad_response", 1),
        ("words", "provider_bad_response", 1),
        ("null", "provider_bad_response", 1),
        ("too-few", "provider_bad_vector", 1),
        ("wrong-dimension", "provider_bad_vector", 1),
        ("nan", "provider_bad_vector", 1),
        ("zero", "provider_bad_vector", 1),
    ],
)
def test_each_failure_has_its_code_and_tells_no_secret(
    site: str, seen: list, make: Any, behaviour: str, code: str, tries: int, caplog: Any
):
    caplog.set_level(logging.DEBUG)
    embedder = make(f"{site}/{behaviour}", key=KEY, retries=1, deadline=10)
    with pytest.raises(EmbeddingFailed) as caught:
        list(embedder.embed_documents(["one", "two"]))
    assert caught.value.code == code
    assert len(seen) == tries
    told = f"{caught.value} {caught.value.__cause__!r} {caplog.text} {embedder!r}"
    assert "secret" not in told


def test_an_index_that_comes_twice_is_refused(site: str):
    with pytest.raises(EmbeddingFailed) as caught:
        list(openai(f"{site}/same-index").embed_documents(["one", "two"]))
    assert caught.value.code == "provider_bad_response"


def test_nobody_there_is_unavailable():
    with socket.socket() as held:  # bound, and never listening
        held.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{held.getsockname()[1]}"
        with pytest.raises(EmbeddingFailed) as caught:
            openai(url, retries=0).embed_query("one")
    assert caught.value.code == "provider_unavailable"


@pytest.mark.parametrize("behaviour", ["hang", "drip"])
def test_one_deadline_covers_all_tries(site: str, seen: list, behaviour: str):
    with pytest.raises(EmbeddingFailed) as caught:
        list(openai(f"{site}/{behaviour}", timeout=0.3, deadline=1.0).embed_documents(["one"]))
    assert caught.value.code == "provider_timeout"
    assert len(seen) <= 3  # of six tries, each with a time of its own


@pytest.mark.parametrize("behaviour", ["flaky", "cut-once", "hang-once"])
def test_what_passes_is_tried_again(site: str, seen: list, behaviour: str):
    embedder = openai(f"{site}/{behaviour}", timeout=0.5)
    (vector,) = embedder.embed_batch(["one"])
    assert vector == pytest.approx(MODEL.embed_query("one"))
    pauses = [b["at"] - a["at"] for a, b in pairwise(seen)]
    assert pauses
    assert min(pauses) >= 0.25  # at least half of the first pause


@pytest.mark.parametrize(("behaviour", "least"), [("busy", 1.0), ("busy-by-date", 0.9)])
def test_retry_after_is_honoured_in_seconds_and_as_a_date(
    site: str, seen: list, behaviour: str, least: float
):
    openai(f"{site}/{behaviour}").embed_batch(["one"])
    assert len(seen) == 2
    assert seen[1]["at"] - seen[0]["at"] >= least


def test_a_retry_after_beyond_the_deadline_is_not_waited_for(site: str, seen: list):
    with pytest.raises(EmbeddingFailed) as caught:
        list(openai(f"{site}/always-busy", deadline=5).embed_documents(["one"]))
    assert caught.value.code == "provider_rate_limited"
    assert len(seen) == 1


def test_batches_before_a_failure_are_handed_over(site: str):
    embedder = openai(f"{site}/third-batch-fails", batch_size=2, concurrency=1)
    texts = [f"text {n}" for n in range(8)]
    batches = embedder.embed_documents(texts)
    got = [vector for batch in islice(batches, 2) for vector in batch]
    for vector, expected in zip(got, MODEL.embed_batch(texts[:4]), strict=True):
        assert vector == pytest.approx(expected)
    with pytest.raises(EmbeddingFailed):
        next(batches)


def test_so_many_calls_at_once_and_no_more(site: str):
    embedder = openai(f"{site}/slow", batch_size=1, concurrency=3)
    assert len(list(embedder.embed_documents([f"text {n}" for n in range(6)]))) == 6
    assert Handler.most_at_once == 3


@pytest.mark.parametrize(
    "options",
    [
        {"model": ""},
        {"dimensions": 0},
        {"batch_size": 0},
        {"retries": -1},
        {"deadline": 0},
        {"shorten": "yes"},
        {"key": "two words"},
        {"encoding": "hex"},
        {"max_tokens": 1, "query_prefix": "a b"},
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any]):
    with pytest.raises(ValueError, match=r"."):
        openai("http://127.0.0.1", **options)


@pytest.mark.parametrize("url", ["", "ftp://x", "http://user:pw@x/v1", "x"])
def test_addresses_that_make_no_sense_are_refused(url: str):
    with pytest.raises(ValueError, match="address"):
        openai(url)
