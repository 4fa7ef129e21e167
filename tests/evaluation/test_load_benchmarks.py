"""What `make load` and `make soak` are made of; they themselves take too long for the suite."""

import os
import subprocess
import sys
import uuid

from evaluation.benchmarks.data import synthetic
from evaluation.benchmarks.load import soak
from evaluation.benchmarks.load.processes import ProcessTree
from evaluation.benchmarks.load.tenants import sizes


def test_sizes_are_very_different_and_add_up():
    some = sizes(100_000, 20)
    assert 0.45 < some[0] / sum(some) < 0.6
    assert some == sorted(some, reverse=True)
    assert 0.99 < sum(some) / 100_000 <= 1
    assert some[-1] < 0.01 * some[0]


def test_synthetic_passages_are_always_the_same_and_belong_to_a_subject():
    owner = uuid.uuid4()
    first, second = (list(synthetic.pages(40, owner, seed="a")) for _ in range(2))
    assert first == second
    assert sum(len(page.texts) for page in first) == 40
    assert list(synthetic.pages(40, owner, seed="b")) != first
    words = [set(" ".join(page.texts).lower().split()) for page in first]
    subject = set(first[0].title.split())
    assert subject <= words[0]
    assert subject <= words[4]  # another document about it
    assert not subject <= words[5]


def test_a_process_tree_counts_children_that_ended():
    burn = "import time\nwhile time.process_time() < 0.2: pass"
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"import subprocess, sys; subprocess.run([sys.executable, '-c', {burn!r}]); "
            "print(flush=True); sys.stdin.read()",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert parent.stdout
    parent.stdout.readline()
    tree = ProcessTree(parent.pid)
    assert tree.pids() == [parent.pid]
    assert tree.cpu_seconds() > 0.1
    assert tree.handles() >= 3
    assert tree.megabytes() > 1
    parent.communicate()
    assert ProcessTree(os.getpid()).cpu_seconds() > 0


def test_soak_fails_what_grows_and_passes_what_wavers():
    steady = dict.fromkeys(soak.ALLOWED, 100.0) | {"idle in transaction": 0.0}
    samples = [steady] * 16
    assert soak.judge(samples) == []
    growing = [steady | {"web MB": 100.0 + 5 * n} for n in range(16)]
    assert soak.judge(growing) == ["web MB grew from 127.5 to 167.5"]
    stuck = [steady] * 12 + [steady | {"idle in transaction": 1.0}] * 4
    assert soak.judge(stuck) == ["idle in transaction grew from 0.0 to 1.0"]
