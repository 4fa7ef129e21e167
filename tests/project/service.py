"""The whole service as its users run it: `manage.py up`, real processes, real HTTP."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import psutil

ROOT = Path(__file__).resolve().parents[2]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def until(what: Callable[[], Any], *, seconds: float, every: float = 0.2) -> Any:
    """What `what` returns once it is true."""
    deadline = time.monotonic() + seconds
    while True:
        value = what()
        if value:
            return value
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(every)


@dataclass
class Service:
    home: Path
    port: int = field(default_factory=free_port)
    extra: dict[str, str] = field(default_factory=dict)
    python: str = sys.executable
    code: Path = ROOT  # which Ragsite: of another release, or this one
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("RAGSITE", "DJANGO"))}
        own = {"RAGSITE_HOME": str(self.home), "PORT": str(self.port), "ENV_FILE": os.devnull}
        return {**kept, **own, "RAGSITE_PG_FSYNC": "off", **self.extra}

    @property
    def log(self) -> str:
        return (self.home / "up.log").read_text()

    @property
    def key(self) -> str:
        return str(json.loads((self.home / "credentials.json").read_text())["api_key"])

    def start(self, *options: str, seconds: float = 120) -> None:
        self.spawn(*options)
        until(self.is_up, seconds=seconds)

    def start_workers(self) -> None:
        """Workers alone, as on a host of their own."""
        self.spawn("--only", "worker")
        until(self.workers, seconds=120)

    def spawn(self, *options: str) -> None:
        """Start it without waiting until it serves."""
        self.home.mkdir(parents=True, exist_ok=True)
        with (self.home / "up.log").open("ab") as log:
            self.process = subprocess.Popen(
                [self.python, "manage.py", "up", *options],
                cwd=self.code,
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def is_up(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self.log[-3000:]
        try:
            return httpx2.get(f"{self.url}/readyz", timeout=5).status_code == 200
        except httpx2.TransportError:
            return False

    def stop(self, how: int = signal.SIGTERM) -> int:
        assert self.process is not None
        self.process.send_signal(how)
        return self.process.wait(timeout=60)

    def processes(self) -> list[psutil.Process]:
        """Everything that belongs to this home: by its environment or, Postgres, its arguments."""
        mine = []
        for process in psutil.process_iter():
            try:
                by_arguments = any(str(self.home) in part for part in process.cmdline())
                by_home = process.environ().get("RAGSITE_HOME") == str(self.home)
            except psutil.Error:
                continue
            if (by_arguments or by_home) and process.pid != os.getpid():
                mine.append(process)
        return mine

    def workers(self) -> list[psutil.Process]:
        """The processes of the worker group: sentinel, workers, pusher, monitor."""
        return [p for p in self.processes() if "qcluster" in p.cmdline()]

    def kill_everything(self) -> None:
        """kill -9, again and again, until nothing is left that could start anything."""
        while running := self.processes():
            for process in running:
                with suppress(psutil.NoSuchProcess):
                    process.kill()
            if self.process is not None:
                self.process.wait(timeout=10)
            psutil.wait_procs(running, timeout=10)

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.python, "manage.py", *arguments],
            cwd=self.code,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def client(self, key: str = "") -> httpx2.Client:
        return httpx2.Client(
            base_url=f"{self.url}/api/v1/",
            headers={"Authorization": f"Bearer {key or self.key}"},
            timeout=60,
        )
