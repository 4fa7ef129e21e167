"""A test collection in a separate namespace, filled and searched through the API."""

import io
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evaluation.benchmarks.data.beir import BeirCollection
from evaluation.benchmarks.service import stage

DEPTH = 100
BATCH = 100

Run = dict[str, list[str]]  # query → documents, best first


def say(line: str = "") -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


@dataclass(frozen=True, slots=True)
class Service:
    """One collection in a separate namespace, used through the API like a client."""

    client: Any
    namespace_id: Any
    profile: Any
    key: str

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        answer = self.client.post(
            f"/api/v1/{path}",
            body,
            content_type="application/json",
            headers={"Authorization": f"Bearer {self.key}"},
        )
        if answer.status_code >= 300:
            raise SystemExit(f"{path}: {answer.status_code} {answer.content[:500]!r}")
        return answer.json()

    def take_in(self, collection: BeirCollection) -> None:
        """Upload the articles. Those from an earlier run are duplicates and cost little.

        The title is the text of an article without one.
        """
        from documents.ingestion import terms
        from documents.jobs import queue

        queue.requeue_stalled()  # left over from an earlier run that was killed
        started, indexed = time.monotonic(), 0
        documents = [
            {
                "content": article.text.strip() or article.title,
                "title": article.title or article.name,
                "source_uri": article.name,
                "media_type": "text/plain",
            }
            for article in collection.articles
        ]
        self.embed_ahead(documents)
        for start in range(0, len(documents), BATCH):
            batch = documents[start : start + BATCH]
            self.post("ingest", {"documents": batch, "on_duplicate": "keep"})
            indexed += stage.work()
        terms.count(self.namespace_id, self.profile)
        say(f"{indexed} documents indexed in {time.monotonic() - started:.0f} s")

    def embed_ahead(self, documents: Sequence[Mapping[str, str]]) -> None:
        """Embed all chunks at once, sorted by length, which is many times faster than by document;
        the pipeline then finds every vector in the store."""
        from documents.chunking.context_headers import with_headers
        from documents.extractors import extractor_for
        from documents.profiles import profiles

        embedder = profiles.embedder_of(self.profile)
        splitter = profiles.splitter_of(self.profile, embedder)
        reader = extractor_for("text/plain")
        texts = []
        for document in documents:
            extracted = reader.extract_file(io.BytesIO(document["content"].encode()), name="")
            passages = splitter.split(extracted)
            if self.profile.contextual_header:
                texts += with_headers(
                    passages,
                    title=document["title"],
                    count_tokens=embedder.count_tokens,
                    limit=embedder.max_tokens,
                )
            else:
                texts += [passage.text for passage in passages]
        embedder.embed_batch(texts)

    def ask(self, collection: BeirCollection, options: Mapping[str, str]) -> Run:
        found = {}
        for name, text in collection.queries.items():
            body = {
                "query": text,
                "k": DEPTH,
                "max_per_document": 1,
                "token_budget": 1_000_000,
                **options,
            }
            answer = self.post("query", body)
            if answer["diagnostics"]["fallbacks"]:
                raise SystemExit(f"{name}: {answer['diagnostics']['fallbacks']}")
            found[name] = [hit["source_uri"] for hit in answer["results"]]
        return found


def open_service(name: str) -> Service:
    from django.test import Client

    from documents.accounts import keys
    from documents.models import Namespace
    from ragsite.database.tenancy import operator

    with operator():
        tenant = Namespace.objects.filter(slug=name).first() or keys.create_namespace(name)
        _, key = keys.issue(tenant, scopes=("read", "write"))
        return Service(Client(SERVER_NAME="localhost"), tenant.pk, tenant.active_profile, key)


def describe(service: Service) -> str:
    """Describe the collection, with languages: a wrong one would break search by words."""
    from documents.models import Document, Namespace
    from ragsite.database.tenancy import namespace

    with namespace(service.namespace_id):
        tenant = Namespace.objects.get(pk=service.namespace_id)
        languages = Counter(Document.objects.values_list("language", flat=True))
        failed = Document.objects.exclude(status="ready").count()
    spoken = ", ".join(f"{code or '?'} {count}" for code, count in languages.most_common(8))
    return f"{tenant.chunk_count} chunks, {failed} documents failed; languages: {spoken}"
