"""Dockerfile, compose.yaml and the systemd units name only what exists, and are safe by default.

No container engine is needed: the files are read as an engine would read them.
"""

import fnmatch
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import get_commands, load_command_class

from .test_env_example import documented

ROOT = Path(__file__).resolve().parents[2]
UNITS = sorted((ROOT / "docs" / "deployment" / "systemd").glob("*.service"))
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OWN = ("migrate", "web", "worker")
# Keys of a service, of those that the Compose specification knows.
SERVICE_KEYS = {
    "build",
    "cap_drop",
    "command",
    "depends_on",
    "env_file",
    "environment",
    "healthcheck",
    "image",
    "logging",
    "networks",
    "ports",
    "restart",
    "security_opt",
    "shm_size",
    "stop_grace_period",
    "volumes",
}


def instructions() -> list[tuple[str, str]]:
    """Each instruction of the Dockerfile with its arguments, continued lines joined."""
    lines = [
        line
        for line in (ROOT / "Dockerfile").read_text().splitlines()
        if not line.lstrip().startswith("#")
    ]
    text = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    found = [line.split(maxsplit=1) for line in text.splitlines() if line.strip()]
    return [(name, rest) for name, rest in found]


def stages() -> list[list[tuple[str, str]]]:
    found: list[list[tuple[str, str]]] = []
    for name, rest in instructions():
        if name == "FROM":
            found.append([])
        if found:
            found[-1].append((name, rest))
    return found


def of(stage: list[tuple[str, str]], name: str) -> list[str]:
    return [rest for instruction, rest in stage if instruction == name]


def in_build_context() -> Iterator[str]:
    """The tracked files that .dockerignore lets through; the last matching line decides."""
    rules = [
        line.strip()
        for line in (ROOT / ".dockerignore").read_text().splitlines()
        if line.strip() and not line.startswith("#")
    ]
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    for path in listed:
        is_ignored = False
        for rule in rules:
            pattern = rule.removeprefix("!")
            if matches(path, pattern):
                is_ignored = not rule.startswith("!")
        if not is_ignored:
            yield path


def matches(path: str, pattern: str) -> bool:
    parents = [path, *(str(parent) for parent in Path(path).parents if str(parent) != ".")]
    if pattern.startswith("**/"):
        return any(fnmatch.fnmatch(Path(one).name, pattern[3:]) for one in parents)
    return pattern == "*" or any(fnmatch.fnmatch(one, pattern) for one in parents)


def require_runnable(command: list[str]) -> None:
    """The command names a program of the project, with options that it has."""
    assert Path(command[0]).name == "python"
    if command[1] == "-m":
        assert (ROOT / f"{command[2].replace('.', '/')}.py").exists()
        return
    assert command[1] == "manage.py"
    name = command[2]
    parser = load_command_class(get_commands()[name], name).create_parser("manage.py", name)
    parser.parse_args(command[3:])  # exits if it does not know an option


def json_of(text: str) -> list[str]:
    value = yaml.safe_load(text)
    assert isinstance(value, list), f"{text} runs in a shell, which does not pass signals on"
    return value


def test_the_image_is_built_in_stages_and_runs_as_an_ordinary_user():
    build, final = stages()
    assert all("python:${PYTHON_VERSION}-slim-bookworm" in stage[0][1] for stage in (build, final))
    (user,) = of(final, "USER")
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user), "a number, so that it can be checked"
    after = final[final.index(("USER", user)) :]
    assert not of(after, "RUN")
    assert not of(after, "COPY")
    assert not any("--chown" in copied for copied in of(final, "COPY")), "code stays root's"


def test_what_the_image_copies_and_runs_exists():
    _, final = stages()
    for stage in stages():
        for copied in of(stage, "COPY"):
            if "--from" not in copied:
                source = copied.split()[0]
                assert source == "." or (ROOT / source).exists()
                assert source == "." or any(p.startswith(source) for p in in_build_context())
    (command,) = of(final, "CMD")
    require_runnable(json_of(command))
    (check,) = of(final, "HEALTHCHECK")
    require_runnable(json_of(check.partition("CMD ")[2]))
    for run in (run for stage in stages() for run in of(stage, "RUN")):
        for named in re.findall(r"requirements/[\w.-]+", run):
            assert (ROOT / named).exists()
    assert any("install_torch.py" in run for run in of(stages()[0], "RUN"))


def test_the_image_is_small_and_holds_no_secret():
    _, final = stages()
    for run in of(final, "RUN"):
        if "apt-get install" in run:
            assert "--no-install-recommends" in run
            assert "rm -rf /var/lib/apt/lists/*" in run
    variables = " ".join(of(final, "ENV") + of(stages()[0], "ENV"))
    assert not re.search(r"\b\w*(SECRET|PASSWORD|TOKEN|_KEY)\w*=", variables)
    shipped = set(in_build_context())
    assert {path.split("/")[0] for path in shipped} == {
        "LICENSE",
        "NOTICE",
        "documents",
        "evaluation",
        "manage.py",
        "ragsite",
        "requirements",
        "retrieval",
        "templates",
    }
    assert not [path for path in shipped if ".env" in path or path.endswith((".pem", ".key"))]


