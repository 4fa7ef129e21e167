"""Two hosts with two workers each, and one of the hosts is gone from one moment to the next."""

import time
from collections import Counter
from pathlib import Path

from ragsite.postgres.embedded import EmbeddedServer
from tests.project.service import Service

from ..outcomes import Outcome, fault
from ..provider import StageHandler, paced, scripted
from ..stage import Stage, Theatre, text_of, until

LARGE, SMALL = 24, 4  # documents of a tenant with much work, and of one that comes later


@fault("F1c", "two hosts of two workers, one of them killed", trials=1, own_stage=True)
def killed_host(theatre: Theatre, outcome: Outcome) -> None:
    for _ in range(outcome.trials):
        with theatre.own_stage(SECRET_KEY="s" * 50, JOB_WORKERS="2") as stage:
            other = _other_host(stage, theatre.folder)
            try:
                _play(stage, other, outcome)
            finally:
                other.kill_everything()


def _other_host(stage: Stage, folder: Path) -> Service:
    """Workers alone, with a home of their own, on the same database and the same originals."""
    home = folder / f"other-{stage.home.name}"
    home.mkdir()
    (home / "storage").symlink_to(stage.home / "storage")
    sockets = str(EmbeddedServer(stage.home).socket_dir()).replace("/", "%2F")
    # Twice, because the folder of a single host would be written in small letters.
    url = f"postgres://postgres@{sockets}:5432,{sockets}:5432/ragsite"
    other = Service(home, extra={**stage.service.extra, "DATABASE_URL": url})
    other.start_workers()
    return other


def _play(stage: Stage, other: Service, outcome: Outcome) -> None:
    busy, late = stage.tenant(), stage.tenant()
    embedded = StageHandler.embedded
    with scripted(paced(1.0)):
        for n in range(LARGE):
            busy.upload(f"log-{n}", text_of(f"busy-{n}", sections=2))
        for n in range(SMALL):
            late.upload(f"log-{n}", text_of(f"late-{n}", sections=2))
        until(lambda: _running(stage) == 4 and len(_hosts(stage)) == 2, seconds=60)
        at_once = _running(stage)
        other.kill_everything()
        killed = time.monotonic()
        late.wait()
        waiting = sum(
            busy.status(entry.document_id) != "ready" for entry in stage.ledger.entries(busy.slug)
        )
        busy.wait()
        outcome.recovery.append(time.monotonic() - killed)
    outcome.require(waiting > 0, "the tenant that came later waited for all work of the other")
    passages = "SELECT count(*) FROM documents_chunk WHERE namespace_id IN (%s, %s)"
    again = StageHandler.embedded - embedded - stage.sql(passages, busy.id, late.id)[0][0]
    attempts = "SELECT attempts, count(*) FROM documents_ingestjob GROUP BY attempts"
    tries = Counter(dict(stage.sql(attempts)))
    interrupted = sum(count for number, count in tries.items() if number > 1)
    # What the killed host was embedding is embedded again, and nothing else.
    outcome.require(interrupted <= 2, f"attempts {dict(tries)}")
    outcome.require(bool(interrupted) or not again, f"{again} texts were embedded twice")
    outcome.figures |= {
        "jobs at once": at_once,
        "taken over": interrupted,
        "texts embedded twice": again,
        "of the other tenant left when the late one was done": waiting,
    }
    stage.judge(outcome, busy, late)


def _running(stage: Stage) -> int:
    return int(stage.sql("SELECT count(*) FROM documents_ingestjob WHERE state = 'running'")[0][0])


def _hosts(stage: Stage) -> set[str]:
    """Each is named by its machine and the process group of its workers."""
    held = "SELECT DISTINCT worker FROM documents_ingestjob WHERE state = 'running'"
    return {str(worker) for (worker,) in stage.sql(held)}
