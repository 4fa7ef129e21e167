"""What a document is known by: nothing is overwritten unless somebody said so."""

import base64
import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import pytest

from documents.intake.archives import safe_path

from ..client import Answer, Api
from .test_ingest_api import send


def send_files(api: Api, *files: tuple[str, str], **fields: str | list[str]) -> Answer:
    """With file names as they stand: the test client would cut them."""
    parts = [
        f'--b\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
        f"Content-Type: text/markdown\r\n\r\n{text}\r\n"
        for name, text in files
    ]
    for name, values in fields.items():
        for value in values if isinstance(values, list) else [values]:
            head = f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n'
            parts.append(f"{head}{value}\r\n")
    body = ("".join(parts) + "--b--\r\n").encode()
    return send(api, body, "multipart/form-data; boundary=b")


def sources(answer: Answer) -> list[Any]:
    return [result["source_uri"] for result in answer.body["results"]]


def test_two_files_of_one_name_in_a_request_are_not_both_taken_silently(api: Api):
    answer = send_files(api, ("README.md", "# One"), ("README.md", "# Two"))
    first, second = answer.body["results"]
    assert (first["status"], first["version"]) == ("queued", 1)
    assert (second["status"], second["error"]["code"]) == ("rejected", "same_source_twice")
    assert answer.body["failed"] == 1
    assert "1 of 2 documents failed" in answer.body["error"]["message"]
    (document,) = api.get("documents").body["results"]
    assert document["version"] == 1


def test_the_same_bytes_twice_in_a_request_are_one_document(api: Api):
    first, second = send_files(api, ("a.md", "# One"), ("a.md", "# One")).body["results"]
    assert (first["duplicate"], second["duplicate"]) == (False, True)


def test_relative_paths_keep_files_of_one_name_apart(api: Api):
    answer = send_files(
        api,
        ("docs/a/README.md", "# One"),
        ("docs/b/README.md", "# Two"),
        ("../../etc/README.md", "# Three"),
        ("C:\\Docs\\README.md", "# Four"),
    )
    assert sources(answer) == [
        "upload:docs/a/README.md",
        "upload:docs/b/README.md",
        "upload:etc/README.md",
        "upload:Docs/README.md",
    ]
    assert len(api.get("documents").body["results"]) == 4


def test_the_same_name_in_a_later_request_is_a_new_version_and_says_so(api: Api):
    send_files(api, ("README.md", "# One"))
    (result,) = send_files(api, ("README.md", "# Two")).body["results"]
    assert (result["version"], result["source_uri"]) == (2, "upload:README.md")
    assert "give each a source_uri" in result["warnings"][0]
    (named,) = send_files(api, ("README.md", "# 3"), source_uri="upload:README.md").body["results"]
    assert (named["version"], named["warnings"]) == (3, [])


def test_each_file_can_have_its_own_source_title_and_more(api: Api, work: Callable[[], int]):
    files = ("README.md", "# One"), ("README.md", "# Two")
    answer = send_files(api, *files, source_uri=["git:a", "git:b"], title=["A", "B"])
    assert sources(answer) == ["git:a", "git:b"]
    work()
    assert {d["title"] for d in api.get("documents").body["results"]} == {"A", "B"}
    described = [{"source_uri": "x", "tags": ["one"]}, {"source_uri": "y", "metadata": {"n": 2}}]
    texts = ("README.md", "# Three"), ("README.md", "# Four")
    answer = send_files(api, *texts, files=json.dumps(described), tags="all")
    assert sources(answer) == ["x", "y"]
    tags = [api.get(f"documents/{r['document_id']}").body["tags"] for r in answer.body["results"]]
    assert tags == [["all", "one"], ["all"]]


@pytest.mark.parametrize(
    "fields",
    [
        {"source_uri": "one"},
        {"title": ["a", "b", "c"]},
        {"files": "[{}]"},
        {"files": "{}"},
        {"files": "[1, 2]"},
        {"files": '[{}, {"sorce_uri": "x"}]'},
        {"files": "["},
    ],
)
def test_fields_that_fit_no_file_are_refused(api: Api, fields: dict[str, str | list[str]]):
    answer = send_files(api, ("a.md", "# One"), ("b.md", "# Two"), **fields)
    assert (answer.status, answer.code) == (422, "invalid_request")
    assert api.get("documents").body["results"] == []


def test_an_encoding_that_was_chosen_is_kept_with_the_version(api: Api, work: Callable[[], int]):
    data = "Žluťoučký kůň".encode("iso-8859-2")
    wrong = api.upload(("a.txt", data), encoding="koi8-r").body["results"][0]
    work()
    path = f"documents/{wrong['document_id']}"
    assert api.get(f"{path}/text").body["text"] != "Žluťoučký kůň"
    right = api.upload(("a.txt", data), encoding="iso-8859-2").body["results"][0]
    assert (right["document_id"], right["status"], right["version"]) == (
        wrong["document_id"],
        "queued",
        1,
    )
    work()
    assert api.get(f"{path}/text").body["text"] == "Žluťoučký kůň"
    assert api.get(f"{path}/versions").body["results"][0]["encoding"] == "iso-8859-2"
    unknown = api.upload(("b.txt", data), encoding="klingon")
    assert (unknown.status, unknown.code) == (422, "unknown_encoding")


