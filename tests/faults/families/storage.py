"""A bucket that fails: errors, slow down, halves of files, no response, and late visibility."""

import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx2

from tests import object_store
from tests.object_store import FaultyProxy

from ..outcomes import NotPossibleHere, Outcome, fault
from ..stage import Tenant, Theatre, text_of

KINDS = ("500", "503", "cut", "drop", "404")
ALLOWED = (200, 202, 503)


@contextmanager
def _bucket(folder: Path) -> Iterator[dict[str, str]]:
    """A bucket behind a proxy that fails; yields the settings for it."""
    if not object_store.PROGRAM.exists():
        raise NotPossibleHere("SeaweedFS is not installed")
    folder.mkdir()
    with (
        object_store.object_store(folder) as address,
        object_store.faulty_proxy(address) as proxy,
    ):
        yield {
            "STORAGE_BUCKET": object_store.BUCKET,
            "STORAGE_ENDPOINT_URL": proxy,
            "STORAGE_ACCESS_KEY": object_store.ACCESS_KEY,
            "STORAGE_SECRET_KEY": object_store.SECRET_KEY,
            "STORAGE_LINK_SECONDS": "0",  # originals come through the service, which checks them
        }


def _read_back(tenant: Tenant, outcome: Outcome, document_id: str, content: bytes) -> int:
    """Download an original: a wrong one must never be served."""
    with suppress(httpx2.TransportError):
        answer = tenant.client.get(f"documents/{document_id}/original")
        served_wrong = answer.status_code == 200 and answer.content != content
        outcome.leak(int(served_wrong), "originals with other bytes were served")
        outcome.require(answer.status_code in (200, 503), f"original: {answer.status_code}")
        return answer.status_code
    return 0


@fault("F25", "the bucket answers 500, 503, 404, with halves, or not at all", trials=25,
       own_stage=True)  # fmt: skip
def bucket(theatre: Theatre, outcome: Outcome) -> None:
    codes: Counter[str] = Counter()
    chance = random.Random(25)
    with _bucket(theatre.folder / "bucket") as settings, theatre.own_stage(**settings) as stage:
        tenant = stage.tenant(profile="steady")
        kept = {name: text_of(name) for name in ("one", "two")}
        ids = {name: tenant.upload(name, content) for name, content in kept.items()}
        tenant.wait()
        for trial in range(outcome.trials):
            kind = KINDS[trial % len(KINDS)]
            # A file that stays missing is lost; one that is seen late is not.
            FaultyProxy.faults[:] = [kind] * chance.randrange(1, 3 if kind == "404" else 12)
            name = f"log-{trial}"
            with suppress(httpx2.TransportError):
                answer = tenant.send(name, text_of(name, sections=2))
                codes[f"upload {answer.status_code}"] += 1
                what = f"{kind}: upload {answer.status_code} {answer.text[:200]}"
                outcome.require(answer.status_code in ALLOWED, what)
            one = chance.choice(list(kept))
            codes[f"original {_read_back(tenant, outcome, ids[one], kept[one])}"] += 1
            FaultyProxy.faults.clear()
        began = time.monotonic()
        tenant.wait()
        outcome.recovery.append(time.monotonic() - began)
        stage.judge(outcome, tenant)
    outcome.figures |= dict(codes)
