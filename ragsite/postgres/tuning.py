"""ragsite.conf: PostgreSQL's settings for this machine."""

import os
from contextlib import suppress
from pathlib import Path

AUTOVACUUM = {
    "autovacuum_naptime": "30s",
    "autovacuum_vacuum_scale_factor": 0.05,
    "autovacuum_vacuum_insert_scale_factor": 0.1,
    "autovacuum_analyze_scale_factor": 0.05,
}

LOGGING = {
    "logging_collector": "on",
    "log_directory": "../log",
    "log_filename": "postgres-%a.log",  # one week: each weekday's file is overwritten
    "log_rotation_age": "1d",
    "log_rotation_size": 0,
    "log_truncate_on_rotation": "on",
    # Statements (Django binds parameters on the client), errors and their details contain tenants'
    # text and go to the caller only. What is left to log needs no limit on size.
    "log_min_messages": "log",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_min_duration_statement": -1,
    "log_parameter_max_length": 0,
    "log_parameter_max_length_on_error": 0,
    "log_lock_waits": "on",
}


def memory_megabytes() -> int:
    """Return the machine's memory, or what our cgroup allows."""
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, group = line.split(":", 2)
            if controllers not in (
                "",
                "memory",
            ):  # cgroup version 2, or the memory controller of version 1
                continue
            name = "memory.limit_in_bytes" if controllers else "memory.max"
            inner = Path("/sys/fs/cgroup", controllers, group.lstrip("/"))
            for folder in (inner, *inner.parents):
                with suppress(OSError, ValueError):  # not there, or "max"
                    limits.append(int((folder / name).read_text()))
    return min(limits) >> 20


def shm_megabytes() -> int:
    try:
        disk = os.statvfs("/dev/shm")  # noqa: S108
    except OSError:
        return 0
    return disk.f_bavail * disk.f_frsize >> 20


def tuning(*, memory: int, shm: int, cores: int, fsync: bool) -> str:
    """Return the text of ragsite.conf; `memory` and `shm` (/dev/shm) are in megabytes."""
    maintenance = min(max(memory // 16, 64), 1024)
    roomy = shm >= max(256, 2 * maintenance)  # a parallel HNSW build lives in /dev/shm
    values: dict[str, object] = {
        "max_connections": 100,
        "shared_buffers": f"{min(max(memory // 4, 128), 2048)}MB",
        "effective_cache_size": f"{max(memory // 2, 128)}MB",
        "maintenance_work_mem": f"{maintenance}MB",
        "work_mem": f"{min(max(memory // 1024, 4), 32)}MB",
        "dynamic_shared_memory_type": "posix" if roomy else "mmap",
        "max_worker_processes": cores + 8,
        "max_parallel_workers": cores,
        "max_parallel_maintenance_workers": min(cores, 4) if roomy else 0,
        "random_page_cost": 1.1,
        "jit": "off",
        "checkpoint_timeout": "15min",
        "max_wal_size": "1GB",
        "wal_compression": "on",
        "timezone": "UTC",
        "log_timezone": "UTC",
        "default_text_search_config": "pg_catalog.english",
    }
    unsafe = () if fsync else ("fsync", "full_page_writes", "synchronous_commit")
    lines = {**values, **AUTOVACUUM, **LOGGING, **dict.fromkeys(unsafe, "off")}.items()
    return "".join(f"{name} = '{value}'\n" for name, value in lines)
