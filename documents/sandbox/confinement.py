"""Puts the layers together: tried once in a fork, then imposed on each fork that reads a file."""

import os
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from documents.sandbox import kernel, landlock, reach, seccomp
from documents.sandbox.users import Identity, can_change_user

ROOT = Path(__file__).resolve().parent.parent.parent
OFF, AUTO, REQUIRED = MODES = ("off", "auto", "required")


class SandboxFailed(Exception):
    """A layer that held before, or that is required, cannot be had."""


@dataclass(frozen=True, slots=True)
class Options:
    mode: str = AUTO
    user: str = "nobody"
    read_paths: tuple[str, ...] = ()

    @classmethod
    def of(cls, request: dict[str, Any]) -> "Options":
        paths = tuple(request.get("read_paths", ()))
        return cls(request.get("mode", AUTO), request.get("user", "nobody"), paths)


@dataclass(slots=True)
class Protection:
    """What holds here. `missing` says of each layer that does not hold why."""

    user: str = ""  # the one that files are read as; "" where it is the worker's
    capabilities: bool = False  # all given up
    landlock: int = 0  # its version
    seccomp: bool = False
    network_namespace: bool = False
    missing: dict[str, str] = field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        """As far as a process without rights of its own can be confined."""
        return self.seccomp and self.landlock > 0


class Sandbox:
    """Of one server: its forks `enter`. Programs may be run where an OCR engine is one."""

    def __init__(
        self, options: Options, *, ocr: dict[str, Any] | None, runs_programs: bool
    ) -> None:
        self.options = options
        self.runs_programs = runs_programs
        engine_paths = reach.paths_in((ocr or {}).get("OPTIONS", {}))
        self._named = [*options.read_paths, *engine_paths]
        self._code = reach.code_paths(ROOT)

    @cached_property
    def protection(self) -> Protection:
        """Tried for real, in a fork. With `required`, a layer that is missing is an error."""
        if self.options.mode == OFF:
            return Protection(missing={"all": "EXTRACT_SANDBOX is off"})
        found = Protection()
        if problem := _leave_network():
            found.missing["network_namespace"] = problem
        found.network_namespace = not problem
        self._choose_user(found)
        found.landlock = landlock.version() if self._holds("landlock", found) else 0
        found.seccomp = self._holds("seccomp", found)
        if self.options.mode == REQUIRED and not found.is_complete:
            raise SandboxFailed(f"EXTRACT_SANDBOX is required, but: {found.missing}")
        return found

    def enter(self) -> None:
        """In the fork, for good. Open descriptors stay open."""
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
        os.close(self._ruleset.descriptor)  # this fork's

    def _filter_calls(self) -> None:
        if not seccomp.is_supported():
            raise OSError("no filter is written for this kind of processor")
        program = seccomp.build(own_pid=os.getpid(), may_run_programs=self.runs_programs)
        seccomp.install(program)

    def _choose_user(self, found: Protection) -> None:
        if not can_change_user():
            found.missing["user"] = "only root can read files as somebody else"
            found.capabilities = True  # an ordinary user has none to begin with
            return
        problem = self._problem_with_user()
        if problem is None:
            found.user, found.capabilities = self.options.user, True
            return
        found.missing["user"] = problem
        problem = _in_fork(lambda: self._problem_as(kernel.drop_capabilities))
        found.capabilities = problem is None
        if problem:
            found.missing["capabilities"] = f"without them {problem} cannot be read"

    def _problem_with_user(self) -> str | None:
        name = self.options.user
        try:
            identity = Identity.find(name)
        except LookupError:
            return f"there is no user {name!r}"
        if identity.uid == 0:
            return f"{name!r} is root"
        unreadable = _in_fork(lambda: self._problem_as(identity.assume))
        return f"{name} cannot read {unreadable}" if unreadable else None

    def _problem_as(self, become: Callable[[], None]) -> str | None:
        become()
        return reach.first_unreadable(self._code, reach.loaded_files())

    def _holds(self, layer: str, found: Protection) -> bool:
        impose = {"landlock": self._restrict_files, "seccomp": self._filter_calls}[layer]

        def attempt() -> None:
            kernel.forbid_new_privileges()
            impose()

        try:
            if layer == "landlock":
                self._ruleset  # noqa: B018  # made here, for all forks
            problem = _in_fork(attempt)
        except OSError as error:
            problem = error.strerror or str(error)
        if problem:
            found.missing[layer] = problem
        return not problem


@cache
def _leave_network() -> str | None:
    """Once, for the server and all its forks: a network takes longer to make than a process.
    What stood in the way, if anything."""
    try:
        kernel.leave_network()
    except OSError as error:
        return error.strerror or str(error)
    return None


def _in_fork(attempt: Callable[[], str | None]) -> str | None:
    """What it returns or how it fails, without its effects on this process."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            answer = attempt() or ""
        except OSError as error:
            answer = error.strerror or str(error) or type(error).__name__
        except BaseException as error:
            traceback.print_exc()
            answer = type(error).__name__
        os.write(writing, answer.encode(errors="replace")[:500])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read().decode(errors="replace")
    _, status = os.waitpid(child, 0)
    return answer or (f"it ended with status {status}" if status else None)


def as_json(protection: Protection) -> dict[str, Any]:
    return asdict(protection) | {"is_complete": protection.is_complete}