def test_bytes_come_in_json_as_base64_and_a_charset_with_the_part(
    api: Api, work: Callable[[], int]
):
    data = base64.b64encode("naïve café".encode("cp850")).decode()
    item = {"content_base64": data, "encoding": "cp850", "media_type": "text/plain"}
    (result,) = api.post("ingest", {"documents": [item]}).body["results"]
    head = '--b\r\nContent-Disposition: form-data; name="file"; filename="part.txt"\r\n'
    body = f"{head}Content-Type: text/plain; charset=cp850\r\n\r\n".encode()
    body += "déjà".encode("cp850") + b"\r\n--b--\r\n"
    (part,) = send(api, body, "multipart/form-data; boundary=b").body["results"]
    work()
    texts = [api.get(f"documents/{r['document_id']}/text").body["text"] for r in (result, part)]
    assert texts == ["naïve café", "déjà"]
    for bad in (
        {"content": "x", "content_base64": "eA=="},
        {},
        {"content_base64": "?"},
        {"content": "x", "encoding": "cp850"},
    ):
        assert api.post("ingest", {"documents": [bad]}).status == 422


@pytest.mark.parametrize(
    "source_uri", ["https://example.com", "wiki:release-v2.1", "notes.final", "urn:x:y.exe"]
)
def test_a_source_is_not_judged_by_what_looks_like_its_suffix(api: Api, source_uri: str):
    typed = {"content": "# One", "media_type": "text/plain", "source_uri": source_uri}
    bare = {"content": "# Two", "source_uri": f"{source_uri}"}
    for item in (typed, bare):
        (result,) = api.post("ingest", {"documents": [item]}).body["results"]
        assert (result["status"], result["source_uri"]) == ("queued", source_uri)


def test_a_failure_stands_at_the_top_and_a_long_wait_is_cut_with_a_warning(api: Api, settings: Any):
    settings.INGEST_MAX_WAIT = 0
    answer = api.upload(("a.md", "# One"), ("b.gif", b"GIF89a"), wait=5)
    assert answer.body["failed"] == 1
    assert answer.body["error"]["code"] == "type_mismatch"
    assert "the first: upload:b.gif: The file" in answer.body["error"]["message"]
    assert "reduced to 0 seconds" in answer.body["warnings"][0]
    fine = api.upload(("c.md", "# Two"))
    assert (fine.body["failed"], fine.body["error"], fine.body["warnings"]) == (0, None, [])


# -- archives ----------------------------------------------------------------------------


def zipped(*files: tuple[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files:
            archive.writestr(name, data)
    return packed.getvalue()


def test_each_file_of_an_archive_is_a_document_of_its_own(api: Api, work: Callable[[], int]):
    data = zipped(
        ("docs/a/README.md", b"# One"),
        ("docs/b/README.md", b"# Two"),
        ("../../evil.md", b"# Three"),
        ("__MACOSX/docs/._README.md", b"x"),
        (".hidden.md", b"x"),
        ("inner.zip", zipped(("x.md", b"# x"))),
        ("movie.mov", b"x"),
    )
    answer = api.upload(("docs.zip", data), tags="packed")
    assert [(r["source_uri"], r["status"]) for r in answer.body["results"]] == [
        ("upload:docs.zip!/docs/a/README.md", "queued"),
        ("upload:docs.zip!/docs/b/README.md", "queued"),
        ("upload:docs.zip!/evil.md", "queued"),
        ("upload:docs.zip!/inner.zip", "rejected"),
        ("upload:docs.zip!/movie.mov", "rejected"),
    ]
    assert [r["error"]["code"] for r in answer.body["results"][3:]] == [
        "nested_archive",
        "unsupported_type",
    ]
    assert work() == 3
    again = api.upload(("docs.zip", data)).body["results"]
    assert [r["duplicate"] for r in again[:3]] == [True] * 3


def test_a_bomb_of_an_archive_is_refused_before_it_is_unpacked(api: Api):
    bomb = zipped(("a.txt", b"0" * 50_000_000))
    answer = api.upload(("bomb.zip", bomb))
    assert (answer.status, answer.code) == (422, "decompression_bomb")
    assert api.upload(("empty.zip", zipped())).code == "no_text"


@pytest.mark.parametrize(
    ("path", "safe"),
    [
        ("/etc/passwd", "etc/passwd"),
        ("..\\..\\x", "x"),
        ("a/./b//c", "a/b/c"),
        ("C:/x/y", "x/y"),
        ("a\x00/b\n", "a/b"),
        ("...", "..."),
        ("..", ""),
    ],
)
def test_a_path_leads_nowhere_but_down(path: str, safe: str):
    assert safe_path(path) == safe
