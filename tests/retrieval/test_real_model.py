"""The bundled model, all the way from upload to answer."""

from collections.abc import Callable

import pytest

from documents.models import Namespace

from ..client import Api


def test_many_batches_through_the_real_model_give_every_chunk_its_own_vector(
    api_of: Callable[..., Api], real_tenant: Namespace, work: Callable[[], int]
):
    api = api_of(real_tenant)
    animals = ("otter", "heron", "lynx", "viper", "moth")
    remark = " The weather was fair." * 15  # so that no two sections share a chunk

    def note(n: int) -> str:
        return f"## Note {n}\n\nKeeper {n} saw {n} {animals[n % 5]}s at gate {n}.{remark}"

    api.upload(("notes.md", "\n\n".join(["# Notes", *map(note, range(150))])))
    work()
    for n in (0, 63, 64, 127, 128, 149):
        # As it is embedded: below its title and section.
        question = f"Notes > Note {n}\n{note(n)}"
        best = api.query(question, mode="semantic").body["results"][0]
        assert best["section"] == f"Notes > Note {n}"
        assert best["scores"]["vector"] > 0.95


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Wie lange ist die Garantie auf eine Lampe?", "garantie.md"),
        ("Wer kümmert sich um den Hafen?", "hafen.md"),
        ("灯塔是哪一年建成的？", "deng.md"),
        ("面团要揉多久？", "mian.md"),
    ],
)
def test_german_and_chinese_questions_find_german_and_chinese_texts(
    api_of: Callable[..., Api],
    real_tenant: Namespace,
    work: Callable[[], int],
    question: str,
    expected: str,
):
    """The bundled model reads English; their words are found all the same."""
    api = api_of(real_tenant)
    api.upload(
        ("garantie.md", "# Garantie\n\nFür jede Lampe gilt eine Garantie von drei Jahren."),
        ("hafen.md", "# Hafen\n\nUm den Hafen kümmern sich zwei Lotsen und ein Hafenmeister."),
        ("deng.md", "# 灯塔\n\n灯塔建于一八九二年，塔身由花岗岩砌成。"),
        ("mian.md", "# 面包\n\n面团揉十分钟，然后静置一小时。"),
        ("boats.md", "# Boats\n\nFishing boats leave the harbour before dawn."),
    )
    assert work() == 5
    assert api.query(question).body["results"][0]["source_uri"] == f"upload:{expected}"
