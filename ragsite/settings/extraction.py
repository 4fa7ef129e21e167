"""Limits and sandbox for reading one file (documents/ingestion/extraction.py)."""

from typing import Any

import environ


def extraction(env: environ.Env) -> dict[str, Any]:
    return {
        "memory_bytes": env.int("EXTRACT_MEMORY_MB", default=1024) * 2**20,
        "output_bytes": env.int("EXTRACT_OUTPUT_MB", default=100) * 2**20,
        "cpu_seconds": env.int("EXTRACT_CPU_SECONDS", default=120),
        "wall_seconds": env.float("EXTRACT_WALL_SECONDS", default=180.0),
        "sandbox": {
            "mode": env.str("EXTRACT_SANDBOX", default="auto"),
            "user": env.str("EXTRACT_USER", default="nobody"),
            "read_paths": env.list("EXTRACT_READ_PATHS", default=[]),
        },
    }


def ocr(env: environ.Env) -> dict[str, Any]:
    return {
        "BACKEND": env.str("OCR_BACKEND", default="documents.ocr.rapid.RapidOcr"),
        "OPTIONS": env.json("OCR_OPTIONS", default={}),
    }


def ocr_limits(env: environ.Env) -> dict[str, Any]:
    return {
        "memory_bytes": env.int("OCR_MEMORY_MB", default=3072) * 2**20,
        "cpu_seconds": env.int("OCR_CPU_SECONDS", default=900),
        "wall_seconds": env.float("OCR_WALL_SECONDS", default=1800.0),
        "max_pages": env.int("OCR_MAX_PAGES", default=200),
    }
