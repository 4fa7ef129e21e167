"""How one document is cut: asked for with its upload, remembered, within what a model reads."""

import hashlib
import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.management import call_command

from documents.chunking.methods import ChunkerSettings, ChunkingOptions
from documents.ingestion import pipeline
from documents.ingestion.pipeline import ingest
from documents.intake import intake
from documents.intake.intake import Submission
from documents.jobs import queue
from documents.models import Chunk, Document, DocumentVersion, IndexProfile, Namespace
from documents.profiles import chunking_overrides, profiles
from documents.reindex import switching
from documents.reindex.estimate import estimate
from ragsite.database.tenancy import namespace, operator
from ragsite.platform.backends import load_backend

from ..client import Api

SENTENCES = " ".join(f"Sentence number {n} speaks of kilns and of clay." for n in range(60))
GUIDE = f"# Guide\n\nHow to fire.\n\n## Firing\n\n{SENTENCES}\n"
HASHES_BEFORE = (11, "1f6da6fe77e86e2d")  # of GUIDE's chunks, by the release before
SMALL = {"method": "structure", "size": 20, "overlap": 0}


def upload(api: Api, chunking: Any = None, text: str = GUIDE, **fields: Any) -> dict[str, Any]:
    if chunking is not None:
        fields["chunking"] = json.dumps(chunking)
    answer = api.upload(("guide.md", text), **fields)
    assert answer.status in (200, 202), answer.body
    (result,) = answer.body["results"]
    return dict(result)


def chunks(profile: IndexProfile | None = None) -> list[Chunk]:
    with operator():
        found = Chunk.objects.filter(profile=profile) if profile else Chunk.objects.all()
        return list(found.order_by("ordinal"))


def document_of(api: Api, result: dict[str, Any]) -> dict[str, Any]:
    return dict(api.get(f"documents/{result['document_id']}").body)


# -- what is asked for ------------------------------------------------------------------


def test_a_form_a_json_body_and_a_file_entry_can_each_name_it(api: Api, work: Callable[[], int]):
    upload(api, SMALL)
    by_item = {"source_uri": "a", "content": GUIDE, "chunking": SMALL}
    by_body = {"source_uri": "b", "content": GUIDE}
    body = {"documents": [by_item, by_body], "chunking": {"size": 30}, "on_duplicate": "keep"}
    assert api.post("ingest", body).status == 202
    by_file = json.dumps([{"source_uri": "c", "chunking": {"method": "fixed", "size": 300}}])
    api.upload(("other.md", GUIDE), files=by_file, on_duplicate="keep")
    work()
    found = {one["source_uri"]: one for one in api.get("documents").body["results"]}
    assert {uri: one["chunking"] for uri, one in found.items()} == {
        "upload:guide.md": SMALL,
        "a": SMALL,
        "b": {"size": 30},
        "c": {"method": "fixed", "size": 300},
    }
    assert found["a"]["chunks_count"] == found["upload:guide.md"]["chunks_count"]
    assert found["a"]["chunks_count"] > found["b"]["chunks_count"] > found["c"]["chunks_count"]


@pytest.mark.parametrize(
    "chunking", [SMALL, {"method": "fixed", "size": 200}, {"method": "semantic", "size": 40}]
)
def test_chunks_slice_back_whatever_is_asked_for(
    api: Api, work: Callable[[], int], chunking: dict[str, Any]
):
    result = upload(api, chunking)
    work()
    text = api.get(f"documents/{result['document_id']}/text").body["text"]
    assert len(chunks()) > 5
    assert all(text[chunk.start : chunk.end] == chunk.content for chunk in chunks())


def test_without_options_a_file_is_cut_as_before_there_were_any(api: Api, work: Callable[[], int]):
    result = upload(api)
    work()
    assert document_of(api, result)["chunking"] is None
    hashes = hashlib.sha256("".join(chunk.chunk_hash for chunk in chunks()).encode()).hexdigest()
    assert (len(chunks()), hashes[:16]) == HASHES_BEFORE


