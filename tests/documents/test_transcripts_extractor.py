"""WebVTT and SubRip: cues become paragraphs with their times."""

import pytest

from documents.errors import EmptyFile, NoText, ParseError
from documents.extractors.plain.transcripts import TranscriptExtractor
from tests.documents.test_html_extractor import assert_blocks_are_exact


def extract(source, **options):
    extracted = TranscriptExtractor(**options).extract(source.encode())
    assert_blocks_are_exact(extracted)
    return extracted


def shown(extracted):
    return [
        (extracted.text[block.start : block.end], block.attributes["time"])
        for block in extracted.blocks
    ]


def test_voices_part_paragraphs_and_tags_are_removed():
    source = (
        "WEBVTT - a title\nKind: captions\n\nNOTE a remark\n\nSTYLE\n::cue {}\n\n"
        "1\n00:01.000 --> 00:02.500 align:start\n<v Ann><i>Hello</i> &amp; welcome\n\n"
        "00:02.600 --> 00:04.000\n<v Ann>to the show.\n\n"
        "01:00:04.000 --> 01:00:05.000\n<v.loud Bob Lee>Thanks.</v>\n"
    )
    assert shown(extract(source)) == [
        ("Ann: Hello & welcome to the show.", [1.0, 4.0]),
        ("Bob Lee: Thanks.", [3604.0, 3605.0]),
    ]


def test_pauses_part_paragraphs_in_subrip():
    source = (
        "1\r\n00:00:01,000 --> 00:00:02,000\r\n{\\an8}One\r\ntwo\r\n\r\n"
        "2\r\n00:00:03,000 --> 00:00:04,000\r\nthree\r\n\r\n"
        "3\r\n00:00:07,000 --> 00:00:08,000\r\nfour\r\n"
    )
    assert shown(extract(source)) == [("One two three", [1.0, 4.0]), ("four", [7.0, 8.0])]


def test_names_in_the_text_part_paragraphs_and_stay():
    source = (
        "WEBVTT\n\n00:01.000 --> 00:02.000\nANNA: Hi.\n\n00:02.000 --> 00:03.000\nmore\n\n"
        "00:03.000 --> 00:04.000\nBEN: Yes.\n"
    )
    assert [text for text, _ in shown(extract(source))] == ["ANNA: Hi. more", "BEN: Yes."]


def test_long_speech_is_parted():
    cues = "".join(f"00:{n:02}.000 --> 00:{n + 1:02}.000\nsome more words\n\n" for n in range(50))
    texts = [text for text, _ in shown(extract(f"WEBVTT\n\n{cues}", characters=100))]
    assert len(texts) > 5
    assert max(map(len, texts)) <= 100


def test_rolling_captions_are_not_repeated():
    source = (
        "WEBVTT\n\n00:01.000 --> 00:02.000\nfirst line\n\n"
        "00:02.000 --> 00:03.000\nfirst line\nsecond line\n"
    )
    assert extract(source).text == "first line second line"


def test_malformed_cues_are_left_out_with_a_warning():
    source = "WEBVTT\n\n00:xx --> 00:02.000\nbad\n\n00:05.000 --> 00:06.000\ngood\n"
    extracted = extract(source)
    assert extracted.text == "good"
    assert "1 malformed" in extracted.warnings[0]


def test_two_voices_in_a_cue_keep_their_words():
    source = "WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ann>Yes?\n<v Bob>No.\n"
    assert extract(source).text == "Ann: Yes? Bob: No."


@pytest.mark.parametrize(
    ("source", "error"),
    [("", EmptyFile), (" ", NoText), ("WEBVTT\n\n", NoText), ("just words\n", ParseError)],
)
def test_what_cannot_be_read(source, error):
    with pytest.raises(error):
        extract(source)
