"""Are the turns with the evidence found? Questions over long conversations.

    make bench-conversations DATA=FOLDER [ARGS="--around 0 4 --budget 4000 8000"]  (LoCoMo: *.json)

Each dialogue is remembered by POST /memories, and in the same run its sessions are documents,
asked by POST /query. A passage holds a turn if it holds all of its words, so larger passages hold
more: the tokens of the passages stand beside what they hold.
"""

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from evaluation.benchmarks.service import stage
from evaluation.benchmarks.service.client import Service, open_service, say
from evaluation.benchmarks.service.uploads import arguments_for, set_up

CUTOFFS = (5, 10)
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
EVERYTHING = 1_000_000  # tokens, so large that nothing is left out

Ask = Callable[[str], list[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Utterance:
    id: str
    session: str
    at: datetime
    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class EvidenceQuestion:
    text: str
    category: int
    evidence: tuple[Utterance, ...]


@dataclass(frozen=True, slots=True)
class Dialogue:
    name: str
    turns: list[Utterance]
    questions: list[EvidenceQuestion]


@dataclass(frozen=True, slots=True)
class EvidenceOutcome:
    dialogue: str
    category: int
    any: dict[int, bool]
    all: dict[int, bool]
    tokens: dict[int, int]


def load(path: Path) -> Dialogue:
    data = json.loads(path.read_text())
    turns = list(_turns(data))
    by_id = {turn.id: turn for turn in turns}
    questions = []
    for row in data["qa"]:
        # Some questions name several turns in one string, or pad the number: "D8:6; D9:17",
        # "D30:05".
        named = re.findall(r"D(\d+):(\d+)", " ".join(row["evidence"]))
        ids = dict.fromkeys(f"D{int(session)}:{int(turn)}" for session, turn in named)
        evidence = tuple(by_id[each] for each in ids if each in by_id)
        if row["category"] in CATEGORIES and evidence:
            questions.append(EvidenceQuestion(row["question"], row["category"], evidence))
    return Dialogue(path.stem, turns, questions)


def _turns(data: Mapping[str, Any]) -> Iterator[Utterance]:
    names = [name for name in data if re.fullmatch(r"session_\d+", name)]
    for name in sorted(names, key=lambda name: int(name[8:])):
        at = datetime.strptime(f"{data[f'{name}_date_time']} +0000", "%I:%M %p on %d %B, %Y %z")
        for row in data[name]:
            picture = f" [shares {row['blip_caption']}]" if row.get("blip_caption") else ""
            yield Utterance(row["dia_id"], name, at, row["speaker"], row["text"] + picture)


def remember(service: Service, dialogue: Dialogue) -> None:
    turns = [
        {
            "session": turn.session,
            "role": "user",
            "speaker": turn.speaker,
            "content": turn.text,
            "at": turn.at.isoformat(),
            "id": turn.id,
        }
        for turn in dialogue.turns
    ]
    for start in range(0, len(turns), 500):
        batch = turns[start : start + 500]
        service.post("memories", {"user": dialogue.name, "turns": batch})
    stage.work()


def take_in_sessions(service: Service, dialogue: Dialogue) -> None:
    """Ingest sessions as documents, as a client without POST /memories would do."""
    sessions: dict[str, list[Utterance]] = {}
    for turn in dialogue.turns:
        sessions.setdefault(turn.session, []).append(turn)
    documents = [
        {
            "content": "\n\n".join(f"{turn.speaker}: {turn.text}" for turn in turns),
            "title": f"Conversation on {turns[0].at:%A}, {turns[0].at.day} {turns[0].at:%B %Y}",
            "source_uri": f"{dialogue.name}/{name}",
            "media_type": "text/plain",
            "tags": [dialogue.name],
        }
        for name, turns in sessions.items()
    ]
    service.post("ingest", {"documents": documents, "on_duplicate": "keep"})
    stage.work()


def measured(
    dialogue: Dialogue, ask: Ask, count_tokens: Callable[[Sequence[str]], list[int]]
) -> Iterator[EvidenceOutcome]:
    for question in dialogue.questions:
        contents = [hit["content"] for hit in ask(question.text)]
        tokens = count_tokens(contents) if contents else []
        held = {
            k: [any(turn.text in text for text in contents[:k]) for turn in question.evidence]
            for k in CUTOFFS
        }
        yield EvidenceOutcome(
            dialogue.name,
            question.category,
            any={k: any(held[k]) for k in CUTOFFS},
            all={k: all(held[k]) for k in CUTOFFS},
            tokens={k: sum(tokens[:k]) for k in CUTOFFS},
        )


def asker(service: Service, path: str, fields: Mapping[str, Any]) -> Ask:
    def ask(question: str) -> list[dict[str, Any]]:
        body = {"query": question, "k": max(CUTOFFS), "token_budget": EVERYTHING, **fields}
        results: list[dict[str, Any]] = service.post(path, body)["results"]
        return results

    return ask


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def row(name: str, outcomes: Sequence[EvidenceOutcome], milliseconds: float) -> str:
    cells = []
    for k in CUTOFFS:
        cells += [f"{mean([o.any[k] for o in outcomes]):.3f}"]
        cells += [f"{mean([o.all[k] for o in outcomes]):.3f}"]
        cells += [
            f"{mean([o.all[k] for o in outcomes if o.category == category]):.3f}"
            for category in CATEGORIES
        ]
        cells += [f"{mean([o.tokens[k] for o in outcomes]):.0f}"]
    return f"| {name} | {' | '.join(cells)} | {milliseconds:.0f} |"


def header() -> str:
    columns = ["any", "all", *(f"all, {name}" for name in CATEGORIES.values()), "tokens"]
    names = [f"{column} @{k}" for k in CUTOFFS for column in columns]
    return f"| | {' | '.join(names)} | ms |\n|---|{'--:|' * (len(names) + 1)}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = arguments_for((__doc__ or "").splitlines()[0])
    parser.add_argument("--around", type=int, nargs="*", default=[0, 4, 8])
    parser.add_argument(
        "--budget",
        type=int,
        nargs="*",
        default=[4000, 8000],
        help="Token budgets to fill with turns.",
    )
    options = parser.parse_args(arguments)
    embedder = set_up(options.home)
    dialogues = [load(path) for path in sorted(options.data.glob("*.json"))]
    outcomes: dict[str, list[EvidenceOutcome]] = {}
    seconds: dict[str, float] = {}
    for dialogue in dialogues:
        service = open_service(f"conversation-{dialogue.name}")
        remember(service, dialogue)
        take_in_sessions(service, dialogue)
        count(service)
        asked: dict[str, tuple[str, dict[str, Any]]] = {
            "sessions as documents": ("query", {}),
            **{
                f"conversations, around {n}": ("memories/search", {"around": n})
                for n in options.around
            },
            **{
                f"conversations, {budget:,} tokens": ("memories/search", {"token_budget": budget})
                for budget in options.budget
            },
            "conversations, no limit": ("memories/search", {}),
        }
        for name, (path, fields) in asked.items():
            started = time.monotonic()
            found = measured(dialogue, asker(service, path, fields), embedder.count_tokens)
            outcomes.setdefault(name, []).extend(found)
            seconds[name] = seconds.get(name, 0.0) + time.monotonic() - started
    report(outcomes, seconds, dialogues)


def count(service: Service) -> None:
    from documents.ingestion import terms

    terms.count(service.namespace_id, service.profile)


def report(
    outcomes: Mapping[str, Sequence[EvidenceOutcome]],
    seconds: Mapping[str, float],
    dialogues: Sequence[Dialogue],
) -> None:
    total = sum(len(dialogue.questions) for dialogue in dialogues)
    say(f"\n{total} questions over {len(dialogues)} dialogues\n\n{header()}")
    for name, found in outcomes.items():
        say(row(name, found, 1000 * seconds[name] / max(1, len(found))))
    for dialogue in dialogues:
        say(f"\n### {dialogue.name}\n\n{header()}")
        for name, found in outcomes.items():
            own = [outcome for outcome in found if outcome.dialogue == dialogue.name]
            say(row(name, own, 1000 * seconds[name] / max(1, len(found))))


if __name__ == "__main__":
    main()
