"""Replies of a model that means harm, or is merely bad: a seeded grammar over the evidence that
stands in its prompt."""

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

BLOCK = re.compile(
    r"<(data-\w+) document id=(\w+)>\nFrom: [^\n]*\n(?:[^\n]+\n)*\n(.*?)\n</\1>", re.DOTALL
)
SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")
NUMBER = re.compile(r"\d+")
QUOTES = [("“", "”"), ('"', '"'), ("„", "“"), ("«", "»"), ("「", "」"), ("‘", "’"), ("'", "'")]
CHAFF = [
    "\ue000",
    "\ue001",
    "\x00",
    "\x1b[31m",
    "\u202e",
    "\u200b",
    "\ufffd",
    "é́",
    "👩‍👩‍👧‍👦",
    "\r\n",
]


@dataclass(frozen=True)
class Shown:
    """A passage as the model sees it."""

    id: str
    text: str


def evidence_in(prompt: str) -> list[Shown]:
    return [Shown(ident, text) for _, ident, text in BLOCK.findall(prompt)]


class Grammar:
    """Makes the same replies for the same seed and evidence."""

    def __init__(self, chance: random.Random, evidence: Sequence[Shown]) -> None:
        self.chance = chance
        self.evidence = list(evidence) or [Shown("zz99", "Nothing was shown to me.")]

    def reply(self) -> str:
        kinds: list[tuple[Callable[[], str], int]] = [
            (self.sentences, 80),
            (self.flood, 3),
            (self.nonsense, 5),
            (lambda: "", 2),
            (lambda: " \n\t ", 1),
            (lambda: "NOT_ENOUGH_INFORMATION: the height of the moon", 3),
            (lambda: f"{self.sentences()} NOT_ENOUGH_INFORMATION", 2),
            (lambda: "NOT_ENOUGH" + self.sentences(), 2),
        ]
        makers, weights = zip(*kinds, strict=True)
        return str(self.chance.choices(makers, weights)[0]())

    def sentences(self) -> str:
        makers = [
            self.claim,
            self.changed_number,
            self.quote,
            self.altered_quote,
            self.stitched_quote,
            self.invented_quote,
            self.open_quote,
            self.quote_around_marker,
            self.code,
            self.several_ids,
        ]
        joints = [" ", "\n", "\n\n- ", " … "]
        parts = [self.chance.choice(makers)() for _ in range(self.chance.randint(1, 5))]
        return self.chance.choice(joints).join(parts)

    # -- sentences -------------------------------------------------------------------

    def claim(self) -> str:
        shown = self.shown()
        return f"{self.sentence(shown)} {self.marker(shown)}"

    def changed_number(self) -> str:
        shown = self.shown()
        changed = NUMBER.sub(lambda n: str(int(n[0]) + 7), self.sentence(shown))
        return f"{changed} {self.marker(shown)}"

    def quote(self) -> str:
        shown = self.shown()
        return f"It says {self.quoted(self.span(shown))} {self.marker(shown)}."

    def altered_quote(self) -> str:
        shown = self.shown()
        words = self.span(shown).split(" ")
        place = self.chance.randrange(len(words))
        acts = [
            lambda: words.pop(place),
            lambda: words.insert(place, "not"),
            lambda: words.__setitem__(place, words[place].swapcase()),
            lambda: words.__setitem__(place, NUMBER.sub("999", words[place]) + "x"),
            lambda: words.__setitem__(place, "…"),
        ]
        self.chance.choice(acts)()
        return f"It says {self.quoted(' '.join(words))} {self.marker(shown)}."

    def stitched_quote(self) -> str:
        one, other = self.shown(), self.shown()
        joint = self.chance.choice([" ", " … ", " and ", ""])
        return f"{self.quoted(self.span(one) + joint + self.span(other))} {self.marker(one)}"

    def invented_quote(self) -> str:
        words = [
            "the",
            "tower",
            "was",
            "sold",
            "to",
            "a",
            "company",
            "on",
            "the",
            "moon",
            "for",
            "nine",
            "crowns",
        ]
        self.chance.shuffle(words)
        return f"He wrote {self.quoted(' '.join(words))} {self.marker(self.shown())}."

    def open_quote(self) -> str:
        shown = self.shown()
        return f"{self.chance.choice(QUOTES)[0]}{self.span(shown)} {self.marker(shown)}"

    def quote_around_marker(self) -> str:
        shown = self.shown()
        span = self.span(shown)
        half = len(span) // 2
        return self.quoted(f"{span[:half]}{self.marker(shown)}{span[half:]}")

    def code(self) -> str:
        return f"`{self.marker(self.shown())}` ```\n{self.marker(self.shown())}\n```"

    def several_ids(self) -> str:
        ids = [self.shown().id for _ in range(3)] + [self.wrong_id()]
        self.chance.shuffle(ids)
        joint = self.chance.choice([", ", ",", ";", " ", "][cite:"])
        return f"{self.sentence(self.shown())} [cite:{joint.join(ids)}]"

    # -- their parts -----------------------------------------------------------------

    def shown(self) -> Shown:
        return self.chance.choice(self.evidence)

    def sentence(self, shown: Shown) -> str:
        found = [s.strip() for s in SENTENCE.findall(shown.text) if s.strip()]
        return self.chance.choice(found or ["So it is."])

    def span(self, shown: Shown) -> str:
        words = shown.text.split(" ")
        start = self.chance.randrange(len(words))
        return " ".join(words[start : start + self.chance.randint(1, 12)]) or "nothing"

    def quoted(self, text: str) -> str:
        opening, closing = self.chance.choice(QUOTES)
        return f"{opening}{text}{closing}"

    def marker(self, shown: Shown) -> str:
        ident = shown.id if self.chance.random() < 0.6 else self.wrong_id()
        forms = [
            *["[cite:{}]"] * 12,
            "[cite: {} ]",
            "[Cite:{}]",
            "[CITE:{}]",
            "[[cite:{}]]",
            "【cite:{}】",
            "[cite:{}",
            "cite:{}]",
            "[cite:{}]]]",
            "[cite:{}#L3]",
            "[cite:[cite:{}]]",
            "[cite:\n{}]",
            "[ci\u200bte:{}]",
            "[cite:{}](https://example.com)",
            "[^{}]",
            "(cite: {})",
            "[cite:]{}",
            "[{}]",
            "\\[cite:{}\\]",
        ]
        return self.chance.choice(forms).format(ident)

    def wrong_id(self) -> str:
        real = self.chance.choice(self.evidence).id
        makers = [
            lambda: "".join(self.chance.choices("abcdefgh23456789", k=4)),
            lambda: real + "x",
            lambda: real[:-1],
            lambda: real[::-1] + "q",
            lambda: "ID",
            lambda: "1",
            lambda: "../../etc/passwd",
            lambda: "a" * 300,
            lambda: "<script>",
            lambda: "",
            lambda: "é",
        ]
        return self.chance.choice(makers)()

    def nonsense(self) -> str:
        letters = "abc ]['\"“”«[cite:{}.,0123456789\n"
        some = [*letters, *CHAFF, self.shown().id, f"[cite:{self.shown().id}]"]
        return "".join(self.chance.choices(some, k=self.chance.randint(1, 300)))

    def flood(self) -> str:
        unit = self.chance.choice(
            ["[cite:", "“", "word ", self.marker(self.shown()), self.quote(), "\n", "1 ", "[[[["]
        )
        return unit * self.chance.randint(200, 1500)
