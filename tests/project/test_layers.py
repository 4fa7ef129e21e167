"""Who may import whom, from the folders and through every import, direct or not."""

import ast
import re
import tomllib
from collections import Counter

import pytest

from .import_graph import ROOT, imports_of, modules, reached_from

FLOORS = {"ragsite": 0, "documents": 1, "retrieval": 2, "evaluation": 3}
APPS = ("documents", "retrieval", "evaluation")


FRAMEWORKS = ("django", "rest_framework", "drf_spectacular", "psycopg", "ragsite")

# What wires the service together stands above the apps: it may import them, nobody below it.
WIRING = (
    "ragsite.admin_app",
    "ragsite.alias_checks",
    "ragsite.apps",
    "ragsite.asgi",
    "ragsite.checks",
    "ragsite.management",
    "ragsite.service",
    "ragsite.urls",
)
MAX_MODULES = 16  # in one folder, its __init__ aside


def in_room(module: str, room: str) -> bool:
    return module == room or module.startswith(f"{room}.")


def wires(module: str) -> bool:
    return any(in_room(module, room) for room in WIRING)


def docstring_of(package: str) -> str:
    source = modules()[package].read_text()
    return " ".join((ast.get_docstring(ast.parse(source)) or "").split())


def packages() -> list[str]:
    """Without those of commands, whose structure is Django's."""
    found = modules().items()
    return sorted(
        module
        for module, path in found
        if path.name == "__init__.py" and "management" not in path.parts
    )


def pure_rooms() -> list[str]:
    """The packages whose docstrings have a sentence that begins with "Plain Python", each with
    everything in it: whatever lies in them, or leads out of them, knows nothing of Django."""
    rooms: list[str] = []
    for package in packages():
        is_inside = any(in_room(package, room) for room in rooms)
        if not is_inside and re.search(r"(^|[.:] )Plain Python\b", docstring_of(package)):
            rooms.append(package)
    return rooms


@pytest.mark.parametrize("app", APPS)
def test_apps_import_only_downwards(app: str) -> None:
    upward = [
        f"{module}: {name}"
        for module in modules()
        if in_room(module, app)
        for name in imports_of(module)
        if FLOORS.get(name.split(".")[0], -1) > FLOORS[app]
    ]
    assert not upward


def test_the_platform_imports_neither_the_apps_nor_what_wires_them() -> None:
    platform = [module for module in modules() if in_room(module, "ragsite") and not wires(module)]
    assert len(platform) > 40
    upward = [
        f"{module} → … {importer} → {name}"
        for module in platform
        for name, importer in reached_from(module).items()
        if name.split(".")[0] in APPS or wires(name)
    ]
    assert not upward


@pytest.mark.parametrize("room", pure_rooms())
def test_pure_rooms_lead_to_nothing_of_the_framework(room: str) -> None:
    inside = [module for module in modules() if in_room(module, room)]
    assert len(inside) > 1
    leading_out = {
        f"{module} → … {importer} → {name}"
        for module in inside
        for name, importer in reached_from(module).items()
        if name.split(".")[0] in FRAMEWORKS
    }
    assert not leading_out


def test_production_imports_no_benchmark() -> None:
    assert not [
        f"{module}: {name}"
        for module in modules()
        if not in_room(module, "evaluation.benchmarks")
        for name in imports_of(module)
        if in_room(name, "evaluation.benchmarks")
    ]


def test_there_are_no_circles() -> None:
    circles = [
        module
        for module in modules()
        if (importer := reached_from(module).get(module)) and importer != module
    ]
    assert not circles


def test_no_folder_is_a_corridor() -> None:
    sizes = Counter(
        str(path.parent.relative_to(ROOT)).replace("/", ".")
        for path in modules().values()
        if path.name != "__init__.py"
    )
    crowded = {room: n for room, n in sizes.items() if n > MAX_MODULES}
    assert not crowded


def test_every_room_says_what_it_is_for_and_may_import() -> None:
    silent = [package for package in packages() if "import" not in docstring_of(package).lower()]
    assert set(silent) <= {"documents.models"}  # which names the tables instead


def test_every_room_is_on_the_map() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    in_every_app = ("admin", "models", "templatetags")
    rooms = [package for package in packages() if package.count(".") == 1]
    missing = [room for room in rooms if f"`{room.replace('.', '/')}/`" not in page]
    assert not [room for room in missing if not room.endswith(in_every_app)]


def test_pure_rooms_are_checked_as_by_mypy_strict() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    (strict,) = [o for o in project["tool"]["mypy"]["overrides"] if o.get("warn_return_any")]
    assert strict["module"] == [f"{room}.*" for room in pure_rooms()]
