"""How many web processes there are by default."""

import os

import environ
import pytest

from ragsite.settings import web


@pytest.mark.parametrize(("cores", "processes"), [(1, 1), (2, 1), (4, 2), (6, 3), (64, 3)])
def test_one_web_process_for_every_two_cores(
    monkeypatch: pytest.MonkeyPatch, cores: int, processes: int
):
    monkeypatch.delenv("WEB_PROCESSES", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(cores)))
    assert web.processes(environ.Env()) == processes


def test_the_number_of_web_processes_can_be_set(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WEB_PROCESSES", "7")
    assert web.processes(environ.Env()) == 7
