"""Read and write golden sets as JSON lines, CSV and BEIR folders."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evaluation.errors import BadGoldenSet

CSV_COLUMNS = (
    "id",
    "query",
    "source_uri",
    "grade",
    "quote",
    "start",
    "end",
    "hard_negative",
    "part",
    "tags",
    "notes",
    "filters",
)
_TRUE = {"1", "true", "yes", "x"}


@dataclass(frozen=True, slots=True)
class GoldenAnswer:
    source_uri: str
    grade: int = 1
    quote: str = ""
    start: int | None = None
    end: int | None = None
    hard_negative: bool = False
    part: int = 0
    by_name: bool = False  # source_uri may be just the file name


@dataclass(slots=True)
class GoldenQuestion:
    text: str
    external_id: str = ""
    filters: dict[str, Any] = field(default_factory=dict)
    tags: list[str] = field(default_factory=list)
    notes: str = ""
    answers: list[GoldenAnswer] = field(default_factory=list)


# -- JSON lines: one query per line, with its judgements ------------------------------


def read_jsonl(lines: Iterable[str]) -> list[GoldenQuestion]:
    return [_question(row, number) for number, row in _json_rows(lines)]


def _question(row: Any, number: int) -> GoldenQuestion:
    text = row.get("query", row.get("question")) if isinstance(row, dict) else None
    if not isinstance(text, str):
        raise BadGoldenSet(f'Line {number}: expected an object with a "query".')
    answers = row.get("judgements", [])
    if not isinstance(answers, list):
        raise BadGoldenSet(f'Line {number}: "judgements" must be a list.')
    return GoldenQuestion(
        text=text,
        external_id=str(row.get("id") or ""),
        filters=_of_kind(row, "filters", dict, number),
        tags=[str(tag) for tag in _of_kind(row, "tags", list, number) or [row.get("type")] if tag],
        notes=str(row.get("notes") or row.get("answer") or ""),
        answers=[*(_answer(answer, number) for answer in answers), *_quoted(row, number)],
    )


def _quoted(row: Mapping[str, Any], number: int) -> Iterator[GoldenAnswer]:
    """Read a question with quotations: one "quote", with equally good ones in "also", or "quotes",
    which are all needed. A list among these contains alternatives."""
    document = next((row[name] for name in ("doc", "document", "source_uri") if row.get(name)), "")
    also = _texts(_of_kind(row, "also", list, number), "also", number)
    needed = _of_kind(row, "quotes", list, number)
    if not document or not (row.get("quote") or also or needed):
        return
    if needed and (row.get("quote") or also):
        raise BadGoldenSet(
            f'Line {number}: beside "quotes", "quote" and "also" are not clear. Write alternatives '
            'as a list within "quotes".'
        )
    single = _texts([row["quote"]], "quote", number) if row.get("quote") else []
    parts = [part if isinstance(part, list) else [part] for part in needed]
    for part, texts in enumerate(parts or [[*single, *also]], start=1 if needed else 0):
        for text in _texts(texts, "quotes", number):
            grade = _whole(row.get("grade"), number, default=1)
            yield GoldenAnswer(str(document), grade, text, part=part, by_name=True)


def _texts(values: list[Any], name: str, number: int) -> list[str]:
    if not all(isinstance(value, str) and value.strip() for value in values):
        raise BadGoldenSet(f'Line {number}: "{name}" must hold texts.')
    return values


def _of_kind(row: Mapping[str, Any], name: str, kind: type, number: int) -> Any:
    value = row.get(name) or kind()
    if not isinstance(value, kind):
        raise BadGoldenSet(f'Line {number}: "{name}" is not as expected.')
    return value


def _answer(row: Any, number: int) -> GoldenAnswer:
    if not isinstance(row, dict) or not row.get("source_uri"):
        raise BadGoldenSet(f'Line {number}: a judgement needs a "source_uri".')
    negative = str(row.get("hard_negative") or "").lower() in _TRUE
    return GoldenAnswer(
        source_uri=str(row["source_uri"]),
        grade=_whole(row.get("grade"), number, default=0 if negative else 1),
        quote=str(row.get("quote") or ""),
        start=_whole(row["start"], number) if row.get("start") not in (None, "") else None,
        end=_whole(row["end"], number) if row.get("end") not in (None, "") else None,
        hard_negative=negative,
        part=_whole(row.get("part"), number),
    )


def _whole(value: Any, number: int, *, default: int = 0) -> int:
    if value in (None, ""):
        return default
    try:
        whole = int(value)
    except (TypeError, ValueError):
        raise BadGoldenSet(f"Line {number}: {value!r} is not a whole number.") from None
    if whole < 0:
        raise BadGoldenSet(f"Line {number}: {whole} is below 0.")
    return whole


def write_jsonl(questions: Iterable[GoldenQuestion]) -> Iterator[str]:
    for question in questions:
        row: dict[str, Any] = {"id": question.external_id, "query": question.text}
        row |= {"filters": question.filters, "tags": question.tags, "notes": question.notes}
        row = {name: value for name, value in row.items() if value}
        row["judgements"] = [_answer_row(answer) for answer in question.answers]
        yield json.dumps(row, ensure_ascii=False) + "\n"


def _answer_row(answer: GoldenAnswer) -> dict[str, Any]:
    row: dict[str, Any] = {"source_uri": answer.source_uri, "grade": answer.grade}
    if answer.quote:
        row |= {"start": answer.start, "end": answer.end, "quote": answer.quote}
    row |= {"part": answer.part} if answer.part else {}
    return row | ({"hard_negative": True} if answer.hard_negative else {})


# -- CSV: one judgement per row; rows of one query share its text -------------------------


def read_csv(text: str) -> list[GoldenQuestion]:
    rows = csv.DictReader(io.StringIO(text, newline=""), restkey="", strict=True)
    columns = set(rows.fieldnames or ())
    if "query" not in columns or "source_uri" not in columns:
        raise BadGoldenSet(f"The first row must name the columns: {', '.join(CSV_COLUMNS)}.")
    questions: dict[str, GoldenQuestion] = {}
    try:
        for row in rows:
            _add_row(questions, row, rows.line_num)
    except csv.Error as error:
        raise BadGoldenSet(f"Line {rows.line_num}: {error}.") from None
    return list(questions.values())


def _add_row(questions: dict[str, GoldenQuestion], row: dict[str, Any], number: int) -> None:
    if not row.get("query"):
        raise BadGoldenSet(f"Line {number}: the query is blank.")
    name = row.get("id") or row["query"]
    if name not in questions:
        fields: dict[str, Any] = {key: row.get(key) for key in ("id", "query", "notes")}
        fields["tags"] = [tag.strip() for tag in (row.get("tags") or "").split(",") if tag.strip()]
        fields["filters"] = _json_cell(row.get("filters"), number)
        fields["judgements"] = []
        questions[name] = _question(fields, number)
    if row.get("source_uri"):
        questions[name].answers.append(_answer(row, number))


def _json_cell(cell: str | None, number: int) -> Any:
    try:
        return json.loads(cell) if cell else {}
    except ValueError:
        raise BadGoldenSet(f"Line {number}: the filters are not JSON.") from None


def write_csv(questions: Iterable[GoldenQuestion]) -> str:
    out = io.StringIO(newline="")
    rows = csv.DictWriter(out, CSV_COLUMNS, lineterminator="\n")
    rows.writeheader()
    for question in questions:
        about = {
            "id": question.external_id,
            "query": question.text,
            "tags": ",".join(question.tags),
            "notes": question.notes,
            "filters": json.dumps(question.filters) if question.filters else "",
        }
        for answer in question.answers:
            rows.writerow(
                about
                | {
                    "source_uri": answer.source_uri,
                    "grade": answer.grade,
                    "quote": answer.quote,
                    "start": answer.start,
                    "end": answer.end,
                    "hard_negative": "true" if answer.hard_negative else "",
                    "part": answer.part or "",
                }
            )
        if not question.answers:
            rows.writerow(about)
    return out.getvalue()


# -- BEIR: corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv --------------------------------------


@dataclass(frozen=True, slots=True)
class Article:
    name: str
    title: str
    text: str

    @property
    def whole(self) -> str:
        return f"{self.title} {self.text}".strip()


def read_beir(folder: Path, *, split: str = "") -> tuple[list[GoldenQuestion], str]:
    """Return the judged queries of a split, and its name: test, if there are several."""
    path = _qrels(folder, split)
    judged: dict[str, list[GoldenAnswer]] = {}
    for number, line in enumerate(_lines(path), start=1):
        cells = line.rstrip("\n").split("\t")
        if number == 1 and not cells[-1].strip().lstrip("-").isdigit():
            continue  # the header
        if len(cells) == 4:  # TREC's format: query, 0, document, grade
            cells = [cells[0], *cells[2:]]
        if len(cells) != 3:
            raise BadGoldenSet(f"{path.name}, line {number}: expected query, document and grade.")
        query, document, grade = (cell.strip() for cell in cells)
        # TREC uses grades below 0 for worse than not relevant.
        worth = max(0, _whole(grade.lstrip("-"), number) * (-1 if grade.startswith("-") else 1))
        judged.setdefault(query, []).append(GoldenAnswer(document, worth))
    questions = []
    for number, row in _json_rows(_lines(folder / "queries.jsonl")):
        if not isinstance(row, dict) or "_id" not in row or not row.get("text"):
            raise BadGoldenSet(f'queries.jsonl, line {number}: expected "_id" and "text".')
        if answers := judged.get(str(row["_id"])):
            questions.append(
                GoldenQuestion(str(row["text"]), external_id=str(row["_id"]), answers=answers)
            )
    return questions, path.stem


def read_corpus(folder: Path) -> Iterator[Article]:
    for number, row in _json_rows(_lines(folder / "corpus.jsonl")):
        if not isinstance(row, dict) or "_id" not in row:
            raise BadGoldenSet(f'corpus.jsonl, line {number}: expected "_id" and "text".')
        yield Article(str(row["_id"]), str(row.get("title") or ""), str(row.get("text") or ""))


def _qrels(folder: Path, split: str) -> Path:
    files = sorted((folder / "qrels").glob("*.tsv"))
    if not files:
        raise BadGoldenSet(f"{folder} is not a BEIR folder: it contains no qrels/*.tsv.")
    names = {path.stem: path for path in files}
    if split:
        if split not in names:
            raise BadGoldenSet(f"There is no split {split!r}; there are: {', '.join(names)}.")
        return names[split]
    return names.get("test", files[0])


def _lines(path: Path) -> Iterator[str]:
    try:
        with path.open(encoding="utf-8-sig") as lines:
            yield from lines
    except FileNotFoundError:
        raise BadGoldenSet(f"There is no {path}.") from None
    except UnicodeDecodeError:
        raise BadGoldenSet(f"{path} is not UTF-8.") from None


def _json_rows(lines: Iterable[str]) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            yield number, json.loads(line)
        except (ValueError, RecursionError):
            raise BadGoldenSet(f"Line {number} is not JSON.") from None


def write_beir(
    folder: Path, questions: Iterable[GoldenQuestion], articles: Iterable[Article]
) -> None:
    """Merge judgements on spans into one per document with the best grade, as BEIR requires."""
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    with (folder / "corpus.jsonl").open("w") as corpus:
        for article in articles:
            row = {"_id": article.name, "title": article.title, "text": article.text}
            corpus.write(json.dumps(row, ensure_ascii=False) + "\n")
    with (
        (folder / "queries.jsonl").open("w") as queries,
        (folder / "qrels" / "test.tsv").open("w") as qrels,
    ):
        qrels.write("query-id\tcorpus-id\tscore\n")
        for number, question in enumerate(questions, start=1):
            name = question.external_id or f"q{number}"
            row = {"_id": name, "text": question.text}
            queries.write(json.dumps(row, ensure_ascii=False) + "\n")
            grades: dict[str, int] = {}
            for answer in question.answers:
                grades[answer.source_uri] = max(answer.grade, grades.get(answer.source_uri, 0))
            qrels.writelines(f"{name}\t{source}\t{grade}\n" for source, grade in grades.items())
