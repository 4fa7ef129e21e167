"""Every address the service answers at, from the three places that could know one: Django's URL
resolver, the OpenAPI schema, and what stands before Django in the ASGI application."""

import re
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver
from drf_spectacular.generators import SchemaGenerator
from rest_framework.views import APIView

from .service import ROOT

_LAYERS = """
from ragsite.asgi import application
while application is not None:
    beside = [*getattr(application, "sockets", ()), *getattr(application, "paths", ())]
    print(type(application).__name__, *beside, flush=True)
    application = getattr(application, "application", getattr(application, "app", None))
import os
os._exit(0)  # not waiting for the models
"""
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
SAMPLES = {"uuid": str(uuid.UUID(int=7)), "int": "7", "str": "x", "slug": "x", "path": "x"}
_PARAMETER = re.compile(r"<(?:(\w+):)?\w+>")


@dataclass(frozen=True)
class Route:
    """An address with {id} for each parameter, and the view behind it."""

    path: str
    address: str  # filled with samples
    view: Any

    @property
    def api_view(self) -> type[APIView] | None:
        view_class = getattr(self.view, "cls", None) or getattr(self.view, "view_class", None)
        return view_class if view_class and issubclass(view_class, APIView) else None

    @property
    def methods(self) -> list[str]:
        """What an API view takes, HEAD and OPTIONS aside."""
        return [m for m in METHODS if hasattr(self.api_view, m.lower())]


def resolved(resolver: Any = None, prefix: str = "/") -> Iterator[Route]:
    """Whatever Django would answer."""
    for entry in (resolver or get_resolver()).url_patterns:
        where = prefix + _text_of(entry.pattern)
        if isinstance(entry, URLResolver):
            yield from resolved(entry, where)
        elif isinstance(entry, URLPattern):
            yield Route(_PARAMETER.sub("{id}", where), _filled(where), entry.callback)


def _text_of(pattern: Any) -> str:
    """A path() as it was written; a re_path() with every group as a parameter."""
    text = str(pattern)
    if hasattr(pattern, "converters") and hasattr(pattern, "_route"):
        return text
    text = re.sub(r"\(\?P<\w+>[^()]*\)", "<path:rest>", text)
    return text.lstrip("^").rstrip("$").replace("\\Z", "")


def _filled(path: str) -> str:
    return _PARAMETER.sub(lambda found: SAMPLES[found[1] or "str"], path)


def described() -> set[tuple[str, str]]:
    """(method, path) of every operation in the schema that the code gives."""
    schema = SchemaGenerator().get_schema(request=None, public=True)
    return {
        (method.upper(), re.sub(r"\{\w+\}", "{id}", path))
        for path, operations in schema["paths"].items()
        for method in operations
    }


def layers() -> list[str]:
    """Of the ASGI application, outermost first, each with one more inside; after one that has
    WebSockets or other applications beside it, their addresses. In a process of its own, because
    the web process's module loads models and a connection pool."""
    done = subprocess.run(
        [sys.executable, "-c", _LAYERS], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout.split()
