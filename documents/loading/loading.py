"""Load many files into a namespace: windows of them, in one process per core."""

import ctypes
import logging
import multiprocessing
import os
import signal
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.db import connections

from documents.ingestion import terms
from documents.ingestion.extraction import shared_sandbox_worker
from documents.intake.folders import FoundFile
from documents.models import IndexProfile, Namespace
from documents.profiles import vector_indexes
from ragsite.database.tenancy import namespace

from .files import FileOptions, total_bytes, windows
from .window import WindowResult, load_window

logger = logging.getLogger(__name__)

CHARACTERS_PER_TOKEN = 4
PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)

ShowProgress = Callable[[int, int], None]  # files done, and chunks


@dataclass(slots=True)
class Loaded:
    results: list[dict[str, Any]] = field(default_factory=list)  # of the files that were taken
    left: list[FoundFile] = field(default_factory=list)  # for the ordinary way


def load(
    namespace_id: uuid.UUID,
    files: Sequence[FoundFile],
    options: FileOptions,
    *,
    processes: int = 0,
    keep_index: bool = False,
    progress: ShowProgress = lambda files, chunks: None,
) -> Loaded:
    """Load what is new among these files. What is left is for intake.accept.

    Stopped or killed, another load goes on where this one was. `processes`: one per core if 0.
    While much is loaded beside little, the profile's vector index is set aside and built afterwards
    (vector_indexes.set_aside), unless `keep_index`.
    """
    loaded = Loaded()
    parts = list(windows(files))
    with namespace(namespace_id):
        tenant = Namespace.objects.select_related("active_profile").get(pk=namespace_id)
    profile = tenant.active_profile
    done = chunks = 0
    with _set_aside(profile, files, keep_index=keep_index):
        for result in _results(namespace_id, parts, options, processes or _processes(len(parts))):
            loaded.results += result.results
            loaded.left += result.left
            done, chunks = done + result.files, chunks + result.chunks
            progress(done, chunks)
    if chunks:
        terms.count_if_stale(namespace_id, profile)
    return loaded


@contextmanager
def _set_aside(
    profile: IndexProfile, files: Sequence[FoundFile], *, keep_index: bool
) -> Iterator[None]:
    if keep_index:
        yield
        return
    expected = total_bytes(files) // (CHARACTERS_PER_TOKEN * max(1, profile.chunk_size))
    with vector_indexes.set_aside(profile, expected=expected):
        yield


def _processes(parts: int) -> int:
    """One per core: reading and splitting use a core as embedding does. Caps on embedding are
    checked and then spent, which only one process at a time can do."""
    if any(settings.EMBEDDING_CAPS.values()):
        return 1
    return max(1, min(len(os.sched_getaffinity(0)), parts))


def _results(
    namespace_id: uuid.UUID,
    parts: Sequence[Sequence[FoundFile]],
    options: FileOptions,
    processes: int,
) -> Iterator[WindowResult]:
    if processes == 1:
        for part in parts:
            yield load_window(namespace_id, part, options)
        return
    threads = max(1, len(os.sched_getaffinity(0)) // processes)
    with ProcessPoolExecutor(
        processes,
        mp_context=multiprocessing.get_context("fork"),
        initializer=_start_process,
        initargs=(os.getpid(), threads),
    ) as pool:
        waiting: list[Future[WindowResult]] = [
            pool.submit(load_window, namespace_id, part, options) for part in parts
        ]
        try:
            for each in as_completed(waiting):
                yield each.result()
        except BaseException:  # the windows under way are finished
            pool.shutdown(cancel_futures=True)
            raise


def _start_process(parent: int, threads: int) -> None:
    """Leave the parent's connections and sandbox to it, and end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before prctl
        os._exit(1)
    for connection in connections.all(initialized_only=True):
        connection.connection = None  # not closed: that would end the parent's session
    shared_sandbox_worker.cache_clear()
    for entry in settings.EMBEDDERS.values():
        if "threads" in entry.get("OPTIONS", {}):
            entry["OPTIONS"]["threads"] = threads  # together they use every core
