"""The bundled model, all the way from upload to answer."""

from collections.abc import Callable

from documents.models import Namespace

from ..client import Api


def test_many_batches_through_the_real_model_give_every_chunk_its_own_vector(
    api_of: Callable[..., Api], real_tenant: Namespace, work: Callable[[], int]
):
    api = api_of(real_tenant)
    animals = ("otter", "heron", "lynx", "viper", "moth")
    sections = "\n\n".join(
        f"## Note {n}\n\nKeeper {n} saw {n} {animals[n % 5]}s at gate {n}." for n in range(150)
    )
    api.upload(("notes.md", f"# Notes\n\n{sections}"))
    work()
    for n in (0, 63, 64, 127, 128, 149):
        # As it is embedded: below its title and section.
        content = f"## Note {n}\n\nKeeper {n} saw {n} {animals[n % 5]}s at gate {n}."
        question = f"Notes > Note {n}\n{content}"
        best = api.query(question, mode="semantic").body["results"][0]
        assert best["section"] == f"Notes > Note {n}"
        assert best["scores"]["vector"] > 0.95
