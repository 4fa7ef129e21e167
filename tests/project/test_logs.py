"""Log lines that no caller can forge: one event is one line, whatever a request holds."""

import json
import logging
import sys

import pytest
from django.test import Client, RequestFactory

from ragsite.platform.logs import LinkFilter, TextFormatter, json_formatter

FORGED = "12:00:00 INFO    request.done method=DELETE path=/admin/ status=200"
BREAKS = ["\n", "\r", "\r\n", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"]
COMMANDS = ["\x1b[2K", "\x1b]0;title\x07", "\x9b1A", "\x08", "\x7f", "\u202e", "\u2066", "\udc80"]


def test_links_that_work_do_not_get_into_the_log():
    for path, shown in (("/s/0a1b_secret/answer", "/s/…"), ("/d/token", "/d/…"), ("/x", "/x")):
        request = RequestFactory().get(path)
        made = logging.makeLogRecord(
            {"msg": "%s: %s", "args": ("Service Unavailable", path), "request": request}
        )
        assert LinkFilter().filter(made)
        assert made.getMessage() == f"Service Unavailable: {shown}"
        assert "secret" not in str(vars(made))


def record(message: str = "request.done", **fields: object) -> logging.LogRecord:
    made = logging.makeLogRecord({"msg": message, "levelno": logging.INFO, "levelname": "INFO"})
    vars(made).update(fields)
    return made


@pytest.mark.parametrize("evil", [*BREAKS, *COMMANDS])
def test_a_text_line_shows_unprintable_characters_and_does_not_obey_them(evil: str):
    for line in (
        TextFormatter().format(record(path=f"/x{evil}{FORGED}")),
        TextFormatter().format(record(**{f"key{evil}": "value"})),
        TextFormatter().format(record(f"Not Found: /x{evil}{FORGED}")),
    ):
        assert line.isprintable(), repr(line)
        assert "\\" in line


def test_a_value_cannot_pass_for_another_field():
    line = TextFormatter().format(record(path='/x status=200 "', status=404, note=""))
    assert 'path="/x status=200 \\"" status=404 note=""' in line


def test_ordinary_text_stays_as_it_is():
    line = TextFormatter().format(record(path="/tmp/Größe/日本", ms=1.5))
    assert line.endswith("INFO    request.done path=/tmp/Größe/日本 ms=1.5")


@pytest.mark.parametrize("evil", ["\n", "\r", "\u2028"])
def test_a_tracebacks_lines_are_indented_so_that_none_looks_like_an_event(evil: str):
    try:
        raise ValueError(f"bad name{evil}{FORGED}")
    except ValueError:
        entry = record("request.failed", exc_info=sys.exc_info())
    first, *rest = TextFormatter().format(entry).splitlines()
    assert first.endswith("request.failed")
    assert all(line.startswith("    ") for line in rest)
    assert any("ValueError: bad name" in line for line in rest)


@pytest.mark.parametrize("evil", [*BREAKS, *COMMANDS])
def test_a_json_line_is_one_line_too(evil: str):
    line = json_formatter().format(record(path=f"/x{evil}{FORGED}"))
    assert len(line.splitlines()) == 1
    assert line.isprintable()
    assert json.loads(line)["path"] == f"/x{evil}{FORGED}"


@pytest.mark.usefixtures("db")
def test_a_path_with_line_breaks_is_one_line_in_the_log(
    client: Client, caplog: pytest.LogCaptureFixture
):
    with caplog.at_level(logging.INFO):
        client.get(f"/api/v1/x%0A{FORGED.replace(' ', '%20')}%E2%80%A8%1B[2K")
    assert caplog.records
    for entry in caplog.records:
        assert TextFormatter().format(entry).isprintable()