def test_the_image_sets_only_settings_that_exist():
    _, final = stages()
    names = re.findall(r"\b([A-Z_]+)=", " ".join(of(final, "ENV")))
    assert set(names) - {"PATH", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"} <= set(documented())


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_of_compose_is_complete(name: str):
    service = SERVICES[name]
    assert set(service) <= SERVICE_KEYS
    assert service["healthcheck"]
    assert service["restart"] == ("no" if name == "migrate" else "unless-stopped")
    for mounted in service["volumes"]:
        assert mounted.split(":")[0] in COMPOSE["volumes"]
    for network in service["networks"]:
        assert network in COMPOSE["networks"]


@pytest.mark.parametrize("name", OWN)
def test_our_services_run_what_exists_with_settings_that_exist(name: str):
    service = SERVICES[name]
    require_runnable(service["command"])
    if not service["healthcheck"].get("disable"):
        require_runnable(service["healthcheck"]["test"][1:])
    assert set(service["environment"]) <= set(documented())
    assert service["environment"]["PRODUCTION"] == "true"
    assert service["cap_drop"] == ["ALL"]
    home = service["environment"]["RAGSITE_HOME"]
    assert service["volumes"] == [f"originals:{home}/storage"]
    assert any(home in run for run in of(stages()[1], "RUN"))


def test_migrations_run_once_and_before_everything_else():
    assert SERVICES["migrate"]["depends_on"] == {"db": {"condition": "service_healthy"}}
    for name in ("web", "worker"):
        waits_for = SERVICES[name]["depends_on"]
        assert waits_for["migrate"] == {"condition": "service_completed_successfully"}


def test_no_secret_has_a_default_and_the_database_is_reached_by_nobody_else():
    text = (ROOT / "compose.yaml").read_text()
    for name in ("SECRET_KEY", "POSTGRES_PASSWORD"):
        uses = re.findall(rf"\$\{{{name}[^}}]*\}}", text)
        assert uses
        assert all(f"{name}:?" in use for use in uses)
    assert COMPOSE["networks"]["data"] == {"internal": True}
    assert SERVICES["db"]["networks"] == ["data"]
    assert "ports" not in SERVICES["db"]
    assert all(port.startswith("127.0.0.1:") for port in SERVICES["web"]["ports"])


def test_the_database_image_has_a_pgvector_that_is_accepted():
    from ragsite.database.roles import MIN_PGVECTOR

    image = re.fullmatch(r"pgvector/pgvector:(\d+)\.(\d+)\.(\d+)-pg18", SERVICES["db"]["image"])
    assert image
    assert tuple(map(int, image.groups())) >= MIN_PGVECTOR


def unit(path: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in path.read_text().splitlines():
        if "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            found.setdefault(name, []).append(value)
    return found


def test_there_is_a_unit_for_each_process():
    assert [path.stem for path in UNITS] == ["ragsite-migrate", "ragsite-web", "ragsite-worker"]


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.stem)
def test_a_unit_runs_what_exists_as_an_ordinary_user(path: Path):
    values = unit(path)
    (command,) = values["ExecStart"]
    require_runnable(shlex.split(command))
    assert values["User"] == values["Group"] == ["ragsite"]
    assert values["NoNewPrivileges"] == ["yes"]
    assert values["CapabilityBoundingSet"] == [""]
    (folder,) = values["WorkingDirectory"]
    assert command.startswith(f"{folder}/.venv/bin/python ")
    (document,) = values["Documentation"]
    assert (ROOT / document.removeprefix(f"file:{folder}/")).exists()
    (variables,) = values["Environment"]
    names = {pair.partition("=")[0] for pair in variables.split()}
    assert names - {"PYTHONDONTWRITEBYTECODE"} <= set(documented())
    assert f"RAGSITE_HOME=/var/lib/{values['StateDirectory'][0]}" in variables


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd here")
def test_systemd_accepts_the_units(tmp_path: Path):
    for path in UNITS:  # a program that is there: systemd looks for it
        text = path.read_text().replace("/opt/ragsite/.venv/bin/python", "/bin/true")
        (tmp_path / path.name).write_text(text)
    verified = subprocess.run(
        ["systemd-analyze", "verify", *(str(tmp_path / path.name) for path in UNITS)],
        capture_output=True,
        text=True,
        check=False,
    )
    ours = [line for line in verified.stderr.splitlines() if "ragsite" in line]
    assert not ours
