"""Many namespaces of very different sizes, with questions that their passages answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evaluation.benchmarks.search.single_legs import LegBench
from evaluation.benchmarks.service import asking

if TYPE_CHECKING:  # models can be imported when the service is set up
    from evaluation.benchmarks.data.corpus import Corpus

SKEW = 1.73  # exponent of the sizes: the largest of twenty has half of all chunks
CLASSES = {"large": 0.1, "middle": 0.01, "small": 0.0}  # from this fraction of all chunks on
QUESTIONS = 60  # chunks of a namespace


@dataclass(frozen=True)
class Tenant:
    bench: LegBench
    share: float  # fraction of all chunks
    key: str
    questions: Sequence[str]

    @property
    def size_class(self) -> str:
        return next(name for name, least in CLASSES.items() if self.share >= least)

    @property
    def chunks(self) -> int:
        return len(self.bench.corpus.ids)


def sizes(chunks: int, namespaces: int) -> list[int]:
    """Return sizes by Zipf's law, the largest first; each has at least one document."""
    weights = np.array([rank**-SKEW for rank in range(1, namespaces + 1)])
    return [max(6, int(part)) for part in chunks * weights / weights.sum()]


def load_tenants(chunks: int, namespaces: int) -> list[Tenant]:
    """Fill the database, unless an earlier run has done so."""
    from documents.models import IndexProfile
    from documents.profiles import profiles
    from evaluation.benchmarks.data import corpus
    from ragsite.database.tenancy import operator

    with operator():
        embedder = profiles.embedder_of(IndexProfile.objects.get(name="default"))
    wanted = sizes(chunks, namespaces)
    found = [_corpus(f"tenant-{n}", size, embedder) for n, size in enumerate(wanted)]
    missing = [each for each in found if not each.tenant.chunk_count]
    if missing:
        with corpus.without_indexes(rows=chunks):
            for each in missing:
                corpus.insert(each)
        corpus.vacuum()
    total = sum(len(each.ids) for each in found)
    return [_tenant(each, len(each.ids) / total, embedder) for each in found]


def _corpus(slug: str, chunks: int, embedder: Any) -> "Corpus":
    from documents.accounts import keys
    from documents.models import Namespace
    from evaluation.benchmarks.data import synthetic
    from evaluation.benchmarks.data.corpus import Corpus
    from ragsite.database.tenancy import operator

    with operator():
        known = Namespace.objects.filter(slug=slug).first()
        tenant = known or keys.create_namespace(slug, language="en")
        profile = tenant.active_profile
    pages = list(synthetic.pages(chunks, tenant.pk, seed=slug))
    texts = [text for page in pages for text in page.texts]
    return Corpus(tenant, profile, pages, embedder.words.of(texts))


def _tenant(corpus: "Corpus", share: float, embedder: Any) -> Tenant:
    from documents.accounts import keys
    from ragsite.database.tenancy import operator

    with operator():
        _, key = keys.issue(
            corpus.tenant, scopes=("read", "write"), limits={"search": 0, "ingest": 0, "read": 0}
        )
    wanted = min(QUESTIONS, len(corpus.texts))
    questions = asking.natural_questions(corpus.texts, wanted)
    return Tenant(LegBench(corpus, embedder, embedder.words), share, key, questions)