@pytest.mark.parametrize(
    ("asked", "settings"),
    [
        (ChunkingOptions(), ("structure", 200, 30)),
        (ChunkingOptions(size=100), ("structure", 100, 15)),
        (ChunkingOptions(overlap=0), ("structure", 200, 0)),
        (ChunkingOptions("structure", 400, 10), ("structure", 400, 10)),
        (ChunkingOptions("fixed"), ("fixed", 1000, 200)),
        (ChunkingOptions("fixed", 500), ("fixed", 500, 100)),
        (ChunkingOptions("semantic", 100), ("semantic", 100, 0)),
    ],
)
def test_what_is_not_named_follows_from_the_rest(
    asked: ChunkingOptions, settings: tuple[str, int, int]
):
    assert asked.over(ChunkerSettings("structure", 200, 30)) == ChunkerSettings(*settings)


def test_options_of_the_profiles_chunker_do_not_follow_into_another_method():
    own = ChunkerSettings("semantic", 220, 0, {"percentile": 80})
    assert ChunkingOptions(size=100).over(own).options == {"percentile": 80}
    assert ChunkingOptions("structure").over(own).options == {}


# -- what cannot be ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chunking", "told"),
    [
        ({"size": 3000}, "from 16 to 2048 tokens, not 3000"),
        ({"size": 5}, "from 16 to 2048 tokens, not 5"),
        ({"method": "fixed", "size": 30000}, "from 100 to 20000 characters"),
        ({"size": 60, "overlap": 30}, "Less than half"),
        ({"method": "semantic", "overlap": 5}, "0 with the semantic chunker"),
        ({"method": "llm"}, "needs a language model"),
    ],
)
def test_what_the_embedding_model_cannot_read_is_refused_with_the_limits(
    api: Api, chunking: dict[str, Any], told: str
):
    answer = api.upload(("guide.md", GUIDE), chunking=json.dumps(chunking))
    assert (answer.status, answer.code) == (422, "invalid_chunking")
    assert told in answer.body["error"]["message"]
    assert api.get("documents").body["results"] == []


def test_the_limits_are_there_for_programs_too(api: Api):
    details = api.upload(("a.md", GUIDE), chunking='{"size": 3000}').body["error"]["details"]
    assert (details["unit"], details["min_size"], details["max_size"]) == ("tokens", 16, 2048)


@pytest.mark.parametrize(
    ("chunking", "field"),
    [
        ("nonsense", "chunking"),
        ("[1]", "chunking"),
        ('{"sise": 3}', "chunking.sise"),
        ('{"size": "3"}', "chunking.size"),
        ('{"size": 0}', "chunking.size"),
        ('{"overlap": -1}', "chunking.overlap"),
        ('{"method": "random"}', "chunking.method"),
    ],
)
def test_what_is_no_chunking_at_all_is_refused(api: Api, chunking: str, field: str):
    answer = api.upload(("guide.md", GUIDE), chunking=chunking)
    assert (answer.status, answer.code) == (422, "invalid_request")
    assert answer.body["error"]["details"]["fields"][0]["field"] == field


def test_one_bad_item_does_not_keep_the_others_out(api: Api):
    items = [{"content": "One.", "chunking": {"size": 9000}}, {"content": "Two."}]
    answer = api.post("ingest", {"documents": items})
    assert [one["status"] for one in answer.body["results"]] == ["rejected", "queued"]
    assert answer.body["results"][0]["error"]["code"] == "invalid_chunking"


def test_more_characters_than_the_model_reads_at_once_are_accepted_with_a_warning(api: Api):
    result = upload(api, {"method": "fixed", "size": 10_000})
    assert result["warnings"][0].startswith("chunking.size: the embedding model reads 2048 tokens")
    assert upload(api, {"method": "fixed", "size": 8000})["warnings"] == []


# -- remembered, changed, taken back ----------------------------------------------------


