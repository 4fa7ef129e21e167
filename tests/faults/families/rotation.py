"""Another SECRET_KEY, with work in the queue."""

from ..outcomes import Outcome, fault
from ..provider import paced, scripted
from ..stage import Theatre


@fault("F21", "another SECRET_KEY, with jobs in the queue", trials=100, own_stage=True)
def another_key(theatre: Theatre, outcome: Outcome) -> None:
    with theatre.own_stage(SECRET_KEY="the first of two keys, long enough" * 2) as stage:
        tenant = stage.tenant()
        with scripted(paced(1.0)):  # so that few are done before the stop
            for n in range(outcome.trials):
                tenant.upload(f"log-{n}")
            stage.service.stop()
        stage.service.extra["SECRET_KEY"] = "the second of two keys, as long" * 2
        stage.service.start("--no-samples")
        answer = tenant.get("documents")
        outcome.require(answer.status_code == 200, f"an API key opens no more: {answer.text}")
        (open_jobs,) = stage.sql(
            "SELECT count(*) FROM documents_ingestjob WHERE state IN ('queued', 'running')"
        )[0]
        outcome.figures["queued at the change"] = open_jobs
        stage.judge(outcome, tenant, seconds=300)
