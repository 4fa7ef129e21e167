"""Limits on what clients may keep open: streams, request bodies, incomplete headers."""

import os
from typing import Any

import environ

MAX_PROCESSES = 3  # by default; their connections fit into PostgreSQL's default of 100


def processes(env: environ.Env) -> int:
    """Return the number of processes: by default one for every two cores, because a question uses
    one here and one in the database."""
    cores = len(os.sched_getaffinity(0))
    return env.int("WEB_PROCESSES", default=0) or max(1, min(MAX_PROCESSES, cores // 2))


def streams(env: environ.Env) -> dict[str, Any]:
    return {
        "per_key": env.int("STREAMS_PER_KEY", default=32),
        "send_timeout": env.float("SEND_TIMEOUT", default=30.0),
    }


def answer_runs(env: environ.Env) -> dict[str, Any]:
    """Limits on answers being written in one web process, each in its own thread."""
    return {
        "at_once": env.int("ANSWERS_AT_ONCE", default=32),
        "per_namespace": env.int("ANSWERS_PER_NAMESPACE", default=16),
        "heartbeat": env.float("ANSWER_HEARTBEAT_SECONDS", default=15.0),
    }


def mcp(env: environ.Env) -> dict[str, int]:
    """Limits on calls over MCP under way in one process, each in its own thread."""
    return {
        "at_once": env.int("MCP_CALLS_AT_ONCE", default=64),
        "per_namespace": env.int("MCP_CALLS_PER_NAMESPACE", default=16),
    }


def bodies(env: environ.Env) -> dict[str, Any]:
    return {
        "header_timeout": env.float("HEADER_TIMEOUT", default=15.0),
        "max_bytes": env.int("BODY_MAX_BYTES", default=2 * 1024 * 1024),
        "max_message_bytes": 512 * 1024,  # of a WebSocket, from anybody who can connect
        "timeout": env.float("BODY_TIMEOUT", default=30.0),
        "min_bytes_per_second": env.int("BODY_MIN_BYTES_PER_SECOND", default=32 * 1024),
        "large": env.int("LARGE_BODIES", default=16),
        "large_per_namespace": env.int("LARGE_BODIES_PER_NAMESPACE", default=8),
    }