def test_the_same_bytes_with_other_options_are_cut_again_and_are_no_duplicate(
    api: Api, work: Callable[[], int]
):
    first = upload(api)
    work()
    before = len(chunks())
    again = upload(api, SMALL)
    assert (again["duplicate"], again["status"], again["version"]) == (False, "queued", 1)
    assert again["document_id"] == first["document_id"]
    assert work() == 1
    assert len(chunks()) > before
    same = upload(api, SMALL)
    assert (same["duplicate"], work()) == (True, 0)


def test_options_stay_for_later_versions_until_they_are_taken_back(
    api: Api, work: Callable[[], int]
):
    upload(api, SMALL)
    work()
    small = len(chunks())
    assert upload(api)["duplicate"] is True  # nothing is said of it, so nothing changes
    newer = upload(api, text=GUIDE.replace("Guide", "Book"))
    work()
    assert newer["version"] == 2
    assert len(chunks()) == small
    back = upload(api, {}, text=GUIDE.replace("Guide", "Book"))
    assert (back["duplicate"], back["version"]) == (False, 2)
    work()
    assert len(chunks()) < small
    assert document_of(api, back)["chunking"] is None


def test_a_changed_title_or_a_reindex_of_the_document_keeps_them(api: Api, work: Callable[[], int]):
    result = upload(api, SMALL)
    work()
    before = [chunk.chunk_hash for chunk in chunks()]
    path = f"documents/{result['document_id']}"
    api.patch(path, {"title": "Another"})
    work()
    api.post(f"{path}/reindex")
    work()
    assert api.get(path).body["chunking"] == SMALL
    assert [chunk.chunk_hash for chunk in chunks()] == before


def test_bytes_known_by_another_source_keep_that_ones_chunking_and_say_so(
    api: Api, work: Callable[[], int]
):
    upload(api)
    work()
    answer = api.upload(("copy.md", GUIDE), chunking=json.dumps(SMALL))
    (result,) = answer.body["results"]
    assert result["duplicate"] is True
    assert "chunking were not applied" in result["warnings"][0]
    assert work() == 0


def test_options_that_change_while_the_document_is_cut_win(
    api: Api, tenant: Namespace, work: Callable[[], int], monkeypatch: pytest.MonkeyPatch
):
    upload(api)
    claim = queue.claim("host:1")
    assert claim
    split, asked = pipeline.split, []

    def change_first(*args: Any) -> Any:
        asked.append(args[1])
        if len(asked) == 1:
            upload(api, SMALL)
        return split(*args)

    monkeypatch.setattr(pipeline, "split", change_first)
    ingest(claim)
    assert asked == [{}, SMALL]
    assert work() == 0
    assert max(chunk.tokens for chunk in chunks()) <= 24


# -- other profiles ---------------------------------------------------------------------


@pytest.fixture
def narrow_profile(hashing_profile: IndexProfile, settings: Any) -> Any:
    """A model that reads very little."""
    options = {"dimensions": 64, "max_tokens": 40}
    entry = {"BACKEND": "documents.embedders.hashing.HashingEmbedder", "OPTIONS": options}
    settings.EMBEDDERS = {**settings.EMBEDDERS, "narrow": entry}
    load_backend.cache_clear()
    yield profiles.create("narrow", embedder="narrow", chunk_size=32, chunk_overlap=0)
    load_backend.cache_clear()


def test_a_reindex_to_another_model_keeps_options_that_fit_it(
    api: Api, tenant: Namespace, narrow_profile: IndexProfile, build: Callable[[], None]
):
    result = upload(api, SMALL)
    build()
    switching.start(tenant.pk, narrow_profile)
    build()
    spans = [(chunk.start, chunk.end) for chunk in chunks(tenant.active_profile)]
    assert [(chunk.start, chunk.end) for chunk in chunks(narrow_profile)] == spans
    versions = api.get(f"documents/{result['document_id']}/versions").body["results"]
    assert versions[0]["warnings"] == []


