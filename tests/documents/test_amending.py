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
    api.patch(f"documents/{document_id}", {"tags": [], "metadata": {"floor": 2}})
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
