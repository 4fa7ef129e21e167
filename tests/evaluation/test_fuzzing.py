"""A taste of `make fuzz`: the samples are read, mutants end well, and what is wrong is noticed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from documents.passages import Block, Extracted
from evaluation.benchmarks.data import samples
from evaluation.benchmarks.ingest.fuzzing import Fuzzer, about_text


@pytest.fixture(scope="module")
def fuzzer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fuzzer]:
    fuzzer = Fuzzer(1, Path(tmp_path_factory.mktemp("fuzz")))
    yield fuzzer
    fuzzer.worker.close()


@pytest.mark.parametrize(("name", "sample"), samples.by_name().items(), ids=samples.by_name())
def test_every_sample_is_read_and_its_mutants_end_with_a_text_or_a_code(
    name: str, sample: bytes, fuzzer: Fuzzer
):
    assert fuzzer.read(name, sample) == ("ready", "")
    for _ in range(4):
        end, complaint = fuzzer.read(name, fuzzer.mutator.mutated(sample))
        assert not complaint, end


@pytest.mark.parametrize(
    "extracted",
    [
        Extracted(" \n"),
        Extracted("a\x00b"),
        Extracted("a\ud800b"),
        Extracted("abc", (Block("text", 0, 4),)),
        Extracted("abc", (Block("text", 0, 2), Block("text", 1, 3))),
        Extracted("a  c", (Block("text", 1, 3),)),
    ],
)
def test_a_text_that_is_not_exact_is_noticed(extracted: Extracted):
    assert about_text(extracted)