def test_options_that_do_not_fit_another_model_are_left_aside_with_a_warning(
    api: Api, tenant: Namespace, narrow_profile: IndexProfile, build: Callable[[], None]
):
    result = upload(api, {"size": 500})
    build()
    switching.start(tenant.pk, narrow_profile)
    build()
    assert max(chunk.tokens for chunk in chunks(narrow_profile)) <= 40
    assert max(chunk.tokens for chunk in chunks(tenant.active_profile)) > 300
    path = f"documents/{result['document_id']}"
    (warning,) = api.get(f"{path}/versions").body["results"][0]["warnings"]
    assert warning.startswith("chunking_not_applied: under the index profile 'narrow'")
    assert "from 16 to 40 tokens, not 500" in warning
    switching.switch(tenant.pk)
    assert api.get(path).body["chunking"] == {"size": 500}  # for the day they fit again
    api.post(f"{path}/reindex")
    build()
    (warning,) = api.get(f"{path}/versions").body["results"][0]["warnings"]
    assert warning.startswith("chunking_not_applied")


def test_options_changed_during_a_reindex_reach_both_profiles(
    api: Api, tenant: Namespace, small_profile: IndexProfile, build: Callable[[], None]
):
    upload(api)
    build()
    switching.start(tenant.pk, small_profile)
    build()
    upload(api, SMALL)
    build()
    spans = [(chunk.start, chunk.end) for chunk in chunks(tenant.active_profile)]
    assert [(chunk.start, chunk.end) for chunk in chunks(small_profile)] == spans
    assert max(chunk.tokens for chunk in chunks(small_profile)) <= 24


def test_vectors_are_always_of_the_profiles_own_model(
    api: Api, tenant: Namespace, work: Callable[[], int]
):
    result = upload(api, SMALL)
    work()
    document = document_of(api, result)
    assert document["embedding_model"] == "hashing/signed-words-1/256/normalized"
    assert {len(list(chunk.embedding)) for chunk in chunks()} == {256}


# -- other doors ------------------------------------------------------------------------


def test_intake_takes_the_options_as_one_parameter(tenant: Namespace, work: Callable[[], int]):
    options = ChunkingOptions(size=20, overlap=0)
    content = ContentFile(GUIDE.encode())
    receipt = intake.accept(tenant.pk, Submission(content, file_name="a.md", chunking=options))
    work()
    with namespace(tenant.pk):
        document = Document.objects.get(pk=receipt.document_id)
        version = DocumentVersion.objects.get(document=document)
    assert chunking_overrides.requested_by(document) == {"size": 20, "overlap": 0}
    assert version.outline["chunking"] == {"size": 20, "overlap": 0}


def test_the_command_takes_chunker_size_and_overlap(tenant: Namespace, tmp_path: Path):
    (tmp_path / "guide.md").write_text(GUIDE)

    def run(*options: str) -> int:
        arguments = [str(tmp_path), "--namespace", "tenant", *options]
        call_command("ingest", *arguments, stdout=StringIO())
        return len(chunks())

    before = run()
    assert run("--chunker", "structure", "--size", "20", "--overlap", "0") > before
    assert run("--chunker", "fixed", "--size", "2000") < before
    assert run("--sync", "--chunker", "structure", "--size", "20") > before


def test_the_command_says_what_the_model_cannot_read(
    tenant: Namespace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "guide.md").write_text(GUIDE)
    with pytest.raises(SystemExit):
        call_command("ingest", str(tmp_path), "--namespace", "tenant", "--size", "9000")
    assert "from 16 to 2048 tokens, not 9000" in capsys.readouterr().err


def test_an_estimate_counts_with_the_documents_own_options(
    api: Api, tenant: Namespace, small_profile: IndexProfile, work: Callable[[], int]
):
    upload(api)
    work()
    by_profile = estimate(tenant.pk, small_profile).chunks
    upload(api, {"size": 400})
    work()
    assert estimate(tenant.pk, small_profile).chunks < by_profile
