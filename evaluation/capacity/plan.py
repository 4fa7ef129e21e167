"""Compute a plan from coefficients and requirements. docs/scale.md explains every line of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from .coefficients import Coefficients

GIGABYTE = 10**9
# Fraction of a machine's memory that indexes may fill: the rest is for queries, the system, and
# frequently read pages of the table.
MEMORY_SHARE = 0.6
# usable fraction of a disk; the rest is for write-ahead logs, bloat and an index being built
DISK_SHARE = 0.7
CPU_SHARE = 0.5  # maximum utilisation, beyond which the 95th percentile rises far above the median
# fraction of the index of words that should be in memory: the rarer half is hardly used
WORDS_IN_MEMORY = 0.5
REPLICAS = 2  # copies of each shard, so that one machine may fail

# Maximum for PostgreSQL alone; beyond it an engine with shards stores the candidates.
MAX_POSTGRES_CHUNKS = 200_000_000
METHODS = ("hnsw", "bit")  # index methods, the better first


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine for a shard, and its price per month."""

    cores: int = 16
    memory_gb: float = 128.0
    disk_gb: float = 2000.0
    price: float = 700.0


@dataclass(frozen=True, slots=True)
class Wish:
    documents: int
    qps: float
    chunks_per_document: float = 6.0
    original_kb: float = 100.0
    storage_price: float = 0.02  # price of a gigabyte of object storage per month
    days_to_load: float = 7.0
    machine: Machine = Machine()

    @property
    def chunks(self) -> int:
        return ceil(self.documents * self.chunks_per_document)


@dataclass(frozen=True, slots=True)
class Plan:
    wish: Wish
    method: str  # method of the vector index
    engine: str  # the program that finds candidates
    shards: int
    replicas: int
    memory_gb: float  # memory for the indexes of one copy
    disk_gb: float  # disk of one copy
    originals_gb: float
    question_ms: float  # CPU time of a question on all shards together
    web_cores: int
    loading_cores: int  # cores that embed and index everything in the required time
    limited_by: str
    notes: Sequence[str]

    @property
    def database_machines(self) -> int:
        return self.shards * self.replicas

    @property
    def web_machines(self) -> int:
        return max(REPLICAS, ceil(self.web_cores / self.wish.machine.cores))

    @property
    def price(self) -> float:
        """Return the monthly price, without the initial loading."""
        machines = self.database_machines + self.web_machines
        return machines * self.wish.machine.price + self.originals_gb * self.wish.storage_price


def plan(wish: Wish, measured: Coefficients) -> Plan:
    """Choose the best index method that fits into one machine's memory, or else the smallest
    one."""
    plans = [_plan(wish, measured, m) for m in METHODS if m in measured.vector_index_bytes]
    return next((each for each in plans if each.shards == 1), plans[-1])


def _plan(wish: Wish, measured: Coefficients, method: str) -> Plan:
    machine, chunks = wish.machine, wish.chunks
    words = measured.words_index_bytes
    vectors = measured.vector_index_bytes[method]
    memory = chunks * (vectors + WORDS_IN_MEMORY * words) / GIGABYTE
    disk = chunks * (measured.table_bytes + words + vectors) / GIGABYTE
    by_need = {
        "one machine is enough": 1,
        "memory": ceil(memory / (machine.memory_gb * MEMORY_SHARE)),
        "disk": ceil(disk / (machine.disk_gb * DISK_SHARE)),
    }
    limited_by = max(by_need, key=lambda need: by_need[need])  # the first of several equals
    shards = by_need[limited_by]
    # Every question goes to all shards, because a namespace may be larger than a shard.
    question_ms = shards * measured.postgres_ms.at(chunks / shards)
    copies = ceil(wish.qps * question_ms / shards / 1000 / (machine.cores * CPU_SHARE))
    if copies > REPLICAS:
        limited_by = "questions"
    return Plan(
        wish,
        method,
        "PostgreSQL" if chunks <= MAX_POSTGRES_CHUNKS else "Qdrant, fed from PostgreSQL",
        shards,
        max(REPLICAS, copies),
        memory,
        disk,
        wish.documents * wish.original_kb * 1000 / GIGABYTE,
        question_ms,
        ceil(wish.qps * measured.web_ms / 1000 / CPU_SHARE),
        _loading_cores(wish, measured, method),
        limited_by,
        _notes(wish, measured, method, shards),
    )


def _loading_cores(wish: Wish, measured: Coefficients, method: str) -> int:
    seconds_a_chunk = (
        1 / measured.embed_rate + 1 / measured.load_rate + 1 / measured.build_rate[method]
    )
    return ceil(wish.chunks * seconds_a_chunk / (wish.days_to_load * 86_400))


def _notes(wish: Wish, measured: Coefficients, method: str, shards: int) -> list[str]:
    notes = []
    on_each = wish.chunks / shards
    if on_each > measured.largest:
        notes.append(
            f"extrapolated: a shard of {on_each:,.0f} chunks; measured up to {measured.largest:,}"
        )
    if wish.chunks > MAX_POSTGRES_CHUNKS:
        notes.append("the dense and the sparse leg in an engine with shards; rows in PostgreSQL")
    if method == "bit":
        notes.append("binary vectors in memory, compared again in half precision")
    return notes
