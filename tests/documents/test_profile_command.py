"""`manage.py profile`: how an operator chooses a chunker for a namespace."""

import pytest
from django.core.management import CommandError

from documents.models import IndexProfile, Namespace
from ragsite.database.tenancy import operator

from .test_commands import run


@pytest.mark.usefixtures("db")
def test_a_profile_is_made_listed_and_taken_by_a_namespace():
    made = run("profile", "create", "wide", "--chunker", "fixed", "--embedder", "hashing")
    assert made == "Profile wide created.\n"
    run("profile", "create", "turns", "--chunker", "semantic", "--percentile", "80")
    assert run("profile", "list").splitlines()[1:] == [
        "wide\tfixed 1000/200\thashing 256 hnsw\twith headers",
        "turns\tsemantic 220/0\tdefault 384 hnsw\twith headers",
    ]
    run("namespace", "create", "acme", "--profile", "wide")
    with operator():
        assert Namespace.objects.get().active_profile.name == "wide"
        turns = IndexProfile.objects.get(name="turns")
    assert (turns.chunker_options, turns.dimensions) == ({"percentile": 80}, 384)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--size", "60", "--overlap", "30"], "Less than half of the size of 60 tokens"),
        (["--size", "2000"], "limit of 1016 tokens, not 2000"),
        (["--chunker", "semantic", "--overlap", "9"], "its chunks do not overlap"),
        (["--percentile", "90"], "structure chunker has no option 'percentile'"),
        (["--embedder", "nowhere"], "'nowhere' cannot be loaded"),
    ],
)
@pytest.mark.usefixtures("db")
def test_a_profile_that_could_not_work_is_refused(arguments: list[str], sentence: str):
    with pytest.raises(CommandError, match=sentence):
        run("profile", "create", "mine", *arguments)
    assert "mine" not in run("profile", "list")


@pytest.mark.usefixtures("db")
def test_a_namespace_needs_a_profile_that_exists():
    with pytest.raises(CommandError, match="no index profile 'nowhere'"):
        run("namespace", "create", "acme", "--profile", "nowhere")


def made(name: str) -> IndexProfile:
    with operator():
        return IndexProfile.objects.get(name=name)


@pytest.mark.usefixtures("db")
def test_a_profile_like_another_has_all_of_it_but_what_is_named():
    run(
        *("profile", "create", "first", "--embedder", "hashing", "--size", "100"),
        *("--overlap", "20", "--no-header", "--ann", "hnsw", "--m", "8"),
    )
    run("profile", "create", "second", "--like", "first")
    first, second = made("first"), made("second")
    shared = ("chunker", "chunk_size", "chunk_overlap", "contextual_header", "embedder")
    shared += ("dimensions", "ann_method", "ann_options")
    assert [getattr(second, name) for name in shared] == [getattr(first, name) for name in shared]
    assert (second.contextual_header, second.ann_options) == (False, {"m": 8})
    run("profile", "create", "third", "--like", "first", "--size", "50", "--header")
    third = made("third")
    assert (third.chunk_size, third.chunk_overlap, third.contextual_header) == (50, 10, True)
    run("profile", "create", "fourth", "--like", "first", "--chunker", "fixed", "--ann", "exact")
    fourth = made("fourth")
    assert (fourth.chunk_size, fourth.chunk_overlap, fourth.ann_options) == (1000, 200, {})
    run("profile", "create", "fifth", "--like", "first", "--embedder", "default")
    assert made("fifth").dimensions == 384
    with pytest.raises(CommandError, match="no index profile 'nowhere'"):
        run("profile", "create", "sixth", "--like", "nowhere")


@pytest.mark.usefixtures("db")
def test_headers_are_on_as_in_the_default_profile_unless_said_otherwise():
    run("profile", "create", "plain", "--embedder", "hashing")
    run("profile", "create", "bare", "--embedder", "hashing", "--no-header")
    headers = [made(name).contextual_header for name in ("default", "plain", "bare")]
    assert headers == [True, True, False]
