"""The metrics of `/metrics`. No label contains data of a tenant.

With METRICS_TOKEN set, the processes of this machine share their values through files in
RAGSITE_HOME/run/metrics; without it, they only count in memory.
"""

import fcntl
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.multiprocess import MultiProcessCollector

FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"  # prometheus_client's own
_ENDED = "0"  # in place of a process id: the values of all processes that have ended

_FAST = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_SLOW = (0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3600)

INGESTED_FILES = Counter(
    "ragsite_ingested_files", "Versions of documents that ended as ready or failed.", ["result"]
)
INGEST_FAILURES = Counter("ragsite_ingest_failures", "Failed attempts, by error code.", ["code"])
INGESTED_CHUNKS = Counter("ragsite_ingested_chunks", "Chunks made searchable.")
INGEST_STAGES = Histogram(
    "ragsite_ingest_stage_seconds", "Time of each stage of ingestion.", ["stage"], buckets=_SLOW
)
EMBEDDING_CALLS = Counter(
    "ragsite_embedding_calls", "Batches and questions embedded, without cached ones.", ["of"]
)
EMBEDDING_TOKENS = Counter("ragsite_embedding_tokens", "Tokens of documents embedded.")
SEARCH_CALLS = Counter("ragsite_search_calls", "Searches, by how results were found.", ["cache"])
SEARCH_STAGES = Histogram(
    "ragsite_search_stage_seconds", "Time of each stage of a search.", ["stage"], buckets=_FAST
)
SEARCH_FALLBACKS = Counter(
    "ragsite_search_fallbacks", "Searches that did without something.", ["fallback"]
)
STORE_DOCUMENTS = Counter("ragsite_store_documents", "Documents synced to search stores.")
STORE_FAILURES = Counter(
    "ragsite_store_failures", "Failed attempts to sync a search store, by error code.", ["code"]
)
RERANKER_CALLS = Counter("ragsite_reranker_calls", "Calls of rerankers.", ["reranker", "outcome"])
ANSWERS = Counter("ragsite_answers", "Answers, by how they ended.", ["outcome"])
ANSWER_SECONDS = Histogram("ragsite_answer_seconds", "Time of whole answers.", buckets=_SLOW)
LANGUAGE_MODEL_TOKENS = Counter(
    "ragsite_language_model_tokens", "Tokens of language models.", ["direction"]
)
LANGUAGE_MODEL_COST = Counter(
    "ragsite_language_model_cost", "Cost of language models, in the operator's currency."
)
WEBHOOK_DELIVERIES = Counter(
    "ragsite_webhook_deliveries", "Attempts to deliver an event, by how they ended.", ["result"]
)
WEBHOOK_SECONDS = Histogram(
    "ragsite_webhook_seconds", "Time of attempts to deliver an event.", buckets=_FAST
)
PROVIDER_ERRORS = Counter("ragsite_provider_errors", "Failed calls of model providers.", ["code"])


def exposition(more: Iterable[object] = ()) -> bytes:
    """Return all values in Prometheus's format; `more` are additional collectors."""
    registry = CollectorRegistry()
    MultiProcessCollector(registry)
    for collector in more:
        registry.register(collector)  # type: ignore[arg-type]
    with _lock(_folder(), fcntl.LOCK_SH):
        return generate_latest(registry)


def merge_ended() -> int:
    """Add the values of processes that have ended into one file of each kind.

    Workers are replaced regularly, and each would leave its files. Returns how many were merged.
    """
    if not os.environ.get(FOLDER_VARIABLE):
        return 0
    folder = _folder()
    with _lock(folder, fcntl.LOCK_EX):
        ended = defaultdict(list)
        for file in folder.glob("*.db"):
            kind, _, process = file.stem.rpartition("_")
            if process != _ENDED and not _is_running(int(process)):
                ended[kind].append(file)
        for kind, files in ended.items():
            _merge(folder / f"{kind}_{_ENDED}.db", files)
    return sum(map(len, ended.values()))


def _folder() -> Path:
    return Path(os.environ[FOLDER_VARIABLE])


@contextmanager
def _lock(folder: Path, kind: int) -> Iterator[None]:
    """A lock: while files are merged their values exist twice, so no process may read them."""
    with (folder / "merge.lock").open("a") as file:
        fcntl.flock(file, kind)
        yield


def _merge(into: Path, files: Iterable[Path]) -> None:
    total = MmapedDict(str(into))
    for file in files:
        for key, value, timestamp, _ in MmapedDict.read_all_values_from_file(str(file)):
            before, _ = total.read_value(key)
            total.write_value(key, before + value, timestamp)
        file.unlink()
    total.close()


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
