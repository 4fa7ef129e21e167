"""The supervisor, for real: small programs that end, hang, fork and get killed."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

import pytest

from ragsite.service.supervisor import Program, Supervisor

REPOSITORY = Path(__file__).parents[2]
SUPERVISE = """
import json, sys, logging; from pathlib import Path; from ragsite.service.supervisor import *
logging.basicConfig(level="INFO")
home, *programs = json.loads(sys.argv[1])
sys.exit(Supervisor([Program(*each) for each in programs], home=Path(home)).run())
"""
# Each notes its process id and that of a child, and so on for each life it has.
NOTE = """
import os, signal, subprocess, sys, time
child = subprocess.Popen(["sleep", "600"])
open({path!r}, "a").write(f"{{os.getpid()}} {{child.pid}}\\n")
"""
STUBBORN = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
STAY = "time.sleep(600)\n"
CRASH = "sys.exit(7)\n"


def program(home: Path, name: str, body: str, stop_seconds: float = 10) -> Program:
    argv = [sys.executable, "-c", NOTE.format(path=str(home / name)) + body]
    return Program(name, argv, stop_seconds=stop_seconds)


def lives(home: Path, name: str) -> list[list[int]]:
    """[process, child] of each life so far."""
    try:
        lines = (home / name).read_text().splitlines()
    except FileNotFoundError:
        return []
    return [[int(pid) for pid in line.split()] for line in lines]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def until(condition: Callable[[], bool], seconds: float = 10) -> bool:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


@contextmanager
def supervised(home: Path, *programs: Program) -> Iterator[subprocess.Popen[str]]:
    described = [[p.name, p.argv, p.env, p.stop_seconds] for p in programs]
    command = [sys.executable, "-c", SUPERVISE, json.dumps([str(home), *described])]
    process = subprocess.Popen(command, cwd=REPOSITORY, text=True, stderr=subprocess.PIPE)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()
        for name in (p.name for p in programs):
            for pid in (pid for life in lives(home, name) for pid in life if is_alive(pid)):
                os.kill(pid, signal.SIGKILL)


def stop(process: subprocess.Popen[str], how: signal.Signals = signal.SIGTERM) -> str:
    process.send_signal(how)
    return process.communicate(timeout=20)[1]


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_leaves_no_process_behind(tmp_path: Path, how: signal.Signals) -> None:
    web = program(tmp_path, "web", STAY)
    stubborn = program(tmp_path, "stubborn", STUBBORN + STAY, stop_seconds=0.5)
    with supervised(tmp_path, web, stubborn) as supervisor:
        assert until(lambda: bool(lives(tmp_path, "web") and lives(tmp_path, "stubborn")))
        everything = lives(tmp_path, "web")[0] + lives(tmp_path, "stubborn")[0]
        stop(supervisor, how)
        assert supervisor.returncode == 0
        assert until(lambda: not any(map(is_alive, everything)))
    assert not list((tmp_path / "run").glob("*.pid"))


def test_a_second_ctrl_c_does_not_wait(tmp_path: Path) -> None:
    with supervised(tmp_path, program(tmp_path, "web", STUBBORN + STAY)) as supervisor:
        assert until(lambda: bool(lives(tmp_path, "web")))
        time.sleep(0.2)
        began = time.monotonic()
        supervisor.send_signal(signal.SIGINT)
        time.sleep(0.7)
        stop(supervisor, signal.SIGINT)
        assert time.monotonic() - began < 5
        assert until(lambda: not any(map(is_alive, lives(tmp_path, "web")[0])))


def test_a_killed_supervisor_takes_its_programs_along(tmp_path: Path) -> None:
    body = "signal.signal(signal.SIGTERM, lambda *_: (child.kill(), sys.exit()))\n" + STAY
    with supervised(tmp_path, program(tmp_path, "web", body)) as supervisor:
        assert until(lambda: bool(lives(tmp_path, "web")))
        time.sleep(0.2)
        supervisor.kill()
        assert until(lambda: not any(map(is_alive, lives(tmp_path, "web")[0])))


@pytest.mark.parametrize("body", [STUBBORN + STAY, STAY], ids=["leader", "only its child"])
def test_what_a_killed_supervisor_leaves_is_swept_up(tmp_path: Path, body: str) -> None:
    web = program(tmp_path, "web", body, stop_seconds=0.5)
    with supervised(tmp_path, web) as killed:
        assert until(lambda: bool(lives(tmp_path, "web")))
        time.sleep(0.2)
        killed.kill()
        killed.wait()
        leader, child = lives(tmp_path, "web")[0]
        assert until(lambda: is_alive(leader) == body.startswith(STUBBORN))
        assert is_alive(child)
        with supervised(tmp_path, web) as successor:
            assert until(lambda: len(lives(tmp_path, "web")) == 2)
            assert until(lambda: not is_alive(leader))
            assert until(lambda: not is_alive(child))
            assert "left of an earlier web" in stop(successor)


def test_a_number_used_anew_is_not_swept_up(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as bystander:
        (tmp_path / "run").mkdir()
        (tmp_path / "run/web.pid").write_text(f"{bystander.pid} another-boot:12345\n")
        assert Supervisor([], home=tmp_path).claim() is None
        assert bystander.poll() is None
        bystander.kill()
    assert not (tmp_path / "run/web.pid").exists()


def test_a_crashed_program_comes_back_without_its_old_children(tmp_path: Path) -> None:
    with supervised(tmp_path, program(tmp_path, "web", STAY)) as supervisor:
        assert until(lambda: bool(lives(tmp_path, "web")))
        leader, child = lives(tmp_path, "web")[0]
        os.kill(leader, signal.SIGKILL)
        assert until(lambda: len(lives(tmp_path, "web")) == 2)
        assert until(lambda: not is_alive(child))
        stop(supervisor)


def test_a_program_that_never_starts_ends_it_all(tmp_path: Path) -> None:
    steady = program(tmp_path, "steady", STAY)
    with supervised(tmp_path, steady, program(tmp_path, "web", CRASH)) as supervisor:
        said = supervisor.communicate(timeout=20)[1]
        assert supervisor.returncode == 7
        assert "web ended with 7 at each of 3 starts" in said
        assert until(
            lambda: (
                not any(map(is_alive, chain(*lives(tmp_path, "web"), *lives(tmp_path, "steady"))))
            )
        )


def test_a_second_supervisor_is_refused(tmp_path: Path) -> None:
    with supervised(tmp_path, program(tmp_path, "web", STAY)) as first:
        assert until(lambda: bool(lives(tmp_path, "web")))
        with supervised(tmp_path, program(tmp_path, "other", STAY)) as second:
            said = second.communicate(timeout=20)[1]
        assert second.returncode == 1
        assert f"already running here (pid {first.pid})" in said
        assert all(map(is_alive, lives(tmp_path, "web")[0]))
        assert not lives(tmp_path, "other")
        stop(first)


def test_chores_repeat_survive_errors_and_may_restart(tmp_path: Path) -> None:
    seen: list[float] = []
    running: list[bool] = []

    def watch() -> None:
        assert not running, "a chore never meets itself"
        running.append(True)
        time.sleep(0.1)
        running.clear()
        if len(lives(tmp_path, "web")) == 1 and not any(seen):  # once: the next takes a while
            seen.append(supervisor.started_at("web"))
            supervisor.restart("web")
        elif len(lives(tmp_path, "web")) == 2:
            seen.append(supervisor.started_at("web"))
            os.kill(os.getpid(), signal.SIGTERM)

    def fail() -> None:
        seen.append(0)
        raise ValueError("as chores do")

    stubborn = program(tmp_path, "web", STUBBORN + STAY, stop_seconds=0.1)
    supervisor = Supervisor([stubborn], home=tmp_path, every=[(0.05, watch), (0.05, fail)])
    before = signal.getsignal(signal.SIGTERM)
    assert supervisor.run() == 0
    assert signal.getsignal(signal.SIGTERM) is before
    starts = [moment for moment in seen if moment]
    assert seen.count(0) > 1
    assert starts[-1] > starts[0]
    assert starts[-1] - starts[0] < 5
    assert until(lambda: not any(map(is_alive, chain(*lives(tmp_path, "web")))))
