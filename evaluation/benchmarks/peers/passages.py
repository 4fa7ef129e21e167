"""Find passages for questions over a folder of texts with other libraries, in their usual set-up.

Runs with the interpreter of requirements/peers.txt, without Django, and imports none of our code.
answers/context.py calls it and reads the output, which is one line of JSON.

    python passages.py SYSTEM FOLDER MODEL     (FOLDER: docs/ and questions.jsonl)
"""

import json
import re
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

TOP = 20  # passages per question; the caller cuts them at its budget


class MiniLm:
    """all-MiniLM-L6-v2 through sentence-transformers, which reads its first 256 tokens."""

    def __init__(self, path: str) -> None:
        import torch
        from sentence_transformers import SentenceTransformer

        torch.set_num_threads(1)
        self.model = SentenceTransformer(path, device="cpu")

    def embed(self, texts: list[str]) -> list[list[float]]:
        rows = self.model.encode(texts, normalize_embeddings=True, show_progress_bar=False)
        vectors: list[list[float]] = rows.tolist()
        return vectors


def ask_langchain(texts: list[str], questions: dict[str, str], model: MiniLm) -> Any:
    """Recursive pieces of 1,000 characters, BM25 and vectors fused by reciprocal rank."""
    from langchain_classic.retrievers import EnsembleRetriever
    from langchain_community.retrievers import BM25Retriever
    from langchain_core.embeddings import Embeddings
    from langchain_core.vectorstores import InMemoryVectorStore
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    class OurEmbeddings(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return model.embed(texts)

        def embed_query(self, text: str) -> list[float]:
            return model.embed([text])[0]

    splitter = RecursiveCharacterTextSplitter(chunk_size=1000, chunk_overlap=200)
    pieces = splitter.create_documents(texts)
    store = InMemoryVectorStore(OurEmbeddings())
    store.add_documents(pieces)
    # Its default splits at white space and keeps case and commas, which would be a weak baseline.
    words = BM25Retriever.from_documents(
        pieces, preprocess_func=lambda text: re.findall(r"\w+", text.lower())
    )
    words.k = TOP
    both = EnsembleRetriever(
        retrievers=[words, store.as_retriever(search_kwargs={"k": TOP})], weights=[0.5, 0.5]
    )
    return {
        pk: [found.page_content for found in both.invoke(question)][:TOP]
        for pk, question in questions.items()
    }


def ask_llama_index(texts: list[str], questions: dict[str, str], model: MiniLm) -> Any:
    """Pieces of 1,024 tokens, its vector index and BM25 under QueryFusionRetriever, the top 5."""
    from llama_index.core import Document, VectorStoreIndex
    from llama_index.core.embeddings import BaseEmbedding
    from llama_index.core.llms import MockLLM
    from llama_index.core.node_parser import SentenceSplitter
    from llama_index.core.retrievers import QueryFusionRetriever
    from llama_index.retrievers.bm25 import BM25Retriever

    class OurEmbeddings(BaseEmbedding):
        def _get_query_embedding(self, query: str) -> list[float]:
            return model.embed([query])[0]

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return model.embed([query])[0]

        def _get_text_embedding(self, text: str) -> list[float]:
            return model.embed([text])[0]

    splitter = SentenceSplitter(chunk_size=1024, chunk_overlap=200)
    nodes = splitter.get_nodes_from_documents([Document(text=text) for text in texts])
    index = VectorStoreIndex(nodes, embed_model=OurEmbeddings())
    fused = QueryFusionRetriever(
        [
            index.as_retriever(similarity_top_k=5),
            BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=min(5, len(nodes))),
        ],
        llm=MockLLM(),
        mode="reciprocal_rerank",
        similarity_top_k=5,
        num_queries=1,
        use_async=False,
    )
    return {
        pk: [found.node.get_content() for found in fused.retrieve(question)]
        for pk, question in questions.items()
    }


SYSTEMS = {
    "LangChain": (ask_langchain, "langchain-core"),
    "LlamaIndex": (ask_llama_index, "llama-index-core"),
}


def main(name: str, folder: Path, model: str) -> None:
    ask, package = SYSTEMS[name]
    files = sorted(path for path in (folder / "docs").iterdir() if path.is_file())
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in files]
    with (folder / "questions.jsonl").open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines if line.strip()]
    found = ask(texts, {row["id"]: row["question"] for row in rows}, MiniLm(model))
    answer = {"version": f"{package} {version(package)}", "passages": found}
    sys.stdout.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
