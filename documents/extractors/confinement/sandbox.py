"""Combine all layers: try them once in a fork, then impose them on each fork that reads a file."""

import json
import os
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from documents.extractors.confinement import kernel, landlock, reach, seccomp
from documents.extractors.confinement.users import Identity, can_change_user

ROOT = Path(__file__).resolve().parents[3]
OFF, AUTO, REQUIRED = MODES = ("off", "auto", "required")
UNREADABLE = "unreadable"


class SandboxFailed(Exception):
    """A layer that is required, or that worked before, is not available."""


@dataclass(frozen=True, slots=True)
class SandboxOptions:
    mode: str = AUTO
    user: str = "nobody"
    read_paths: tuple[str, ...] = ()

    @classmethod
    def of(cls, request: dict[str, Any]) -> "SandboxOptions":
        paths = tuple(request.get("read_paths", ()))
        return cls(request.get("mode", AUTO), request.get("user", "nobody"), paths)


@dataclass(slots=True)
class Protection:
    """The layers that work on this machine. `missing` gives the reason for each of the others."""

    user: str = ""  # the user that reads files; "" for the worker's own
    capabilities: bool = False  # whether all are given up
    landlock: int = 0  # version, 0 without it
    seccomp: bool = False
    network_namespace: bool = False
    missing: dict[str, str] = field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        """Return all layers that a process without special rights can have."""
        return self.seccomp and self.landlock > 0


class Sandbox:
    """Confines the forks of one sandbox worker. Only an OCR engine may start programs."""

    def __init__(
        self, options: SandboxOptions, *, ocr: dict[str, Any] | None, runs_programs: bool
    ) -> None:
        self.options = options
        self.runs_programs = runs_programs
        engine_paths = reach.paths_in((ocr or {}).get("OPTIONS", {}))
        named = (*options.read_paths, *engine_paths)
        self._named = [path for path in named if os.path.exists(path)]
        self._code = reach.code_paths(ROOT)

    @cached_property
    def protection(self) -> Protection:
        """Return the layers that work in a fork. Raises SandboxFailed if a required one fails."""
        if self.options.mode == OFF:
            return Protection(missing={"all": "EXTRACT_SANDBOX is off"})
        found = Protection()
        if problem := _leave_network():
            found.missing["network_namespace"] = problem
        found.network_namespace = not problem
        problems = self._with_least_rights(found)
        found.landlock = 0 if "landlock" in problems else landlock.version()
        found.seccomp = "seccomp" not in problems
        found.missing |= {k: v for k, v in problems.items() if k != UNREADABLE}
        if self.options.mode == REQUIRED and not found.is_complete:
            raise SandboxFailed(f"EXTRACT_SANDBOX is required, but: {found.missing}")
        return found

    def enter(self) -> None:
        """Confine this process for good. Open descriptors stay open."""
        found = self.protection
        if self.options.mode == OFF:
            return
        try:
            if found.user:
                Identity.find(found.user).assume()
            elif found.capabilities:
                kernel.drop_capabilities()
            kernel.forbid_new_privileges()
            if found.landlock:
                self._restrict_files()
            if found.seccomp:
                self._filter_calls()
        except (OSError, LookupError) as error:
            raise SandboxFailed(str(error)) from error

    @cached_property
    def _ruleset(self) -> landlock.Ruleset:
        rules = landlock.Ruleset()
        rules.allow(landlock.READ, (*self._code, *reach.LIBRARIES, *reach.PROCESSOR))
        rules.allow(landlock.READ, (*reach.DEVICES, *self._named))
        rules.allow(landlock.WRITE_FILE | landlock.TRUNCATE, reach.WRITABLE)
        if self.runs_programs:
            rights = landlock.READ | landlock.EXECUTE
            rules.allow(rights, (*reach.PROGRAMS, *self._named))
        return rules

    def _restrict_files(self) -> None:
        self._ruleset.impose()
        os.close(self._ruleset.descriptor)  # of this fork

    def _filter_calls(self) -> None:
        if not seccomp.is_supported():
            raise OSError("no filter is written for this kind of processor")
        program = seccomp.build(own_pid=os.getpid(), may_run_programs=self.runs_programs)
        seccomp.install(program)

    def _with_least_rights(self, found: Protection) -> dict[str, str]:
        """Decide which user reads files; return the problems with the other layers."""
        if not can_change_user():
            found.missing["user"] = "only root can read files as another user"
            found.capabilities = True  # an ordinary user has none anyway
            return self._problems(lambda: None)
        identity, problem = self._other_user()
        if identity:
            problems = self._problems(identity.assume)
            if UNREADABLE not in problems:
                found.user, found.capabilities = self.options.user, True
                return problems
            problem = f"{self.options.user} cannot read {problems[UNREADABLE]}"
        found.missing["user"] = problem
        problems = self._problems(kernel.drop_capabilities)
        if UNREADABLE not in problems:
            found.capabilities = True
            return problems
        found.missing["capabilities"] = f"without them {problems[UNREADABLE]} cannot be read"
        return self._problems(lambda: None)

    def _other_user(self) -> tuple[Identity | None, str]:
        name = self.options.user
        try:
            identity = Identity.find(name)
        except LookupError:
            return None, f"there is no user {name!r}"
        return (None, f"{name!r} is root") if identity.uid == 0 else (identity, "")

    def _problems(self, become: Callable[[], None]) -> dict[str, str]:
        """Return the problems by layer after `become`, tried in a fork."""
        with suppress(OSError):
            self._ruleset  # noqa: B018  # made here, for all forks; those find out if it cannot be
        return _in_fork(lambda: self._attempt(become))

    def _attempt(self, become: Callable[[], None]) -> dict[str, str]:
        become()
        if unreadable := reach.first_unreadable((*self._code, *self._named), reach.loaded_files()):
            return {UNREADABLE: unreadable}
        kernel.forbid_new_privileges()
        problems: dict[str, str] = {}
        for name, layer in (("landlock", self._restrict_files), ("seccomp", self._filter_calls)):
            try:
                layer()
            except OSError as error:
                problems[name] = error.strerror or str(error)
        return problems


@cache
def _leave_network() -> str | None:
    """Do this once, for the worker and all its forks. Returns the reason if it failed."""
    try:
        kernel.leave_network()
    except OSError as error:
        return error.strerror or str(error)
    return None


def _in_fork(attempt: Callable[[], dict[str, str]]) -> dict[str, str]:
    """Call it in a fork, so that it has no effect on this process, and return its result."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, json.dumps(attempt()).encode())
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    if not answer:  # a layer killed it, or it could not even start
        return dict.fromkeys((UNREADABLE, "landlock", "seccomp"), "the attempt failed")
    problems: dict[str, str] = json.loads(answer)
    return problems


def as_json(protection: Protection) -> dict[str, Any]:
    return asdict(protection) | {"is_complete": protection.is_complete}
