"""Make the data of an earlier release: python -m tests.project.upgrades.making CHECKOUT TARGET

CHECKOUT holds that release's code. It is started, used through its API as its users would, stopped,
and what it leaves is kept in TARGET: the database, the originals, and what was to be seen.
"""

import gzip
import hashlib
import io
import subprocess
import sys
import tempfile
import time
import zipfile
from contextlib import suppress
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import httpx2
import orjson
import xlsxwriter
from docx import Document as WordFile

from ragsite.postgres import cluster
from ragsite.postgres.embedded import MAJOR, EmbeddedServer
from tests.documents.test_pdf_extractor import make_pdf

from ..service import Service, until

QUESTIONS = (
    "How hot does the kiln get?",
    "Who keeps the harbour's log?",
    "How many days of leave are there?",
    "What does a lamp cost?",
    "When is the ferry late?",
)
HARBOUR = "# Harbour\n\nThe harbour has twelve lights.\n\n# Log\n\nThe master keeps the log in {}."
KILN = "<html><title>Kiln</title><h1>Firing</h1><p>The kiln is heated to 1240 degrees.</p></html>"
PRICES = "lamp,price,stock\nAurora,120 euros,14\nBorealis,180 euros,3\n"
FERRY = "The ferry is late when the wind comes from the north.\n\nIt waits for ten minutes.\n"
KEPT = ("document_id", "chunk_id", "content", "span", "source_uri")


def files() -> dict[str, bytes]:
    """Return files of several formats by their names."""
    return {
        "harbour.md": HARBOUR.format("pencil").encode(),
        "kiln.html": KILN.encode(),
        "prices.csv": PRICES.encode(),
        "ferry.txt": FERRY.encode(),
        "shop.pdf": make_pdf([[(72, 700, 12, "The shop is in the old mill by the bridge.")]]),
        "leave.docx": _word(),
        "stock.xlsx": _workbook(),
        "greeting.eml": _mail(),
        "broken.pdf": b"%PDF-1.4\nthis is no PDF",
        "passing.md": b"# Passing\n\nThis document is deleted again.",
    }


def _word() -> bytes:
    document = WordFile()
    document.add_heading("Leave", 1)
    document.add_paragraph("Everybody has 27 days of paid leave in a year.")
    content = io.BytesIO()
    document.save(content)
    return content.getvalue()


def _workbook() -> bytes:
    file = io.BytesIO()
    with xlsxwriter.Workbook(file) as book:
        sheet = book.add_worksheet("Stock")
        for number, row in enumerate((("part", "pieces"), ("shade", 40), ("socket", 55))):
            sheet.write_row(number, 0, row)
    return file.getvalue()


def _mail() -> bytes:
    message = EmailMessage()
    message["From"], message["To"] = "ann@example.com", "bob@example.com"
    message["Subject"] = "Opening hours"
    message["Date"] = "Mon, 02 Nov 2026 09:00:00 +0000"
    message.set_content("The museum opens at ten and closes at six.")
    return message.as_bytes()


def use(service: Service) -> str:
    """Do what users do. Returns the key of a second namespace."""
    with service.client() as client:
        _ingest(client)
        _judge_and_measure(client)
    made = service.command("namespace", "create", "second")
    assert made.returncode == 0, made.stderr
    issued = service.command("api_key", "create", "--namespace", "second", "--scopes", "read,write")
    key = issued.stdout.strip().splitlines()[-1]
    with service.client(key) as client:
        _send(client, "secret.md", b"# Secret\n\nThe treasure lies under the third oak.")
    _build_another_profile(service)
    return key


def _ingest(client: httpx2.Client) -> None:
    for name, content in files().items():
        more = {"rows_as_facts": "true"} if name.endswith(".csv") else {}
        _send(client, name, content, tags="first,kept", metadata='{"year": 2026}', **more)
    _send(client, "harbour.md", HARBOUR.format("ink").encode(), tags="ports")
    listed = client.get("documents").json()["results"]
    (passing,) = [one["id"] for one in listed if one["source_uri"].endswith("passing.md")]
    assert client.delete(f"documents/{passing}").is_success


def _send(client: httpx2.Client, name: str, content: bytes, **fields: str) -> None:
    sent = client.post("ingest", files={"file": (name, content)}, data={"wait": "60", **fields})
    assert sent.status_code in (200, 202, 422), sent.text


