"""What all operators' pages share: wording, small pieces of HTML, and the template library."""

from datetime import UTC, datetime, timedelta

import pytest
from django.template import Context, Template
from django.utils.safestring import SafeString

from ragsite.platform import wording
from ragsite.web import markup

NOW = datetime(2026, 11, 17, 9, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (1234, "1.2 kB"),
        (9_960, "10 kB"),
        (999_400, "999 kB"),
        (999_600, "1.0 MB"),
        (48_000_000, "48 MB"),
        (5_600_000_000_000, "5.6 TB"),
        (7_000_000_000_000_000, "7,000 TB"),
    ],
)
def test_sizes_are_decimal_and_short(count: int, shown: str):
    assert wording.file_size(count) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0 ms"),
        (0.1204, "120 ms"),
        (4.23, "4.2 s"),
        (59.4, "59 s"),
        (60, "1 min"),
        (185, "3 min 5 s"),
        (7_800, "2 h 10 min"),
        (86_400 * 3 + 3600 * 4, "3 days 4 h"),
    ],
)
def test_durations_are_short(seconds: float, shown: str):
    assert wording.duration(seconds) == shown


@pytest.mark.parametrize(
    ("ago", "shown"),
    [
        (timedelta(seconds=5), "just now"),
        (timedelta(seconds=-5), "just now"),
        (timedelta(seconds=50), "1 minute ago"),
        (timedelta(minutes=5), "5 minutes ago"),
        (timedelta(minutes=59), "1 hour ago"),
        (timedelta(hours=-2), "in 2 hours"),
        (timedelta(hours=23, minutes=50), "1 day ago"),
        (timedelta(days=3, hours=2), "3 days ago"),
        (timedelta(days=90), "19 Aug 2026"),
    ],
)
def test_moments_are_relative_while_they_are_near(ago: timedelta, shown: str):
    assert wording.relative_time(NOW - ago, NOW) == shown


def test_a_moment_shows_the_exact_time_on_hover():
    shown = markup.when(NOW - timedelta(minutes=5), NOW)
    assert shown == (
        '<time datetime="2026-11-17T09:00:00+00:00" title="17 Nov 2026, 09:00:00 UTC">'
        "5 minutes ago</time>"
    )
    assert markup.when(None) == "–"


def test_states_have_tones_and_unknown_ones_are_plain():
    assert markup.badge("failed") == '<span class="badge badge-bad">failed</span>'
    assert markup.badge("rolled_back") == '<span class="badge badge-quiet">rolled back</span>'
    assert markup.badge("ready", "Ready 3") == '<span class="badge badge-good">Ready 3</span>'
    assert markup.badge("<b>") == '<span class="badge badge-plain">&lt;b&gt;</span>'


def test_bars_have_numbers_and_no_inline_styles():
    bars = [markup.score_bar(0.5), markup.score_bar(7.0), markup.progress_bar(3, 1200)]
    assert "0.500" in bars[0]
    assert 'value="1.0"' in bars[1]
    assert "7.000" in bars[1]
    assert "3 of 1,200" in bars[2]
    assert not any("style" in bar for bar in bars)
    assert markup.score_bar(None) == "–"


def test_ids_are_short_and_whole_on_hover():
    shown = markup.short_id("0198c2a4-7a11-7000-8000-000000000001")
    assert 'title="0198c2a4-7a11-7000-8000-000000000001"' in shown
    assert ">0198c2a4<" in shown


def test_templates_use_the_same():
    template = Template(
        "{% load operator_kit %}{{ size|file_size }} {{ n|thousands }} {{ n|plural:'query' }} "
        "{{ state|badge }} {{ none|when }} {{ seconds|duration }} {% progress_bar 1 2 %}"
    )
    values = {"size": 1234, "n": 12345, "state": "<i>", "none": None, "seconds": 61}
    shown = template.render(Context(values))
    assert shown.startswith("1.2 kB 12,345 12,345 queries <span")
    assert "<i>" not in shown
    assert "– 1 min 1 s" in shown
    assert "1 of 2" in shown
    assert isinstance(shown, SafeString)
