"""Measure whether the answer is in the context, compared with LangChain and LlamaIndex.

    make bench-answers DATA=FOLDER      (docs/ and questions.jsonl; see data/quoting.py)

Every question goes through POST /query, as from a client. The others read the same files with the
same model; their passages, in order of rank, are cut at the same number of tokens.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evaluation.benchmarks.data.quoting import (
    Contexts,
    QuotedQuestion,
    cut_to_budget,
    header_of_rows,
    load_questions,
    misses,
    report,
    table_rows,
)
from evaluation.benchmarks.service.client import Service, say
from evaluation.benchmarks.service.uploads import arguments_for, open_with, set_up

OURS = "Ragsite"
PEERS = ("LangChain", "LlamaIndex")
SETTINGS: dict[str, dict[str, int]] = {
    "product defaults, k=5": {"k": 5},
    "k=10, token_budget 1000": {"k": 10, "token_budget": 1000},
    "k=10, token_budget 2000": {"k": 10, "token_budget": 2000},
}
SCRIPT = Path(__file__).parents[1] / "peers" / "passages.py"
VERSIONS = Path(__file__).parents[3] / "requirements" / "peers.txt"
Passages = Mapping[str, Sequence[str]]  # by question, best first


def ask_ours(
    service: Service, questions: Sequence[QuotedQuestion], options: Mapping[str, Any], model: Any
) -> Contexts:
    texts = {}
    for question in questions:
        answer = service.post("query", {"query": question.text, **options})
        if answer["diagnostics"]["fallbacks"]:
            raise SystemExit(f"{question.id}: {answer['diagnostics']['fallbacks']}")
        texts[question.id] = answer["context"]["text"]
    counts = model.count_tokens(list(texts.values()))
    return Contexts(OURS, texts, dict(zip(texts, counts, strict=True)))


def ask_peer(name: str, folder: Path, python: Path, model: Path) -> tuple[Passages, str]:
    """Return the peer's passages and version. Kept between runs, like vectors, because the same
    files, questions and versions give the same passages."""
    kept = _kept(name, folder)
    if not kept.exists():
        answer = _run_peer(name, folder, python, model)
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(answer))
    answer = json.loads(kept.read_text())
    return answer["passages"], answer["version"]


def _kept(name: str, folder: Path) -> Path:
    files = sorted(path for path in (folder / "docs").iterdir() if path.is_file())
    read = [folder / "questions.jsonl", *files, SCRIPT, VERSIONS]
    digest = hashlib.sha256(name.encode())
    for path in read:
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return Path(tempfile.gettempdir()) / "ragsite-benchmarks" / f"{digest.hexdigest()[:16]}.json"


def _run_peer(name: str, folder: Path, python: Path, model: Path) -> Any:
    quiet = {
        "TOKENIZERS_PARALLELISM": "false",
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "PYTHONWARNINGS": "ignore",
        "TQDM_DISABLE": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    }
    done = subprocess.run(  # noqa: S603
        [str(python), str(SCRIPT), name, str(folder.resolve()), str(model)],
        env={**os.environ, **quiet},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{name} ended with {done.returncode}.")
    return json.loads(done.stdout.splitlines()[-1])


def within(name: str, passages: Passages, budget: int | None, model: Any) -> Contexts:
    """Return a peer's contexts, cut at the budget; without a budget, its five best passages."""
    tokenizer = model._tokenizer

    def token_ends(text: str) -> list[int]:
        return [end for _, end in tokenizer.encode(text, add_special_tokens=False).offsets]

    texts, tokens = {}, {}
    for question, found in passages.items():
        some = found if budget else found[:5]
        cut = cut_to_budget(some, budget or sys.maxsize, token_ends=token_ends)
        texts[question], tokens[question] = cut
    return Contexts(name, texts, tokens)


def header_lines(
    contexts: Contexts, headers: Mapping[str, set[str]], *, listed: bool
) -> Iterator[str]:
    rows = [row for text in contexts.texts.values() for row in table_rows(text, headers)]
    bare = sorted({row for row, has_header in rows if not has_header})
    with_header = sum(has_header for _, has_header in rows)
    share = f" ({with_header / len(rows):.1%})" if rows else ""
    yield f"Table rows in our contexts with their header: {with_header} of {len(rows)}{share}"
    yield from (f"- without: {row[:160]}" for row in bare if listed)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = arguments_for((__doc__ or "").splitlines()[0])
    parser.add_argument("--python", type=Path, help="that has the peers installed; else ours alone")
    parser.add_argument(
        "--misses", action="store_true", help="List the questions that are not answered."
    )
    options = parser.parse_args(arguments)
    questions = load_questions(options.data / "questions.jsonl")
    paths = sorted(path for path in (options.data / "docs").iterdir() if path.is_file())
    model = set_up(options.home)
    service = open_with("answers", paths)
    ours = {name: ask_ours(service, questions, body, model) for name, body in SETTINGS.items()}
    peers: dict[str, Passages] = {}
    for name in PEERS if options.python else ():
        peers[name], version = ask_peer(name, options.data, options.python, model.files.directory)
        say(version)
    budgets = []
    for name, contexts in ours.items():
        budget = SETTINGS[name].get("token_budget") or round(contexts.mean_tokens())
        others = [within(peer, found, budget, model) for peer, found in peers.items()]
        budgets.append((f"{name} (others cut at {budget} tokens)", [contexts, *others]))
    if peers:
        whole = [within(f"{peer}, top 5", found, None, model) for peer, found in peers.items()]
        budgets.append(
            (
                "Ours at 2,000 tokens, the others' five best passages whole",
                [list(ours.values())[-1], *whole],
            )
        )
    say(f"\n{len(questions)} questions, {len(paths)} documents")
    for line in report(questions, budgets):
        say(line)
    headers = header_of_rows(path.read_text(encoding="utf-8", errors="replace") for path in paths)
    for name, contexts in ours.items():
        say(f"\n{name}:")
        for line in header_lines(contexts, headers, listed=options.misses):
            say(line)
        for line in misses(questions, contexts) if options.misses else ():
            say(line)


if __name__ == "__main__":
    main()
