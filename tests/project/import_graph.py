"""The project's modules and what each imports: relative and lazy imports included."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from django.conf import settings

ROOT = Path(settings.BASE_DIR)
PACKAGES = ("ragsite", "documents", "retrieval", "evaluation")


@cache
def modules() -> dict[str, Path]:
    """Every module by its dotted name, without migrations."""
    found = {}
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            if "migrations" not in path.parts:
                parts = path.relative_to(ROOT).with_suffix("").parts
                found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def imports_of(module: str) -> frozenset[str]:
    """Dotted names of all that a module imports, except for type checking alone."""
    tree = ast.parse(modules()[module].read_text())
    hidden = {id(node) for block in _type_checking(tree) for node in ast.walk(block)}
    return frozenset(
        name
        for node in ast.walk(tree)
        if id(node) not in hidden
        for name in _imported(node, module)
    )


def reached_from(module: str) -> dict[str, str]:
    """Everything a module leads to, each with the module that imports it."""
    reached: dict[str, str] = {}
    waiting = [module]
    while waiting:
        importer = waiting.pop()
        for name in imports_of(importer):
            if name not in reached:
                reached[name] = importer
                if name in modules():
                    waiting.append(name)
    return reached


def _type_checking(tree: ast.Module) -> Iterator[ast.If]:
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            yield node


def _imported(node: ast.AST, module: str) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        source = _source(node, module)
        for alias in node.names:
            inner = f"{source}.{alias.name}"
            yield inner if inner in modules() else source


def _source(node: ast.ImportFrom, module: str) -> str:
    if not node.level:
        return node.module or ""
    parts = module.split(".")
    if modules()[module].name != "__init__.py":
        parts.pop()
    parts = parts[: len(parts) - node.level + 1]
    return ".".join([*parts, *([node.module] if node.module else [])])