def _judge_and_measure(client: httpx2.Client) -> None:
    golden = _posted(client, "golden-sets", name="lamps", description="Made by an earlier release")
    quote = "heated to 1240 degrees"
    judgement = {"source_uri": "upload:kiln.html", "quote": quote, "grade": 3}
    query = {"query": QUESTIONS[0], "judgements": [judgement]}
    _posted(client, f"golden-sets/{golden['id']}/queries", **query)
    run = _posted(client, "evaluations", golden_set_id=golden["id"], name="first")
    path = f"evaluations/{run['id']}"
    until(lambda: client.get(path).json()["state"] in ("succeeded", "failed"), seconds=120)
    found = _posted(client, "query", query=QUESTIONS[0])
    chosen = [found["results"][0]["chunk_id"]]
    about = {"query_id": found["query_id"], "selected_chunk_ids": chosen, "useful": True}
    _posted(client, "feedback", **about, comment="Just what I needed.")
    _posted(client, "answer", query=QUESTIONS[1])
    time.sleep(3)  # the query log is written beside the requests


def _posted(client: httpx2.Client, path: str, **body: Any) -> Any:
    answer = client.post(path, json=body)
    assert answer.is_success, f"{path}: {answer.status_code} {answer.text}"
    return answer.json()


def _build_another_profile(service: Service) -> None:
    """Leave the second namespace with two profiles, one of them live."""
    small = ("profile", "create", "small", "--embedder", "hashing", "--chunker", "fixed")
    made = service.command(*small, "--size", "1000", "--overlap", "100")
    assert made.returncode == 0, made.stderr
    done = service.command("reindex", "--namespace", "second", "--profile", "small", "--switch")
    assert done.returncode == 0, done.stderr + done.stdout


def seen(client: httpx2.Client) -> dict[str, Any]:
    """Return what is to be seen of a namespace and must not change by an upgrade."""
    documents = {}
    for one in client.get("documents").json()["results"]:
        path = f"documents/{one['id']}"
        full = client.get(path).json()
        kept = {name: full.get(name) for name in ("id", "status", "version", "tags", "metadata")}
        kept["chunks"] = full["chunks_count"]
        text, original = client.get(f"{path}/text"), client.get(f"{path}/original")
        kept["text"] = text.json().get("text") if text.is_success else None
        kept["original"] = hashlib.sha256(original.content).hexdigest()
        documents[one["source_uri"]] = kept
    return {
        "documents": documents,
        "facts": sorted(
            [fact["subject"], fact["predicate"], fact["object"]]
            for fact in client.get("facts").json()["results"]
        ),
        "found": {question: _found(client, question) for question in QUESTIONS},
        "golden": _golden(client),
        "feedback": [one["comment"] for one in client.get("feedback").json()["results"]],
    }


def _found(client: httpx2.Client, question: str) -> list[dict[str, Any]]:
    hits = _posted(client, "query", query=question, k=3)["results"]
    return [{name: hit[name] for name in KEPT} for hit in hits]


def _golden(client: httpx2.Client) -> list[Any]:
    sets = client.get("golden-sets").json()["results"]
    read = [client.get(f"golden-sets/{one['id']}/queries").json()["results"] for one in sets]
    return [
        [query["query"], [(one["source_uri"], one["quote"], one["grade"]) for one in judged]]
        for queries in read
        for query in queries
        for judged in [query["judgements"]]
    ]


def _dump(home: Path) -> bytes:
    server = EmbeddedServer(home)
    server.ensure_running()
    try:
        program = cluster.binaries(MAJOR) / "pg_dump"
        address = f"host={server.socket_dir()} user=postgres dbname=ragsite"
        done = subprocess.run([program, "-d", address], capture_output=True, check=True)
    finally:
        server.release()
    return gzip.compress(done.stdout, 9, mtime=0)


def make(checkout: Path, target: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="rs-") as folder:
        home = Path(folder) / "home"
        Path(folder).chmod(0o711)  # the database's user must be able to enter
        service = Service(home, code=checkout)
        try:
            service.start("--no-samples")
            second = use(service)
            shown = {}
            for slug, key in (("default", service.key), ("second", second)):
                with service.client(key) as client:
                    shown[slug] = {"key": key, **seen(client)}
            service.stop()
        finally:
            with suppress(AssertionError):
                service.kill_everything()
        target.mkdir(parents=True, exist_ok=True)
        (target / "database.sql.gz").write_bytes(_dump(home))
        with zipfile.ZipFile(target / "originals.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted((home / "storage").rglob("*")):
                if path.is_file():
                    archive.write(path, path.relative_to(home / "storage"))
        (target / "seen.json").write_bytes(orjson.dumps(shown, option=orjson.OPT_INDENT_2))


if __name__ == "__main__":
    make(Path(sys.argv[1]).resolve(), Path(sys.argv[2]))
