"""What somebody sets by hand stays, whatever the file says of itself."""

from collections.abc import Callable

from ..client import Api

TEXT = "---\ntags: [harbour]\ndate: 2020-01-01\nfloor: 1\n---\n# Lights\n\nTwelve of them."


def upload(api: Api, work: Callable[[], int], text: str = TEXT, **fields: str) -> str:
    document_id = api.upload(("lights.md", text), **fields).body["results"][0]["document_id"]
    work()
    return str(document_id)


def test_tags_and_metadata_set_by_hand_outlive_indexing_and_new_versions(
    api: Api, work: Callable[[], int]
):
    document_id = upload(api, work, tags="coast")
    assert api.get(f"documents/{document_id}").body["tags"] == ["coast", "harbour"]
    api.patch(f"documents/{document_id}", {"tags": [], "metadata": {"floor": 2, "date": None}})
    api.post(f"documents/{document_id}/reindex")
    work()
    upload(api, work, TEXT + " And one more.")
    document = api.get(f"documents/{document_id}").body
    assert (document["version"], document["tags"]) == (2, [])
    assert document["metadata"] == {"floor": 2}


def test_tags_that_come_with_an_upload_count_again(api: Api, work: Callable[[], int]):
    document_id = upload(api, work)
    api.patch(f"documents/{document_id}", {"tags": []})
    upload(api, work, TEXT + " And one more.", tags="night")
    assert api.get(f"documents/{document_id}").body["tags"] == ["night", "harbour"]


def test_the_date_follows_the_metadata(api: Api, work: Callable[[], int]):
    document_id = upload(api, work)
    assert api.get(f"documents/{document_id}").body["dated_at"] == "2020-01-01T00:00:00Z"
    api.patch(f"documents/{document_id}", {"metadata": {"date": "2021-06-05"}})
    assert api.get(f"documents/{document_id}").body["dated_at"] == "2021-06-05T00:00:00Z"
    hits = api.query("lights", filters={"date_range": ["2021-06-01", "2021-06-30"]})
    assert len(hits.body["results"]) == 1


def test_the_date_stays_whatever_else_changes(api: Api, work: Callable[[], int]):
    document_id = upload(api, work)
    for change in ({"metadata": {"floor": 3}}, {"tags": ["x"]}, {"title": "Y"}):
        assert api.patch(f"documents/{document_id}", change).body["dated_at"].startswith("2020-01")
    work()
    assert api.get(f"documents/{document_id}").body["dated_at"] == "2020-01-01T00:00:00Z"


def test_a_date_set_by_hand_outlives_new_versions_until_it_is_taken_back(
    api: Api, work: Callable[[], int]
):
    document_id = upload(api, work)
    changed = api.patch(f"documents/{document_id}", {"dated_at": "2001-02-03T04:05:06Z"}).body
    assert changed["dated_at"] == "2001-02-03T04:05:06Z"
    upload(api, work, TEXT + " And one more.")
    assert api.get(f"documents/{document_id}").body["dated_at"] == "2001-02-03T04:05:06Z"
    back = api.patch(f"documents/{document_id}", {"dated_at": None}).body
    assert back["dated_at"] == "2020-01-01T00:00:00Z"


def test_metadata_is_merged_as_rfc_7396_has_it(api: Api, work: Callable[[], int]):
    document_id = upload(api, work, metadata='{"author": {"name": "Ada", "age": 36}, "tags": [1]}')
    patch = {"author": {"age": None, "town": "London"}, "tags": [2], "floor": None}
    changed = api.patch(f"documents/{document_id}", {"metadata": patch}).body
    assert changed["metadata"] == {
        "date": "2020-01-01",
        "author": {"name": "Ada", "town": "London"},
        "tags": [2],
    }
    large = {"metadata": {"a": "x" * 40_000}}, {"metadata": {"b": "x" * 40_000}}
    answers = [api.patch(f"documents/{document_id}", change) for change in large]
    assert [answer.status for answer in answers] == [200, 422]
    assert answers[1].code == "metadata_too_large"


def test_a_new_title_is_shown_at_once_and_searched_after_indexing(
    api: Api, work: Callable[[], int]
):
    document_id = upload(api, work)
    changed = api.patch(f"documents/{document_id}", {"title": "Beacons of Zanzibar"}).body
    assert (changed["title"], changed["status"], changed["live_version"]) == (
        "Beacons of Zanzibar",
        "queued",
        1,
    )
    assert api.query("lights").body["results"][0]["title"] == "Beacons of Zanzibar"
    assert work() == 1
    found = api.query("Zanzibar", mode="lexical").body["results"]
    assert [hit["document_id"] for hit in found] == [document_id]
    blank = api.patch(f"documents/{document_id}", {"title": ""}).body
    assert blank["title"] == "Lights"


def test_a_new_source_uri_is_what_the_next_upload_must_name(api: Api, work: Callable[[], int]):
    document_id = upload(api, work)
    other = api.upload(("other.md", "# Other")).body["results"][0]
    taken = api.patch(f"documents/{document_id}", {"source_uri": "upload:other.md"})
    assert (taken.status, taken.code) == (409, "source_uri_taken")
    moved = api.patch(f"documents/{document_id}", {"source_uri": "wiki:lights"})
    assert moved.body["source_uri"] == "wiki:lights"
    again = api.upload(("x.md", "# New"), source_uri="wiki:lights").body["results"][0]
    assert (again["document_id"], again["version"]) == (document_id, 2)
    assert other["document_id"] != document_id


def test_the_same_bytes_with_new_tags_title_and_metadata_take_them_over(
    api: Api, work: Callable[[], int]
):
    document_id = upload(api, work, tags="coast", metadata='{"a": 1, "b": 1}')
    answer = api.upload(("lights.md", TEXT), tags="night", metadata='{"a": 2}')
    (result,) = answer.body["results"]
    assert (result["duplicate"], result["updated"], result["version"]) == (True, True, 1)
    document = api.get(f"documents/{document_id}").body
    assert document["tags"] == ["night", "harbour"]
    assert document["metadata"] == {"date": "2020-01-01", "floor": 1, "a": 2}
    assert document["dated_at"] == "2020-01-01T00:00:00Z"
    assert len(api.query("lights", filters={"tags": ["night"]}).body["results"]) == 1
    assert api.query("lights", filters={"tags": ["coast"]}).body["results"] == []
    (same,) = api.upload(("lights.md", TEXT), tags="night").body["results"]
    assert (same["duplicate"], same["updated"]) == (True, False)
    (titled,) = api.upload(("lights.md", TEXT), title="Zanzibar").body["results"]
    assert (titled["updated"], titled["status"]) == (True, "queued")
    work()
    assert api.query("Zanzibar", mode="lexical").body["results"]
    assert api.get(f"documents/{document_id}").body["tags"] == ["night", "harbour"]
