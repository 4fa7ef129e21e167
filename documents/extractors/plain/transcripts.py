"""WebVTT and SubRip: join cues into paragraphs, each with its start and end time."""

import html
import re
from collections.abc import Iterator
from typing import NamedTuple

from documents.errors import NoText, ParseError
from documents.extractors.base import Extractor
from documents.extractors.cleaning import read_text
from documents.extractors.writer import TextWriter
from documents.passages import Extracted

MAX_PAUSE_SECONDS = 2.0
BLINK = 0.1
PARAGRAPH_CHARACTERS = 500
CLOCK = r"(?:(\d{1,4}):)?(\d{1,2}):(\d{1,2})[.,](\d{1,3})"
TIMING = re.compile(rf"\s*{CLOCK}\s*-->\s*{CLOCK}(?:\s.*)?")
VOICE = re.compile(r"<v(?:\.[^\s<>]*)?\s+([^<>]{1,100})>")
TAG = re.compile(r"</?[A-Za-z0-9][^<>]{0,200}>|\{\\[^{}]{0,200}\}")
# "ANNA:" or "Dr Anna Lee:" at the start of a cue; ">>" marks a new speaker in live captions.
NAME = re.compile(r"(?:>>\s*|-\s*)?([A-Z][\w.'’-]*(?: [A-Z][\w.'’-]*){0,3}):\s+(?=\S)")
SIDE_NOTES = ("NOTE", "STYLE", "REGION", "WEBVTT")


class Cue(NamedTuple):
    start: float  # seconds
    end: float
    speaker: str
    text: str
    voice: str = ""  # the speaker's name as a prefix, if only a tag has it


class TranscriptExtractor(Extractor):
    def __init__(
        self, max_pause: float = MAX_PAUSE_SECONDS, characters: int = PARAGRAPH_CHARACTERS
    ) -> None:
        self.max_pause = max_pause
        self.characters = characters

    def extract(self, data: bytes, *, name: str = "") -> Extracted:
        source, warnings = read_text(data, declared=self.declared)
        cues, malformed = read_cues(source)
        if not cues:
            if malformed or not source.startswith("WEBVTT"):
                raise ParseError("The transcript has no cue with a readable time code.")
            raise NoText("The transcript has no cues with text.")
        writer = TextWriter()
        for group in self._paragraphs(cues):
            spoken = " ".join(cue.text for cue in group)
            time = [group[0].start, max(cue.end for cue in group)]
            writer.add("text", group[0].voice + spoken, attributes={"time": time})
        if malformed:
            warnings = (*warnings, f"{malformed} malformed cues were left out.")
        return Extracted(text=writer.text, blocks=tuple(writer.blocks), warnings=warnings)

    def _paragraphs(self, cues: list[Cue]) -> Iterator[list[Cue]]:
        group: list[Cue] = []
        length = 0
        for cue in cues:
            if group and (
                cue.speaker != group[-1].speaker
                or cue.text.startswith(">>")
                or cue.start - group[-1].end > self.max_pause
                or length + len(cue.text) > self.characters
            ):
                yield group
                group, length = [], 0
            group.append(cue)
            length += len(cue.text) + 1
        yield group


def read_cues(source: str) -> tuple[list[Cue], int]:
    """Return the cues with text, and the number of malformed ones."""
    cues: list[Cue] = []
    malformed = 0
    speaker = ""
    last_line = ""
    for lines in _cue_lines(source):
        timing = next((at for at, line in enumerate(lines[:2]) if "-->" in line), None)
        times = _times(lines[timing]) if timing is not None else None
        if timing is None or times is None:
            malformed += not lines[0].lstrip("\ufeff").startswith(SIDE_NOTES)
            continue
        spoken = [line for line in map(_plain, lines[timing + 1 :]) if line]
        # Rolling captions repeat the previous line, above the new one or for a moment.
        if spoken and spoken[0] == last_line and (len(spoken) > 1 or times[1] - times[0] < BLINK):
            del spoken[0]
        if spoken:
            last_line = spoken[-1]
            cue = _cue(times, "\n".join(lines[timing + 1 :]), " ".join(spoken), speaker)
            speaker = "" if cue.voice else cue.speaker
            cues.append(cue)
    return cues, malformed


def _cue_lines(source: str) -> Iterator[list[str]]:
    """Yield groups of lines between blank lines; a time code always starts a new group."""
    lines: list[str] = []
    for line in source.split("\n"):
        if not line.strip():
            if lines:
                yield lines
            lines = []
        elif "-->" in line and any("-->" in before for before in lines):
            number = lines.pop() if lines[-1].strip().isdecimal() else ""
            yield lines
            lines = [number, line] if number else [line]
        else:
            lines.append(line)
    if lines:
        yield lines


def _times(line: str) -> tuple[float, float] | None:
    found = TIMING.fullmatch(line)
    if not found:
        return None
    start, end = _seconds(found.groups()[:4]), _seconds(found.groups()[4:])
    return (start, end) if start <= end else None


def _seconds(clock: tuple[str | None, ...]) -> float:
    hours, minutes, seconds, fraction = (part or "0" for part in clock)
    whole = int(hours) * 3600 + int(minutes) * 60 + int(seconds)
    return round(whole + int(fraction.ljust(3, "0")) / 1000, 3)


def _plain(line: str) -> str:
    return " ".join(html.unescape(TAG.sub("", line)).split())


def _cue(times: tuple[float, float], raw: str, spoken: str, before: str) -> Cue:
    """Return the speaker: from a tag, from a name in the text, otherwise the previous speaker."""
    voices = VOICE.findall(raw)
    if len(voices) > 1:  # insert each name before its words
        return Cue(*times, "", _plain(VOICE.sub(lambda voice: f" {voice[1]}: ", raw)))
    if voices:
        name = " ".join(html.unescape(voices[0]).split())
        return Cue(*times, name, spoken, voice=f"{name}: ")
    if named := NAME.match(spoken):
        return Cue(*times, named[1], spoken)
    return Cue(*times, "" if spoken.startswith((">>", "- ")) else before, spoken)
