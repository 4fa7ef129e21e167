"""Hosts that disagree on the time: the web server's clock, the worker's, and the database's."""

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.project.service import Service

from ..outcomes import NotPossibleHere, Outcome, fault
from ..provider import StageHandler, paced, scripted
from ..stage import Stage, Tenant, Theatre, until

# By how many seconds the clocks of the web server and the worker are wrong, while work goes on.
HOUR = 3600
SKEWS = (
    (2 * HOUR, 0),
    (0, 2 * HOUR),
    (2 * HOUR, -2 * HOUR),
    (-2 * HOUR, 2 * HOUR),
    (-600, -600),
    (0, 0),
)
DOCUMENTS = 4


def _library(folder: Path) -> Path:
    compiled = folder / "clock.so"
    if not compiled.exists():
        compiler = shutil.which("cc")
        if compiler is None:
            raise NotPossibleHere("there is no C compiler")
        source = Path(__file__).parents[1] / "clock.c"
        command = [compiler, "-O2", "-shared", "-fPIC", "-o", compiled, source, "-ldl"]
        subprocess.run(command, check=True)
    return compiled


@dataclass
class Clock:
    """The clock of one process group, which reads what it should show from a file."""

    path: Path
    library: Path

    def show(self, seconds: int) -> None:
        draft = self.path.with_suffix(".new")
        draft.write_text(f"{seconds}\n")
        draft.replace(self.path)

    def environment(self) -> dict[str, str]:
        return {"LD_PRELOAD": str(self.library), "CLOCK_FILE": str(self.path)}


@contextmanager
def _two_clocks(stage: Stage, library: Path) -> Iterator[tuple[Clock, Clock]]:
    """Run web server and worker apart, each with a clock of its own, and the database with ours."""
    stage.service.stop()
    clocks = []
    with stage.database():
        for part in ("worker", "web"):
            clock = Clock(stage.home / f"clock-{part}", library)
            clock.show(0)
            extra = {**stage.service.extra, **clock.environment()}
            service = Service(stage.home, port=stage.service.port, extra=extra)
            service.spawn("--only", part)
            clocks.append(clock)
        until(service.is_up, seconds=120)
        yield clocks[1], clocks[0]
        stage.service.kill_everything()


def _key_for_an_hour(stage: Stage, tenant: Tenant) -> str:
    expiry = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    with stage.client(stage.operator_key) as client:
        body = {"scopes": ["read"], "expires_at": expiry}
        issued = client.post(f"namespaces/{tenant.slug}/keys", json=body)
    assert issued.status_code == 201, issued.text
    return str(issued.json()["key"])


@fault("F18", "clocks of the web server and the worker hours apart, and set back", own_stage=True,
       trials=len(SKEWS))  # fmt: skip
def clocks_apart(theatre: Theatre, outcome: Outcome) -> None:
    library = _library(theatre.folder)
    with theatre.own_stage() as stage:
        tenant, calm = stage.tenant(), stage.tenant()
        undisturbed = [calm.upload(f"log-{n}") for n in range(DOCUMENTS)]
        calm.wait()
        key = _key_for_an_hour(stage, tenant)
        with _two_clocks(stage, library) as (web, worker), scripted(paced(0.3)):
            for trial in range(outcome.trials):
                offsets = SKEWS[trial % len(SKEWS)]
                before = StageHandler.embedded
                sent = [tenant.upload(f"log-{n}-{trial}") for n in range(DOCUMENTS)]
                web.show(offsets[0])
                worker.show(offsets[1])
                began = time.monotonic()
                sent += [tenant.upload(f"more-{n}-{trial}") for n in range(DOCUMENTS)]
                for document_id in sent:
                    tenant.wait_for(document_id)
                outcome.recovery.append(time.monotonic() - began)
                wanted = sum(tenant.fingerprint(document_id)[0] for document_id in sent)
                twice = StageHandler.embedded - before - wanted
                outcome.require(not twice, f"{offsets}: {twice} texts embedded twice")
                with stage.client(key) as client:
                    answer = client.get("documents")
                what = f"{offsets}: a key for another hour is answered {answer.status_code}"
                outcome.require(answer.status_code == 200, what)
            again = stage.sql(
                "SELECT count(*) FROM documents_ingestjob WHERE namespace_id = %s AND attempts > 1",
                tenant.id,
            )[0][0]
            outcome.require(not again, f"{again} jobs were done more than once")
            outcome.figures["done twice"] = again
            missing = [d for d in undisturbed if calm.status(d) != "ready"]
            outcome.require(not missing, f"{missing} are gone")
            stage.judge(outcome, tenant, calm)
