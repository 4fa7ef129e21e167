"""A separate service for a benchmark: a new home, an embedded database, vectors by hashing.

Import this before anything that needs Django.
"""

import atexit
import os
import platform
import shutil
import tempfile
import uuid
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import django

MEGABYTE = 2**20
READING_CODES = frozenset(
    {
        "parse_error",
        "encrypted",
        "no_text",
        "too_complex",
        "decompression_bomb",
        "xml_forbidden",
        "resource_limit",
        "empty_file",
    }
)


def set_up_settings(home: Path | None = None, *, settings: str = "ragsite.settings") -> Path:
    """Set up Django with a temporary home, which is deleted at the end unless a name is given."""
    if home is None:
        home = Path(tempfile.mkdtemp(prefix="rs-"))
        atexit.register(shutil.rmtree, home, ignore_errors=True)
    os.environ |= {
        "RAGSITE_HOME": str(home.resolve()),
        "ENV_FILE": os.devnull,
        "DATABASE_URL": "",
        "SUPABASE_DB_URL": "",
        "LOG_LEVEL": "ERROR",
        "DJANGO_SETTINGS_MODULE": settings,
    }
    django.setup()
    return home


def set_up(home: Path | None = None, *, settings: str = "ragsite.settings") -> None:
    """Do the same with a database."""
    set_up_settings(home, settings=settings)
    from django.conf import settings as configured
    from django.core.management import call_command
    from django.db import connections

    def leave() -> None:
        for connection in connections.all():
            connection.close()
        if configured.EMBEDDED_SERVER:
            configured.EMBEDDED_SERVER.release()

    atexit.register(leave)
    call_command("migrate", verbosity=0)


def new_namespace(name: str = "hashing") -> Any:
    """Create a namespace with the default profile, or with one like it without a model."""
    from documents.accounts import keys
    from documents.models import IndexProfile
    from ragsite.database.tenancy import operator

    with operator():
        default = IndexProfile.objects.get(name="default")
        profile, _ = IndexProfile.objects.get_or_create(
            name="hashing",
            defaults={
                "embedder": "hashing",
                "dimensions": 256,
                "ann_method": "exact",
                "chunk_size": default.chunk_size,
                "chunk_overlap": default.chunk_overlap,
            },
        )
        created = keys.create_namespace(f"bench-{uuid.uuid4().hex[:8]}")
        created.active_profile = profile if name == "hashing" else default
        created.save()
    return created


def work(each: Callable[[], None] = lambda: None) -> int:
    """Run all jobs in this process like a worker, calling `each` after every job."""
    from documents.ingestion.pipeline import ingest
    from documents.jobs import heartbeat, queue

    done = 0
    while claim := queue.claim(heartbeat.group()):
        ingest(claim)
        each()
        done += 1
    return done


def reset_peak() -> None:
    with open("/proc/self/clear_refs", "w") as switch:
        switch.write("5")


def peak_bytes() -> int:
    """Return the peak memory of this process since `reset_peak`."""
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


READERS = ("Django", "pypdfium2", "pypdf", "markdown-it-py", "trafilatura", "python-docx")


def machine(packages: Sequence[str] = READERS) -> str:
    with open("/proc/cpuinfo") as info:
        names = (line.partition(":")[2].strip() for line in info if line.startswith("model name"))
        model = next(names, platform.machine())
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    cores = len(os.sched_getaffinity(0))
    return f"{model}, {cores} cores; Python {platform.python_version()}, {versions}"
