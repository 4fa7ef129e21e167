"""What Open WebUI makes of our answers, by its own rules.

They are those of its backend (utils/middleware.py: annotations of a streamed delta become events of
type `source`) and of its page (Citations.svelte joins sources of one address,
ContentRenderer.svelte numbers their names, and a number in brackets becomes a chip with the name of
that number).
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import openai
from markdown_it import MarkdownIt

from ... import chat_server
from ...client import Api
from ...project.answer_site import Site
from .citations import check_place, reply
from .test_chat import ASK, TWO, text_and_chunks

CHIP = re.compile(r"\[(\d+)\](?!\()")  # not a link


def source_events(chunks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for chunk in chunks:
        choices = chunk.get("choices", [])
        if not choices:
            continue
        for annotation in choices[0].get("delta", {}).get("annotations") or ():
            if annotation.get("type") == "url_citation" and "url_citation" in annotation:
                cited = annotation["url_citation"]
                url = cited.get("url", "")
                title = cited.get("title", url)
                yield {
                    "source": {"name": title, "url": url},
                    "document": [title],
                    "metadata": [{"source": url, "name": title}],
                }


def listed_sources(events: list[dict[str, Any]]) -> list[str]:
    """The addresses in the list below an answer."""
    return list(dict.fromkeys(event["metadata"][0]["source"] for event in events))


def names_of_chips(content: str, events: list[dict[str, Any]]) -> list[str]:
    """What each number in the text is shown as. A number beyond the names stays plain text."""
    names = list(dict.fromkeys(event["metadata"][0]["name"] for event in events))
    return [names[int(n) - 1] for n in CHIP.findall(content) if 0 < int(n) <= len(names)]


def test_every_number_is_a_chip_and_opens_its_source(
    openai_client: openai.OpenAI, model: chat_server.Site, library: Api
):
    # Three spans, two of them of one section; the last sentence cites the first span again.
    model.reply_with(reply(*TWO, "Its keepers lived inside", TWO[0]))
    stream = openai_client.chat.completions.create(
        model="ragsite-chat", messages=ASK, stream=True, extra_body={"k": 2}
    )
    content, chunks = text_and_chunks(stream)
    shapes = [chunk.to_dict() for chunk in chunks]
    events = list(source_events(shapes))
    addresses, chips = listed_sources(events), names_of_chips(content, events)
    assert len(addresses) >= 2
    assert all(address.startswith("http://") for address in addresses)
    entries = [
        entry["url_citation"]
        for shape in shapes
        for entry in shape["choices"][0]["delta"].get("annotations", [])
    ]
    assert len(chips) == len(CHIP.findall(content)) == len(entries) >= 3
    for place, chip in zip(entries, chips, strict=True):
        number = int(content[place["start_index"] + 1 : place["end_index"] - 1])
        assert addresses[number - 1] == place["url"]  # of the dialog behind the chip
        assert chip == place["title"]
        check_place(place, library)


TABLE = """# Visiting

| Guest | Ticket price |
| --- | --- |
| Adult | 9 euros |
| Child | 4 euros |
"""


def test_the_numbers_of_a_tables_rows_stand_inside_it(
    openai_client: openai.OpenAI, library: Api, work: Callable[[], int]
):
    """What stands behind a row's last bar is left out by readers of Markdown."""
    library.upload(("visiting.md", TABLE))
    assert work() == 1
    asked: list[Any] = [{"role": "user", "content": "What is the ticket price of each guest?"}]
    stream = openai_client.chat.completions.create(model="ragsite", messages=asked, stream=True)
    content, chunks = text_and_chunks(stream)
    whole = openai_client.chat.completions.create(model="ragsite", messages=asked)
    assert whole.choices[0].message.content == content
    shown = MarkdownIt().enable("table").render(content)
    assert re.findall(r"<td>(.*?)</td>", shown) == ["Adult", "9 euros [1]", "Child", "4 euros [2]"]
    places = [event["url_citation"] for event in whole.choices[0].message.to_dict()["annotations"]]
    for number, (place, row) in enumerate(
        zip(places, ("Adult | 9 euros", "Child | 4 euros"), strict=True), start=1
    ):
        assert content[place["start_index"] : place["end_index"]] == f"[{number}]"
        claim = place["answer_span"]
        assert content[claim["start"] : claim["end"]] == row
        check_place(place, library)
    assert len(list(source_events([chunk.to_dict() for chunk in chunks]))) == len(places)


def test_what_it_sends_is_understood(site: Site, library: Api):
    """Its check of a connection, a first message, and a second one with the first answer."""
    headers = {"Authorization": f"Bearer {library.key}", "Content-Type": "application/json"}
    with httpx2.Client(base_url=f"{site.url}/v1", headers=headers, timeout=60) as http:
        models = http.get("/models").json()
        assert "ragsite" in [model["id"] for model in models["data"]]
        body: dict[str, Any] = {
            "stream": True,
            "model": "ragsite",
            "messages": [{"role": "system", "content": "Be kind."}, *ASK],
            "stream_options": {"include_usage": True},
        }
        first = http.post("/chat/completions", json=body)
        assert first.status_code == 200, first.text
        assert first.headers["content-type"].startswith("text/event-stream")  # it looks for this
        body["messages"] += [
            {"role": "assistant", "content": "The tower stands forty metres above the rock. [1]"},
            {"role": "user", "content": "How often did the lamp turn?"},
        ]
        second = http.post("/chat/completions", json=body)
        assert second.status_code == 200, second.text
        assert second.text.rstrip().endswith("data: [DONE]")
