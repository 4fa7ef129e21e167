"""schemathesis against the whole running service: as two tenants, and as nobody.

    python -m tests.fuzz_api --examples 30 --seconds 180

The service is `manage.py up` in a home that is thrown away, on loopback. Ends with 1 if any check
failed for any of the three; every failure is printed with a curl line.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from .project.service import ROOT, Service

CONFIG = Path(__file__).with_name("schemathesis.toml")
PHASES = "examples,coverage,fuzzing,stateful"
# Not for strangers: another tenant's answers are searched for them.
WORDS = {"amber": "AmberKestrel7319", "cobalt": "CobaltHeron4862"}
SCOPES = "read,write,admin"
# What is asked of the service here comes in far greater numbers than its limits allow.
ENVIRONMENT = {
    "INGEST_MAX_WAIT": "1",
    "LOG_LEVEL": "WARNING",
    "WRONG_KEYS_PER_MINUTE": "0",
    "RATE_LIMITS": json.dumps(
        dict.fromkeys(("search", "answer", "ingest", "read", "write", "admin", "agent"), 0)
    ),
}


@dataclass(frozen=True)
class Limits:
    examples: int
    seconds: int
    seed: int


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=30, help="For each operation.")
    parser.add_argument("--seconds", type=int, default=180, help="For each tenant, at most.")
    parser.add_argument("--seed", type=int, default=1)
    limits = Limits(**vars(parser.parse_args()))
    with tempfile.TemporaryDirectory(prefix="fuzz-") as home:
        service = Service(Path(home), extra=ENVIRONMENT)
        try:
            service.start("--no-samples")
            keys = {slug: _tenant(service, slug) for slug in WORDS}
            failed = [
                f"tenant {slug}" for slug in WORDS if _fuzz(service, keys[slug], slug, limits)
            ]
            if _fuzz(service, "", "", limits):
                failed.append("no key")
        finally:
            service.kill_everything()
    outcome = f"Failed: {', '.join(failed)}." if failed else "No check failed."
    sys.stdout.write(f"{outcome}\n")
    return 1 if failed else 0


def _tenant(service: Service, slug: str) -> str:
    """A namespace with something in every list, all of it with the tenant's own word; its key."""
    word = WORDS[slug]
    service.command("namespace", "create", slug)
    printed = service.command("api_key", "create", "--namespace", slug, "--scopes", SCOPES).stdout
    found = re.search(r"rs_[0-9a-f]{12}_[A-Za-z0-9_-]{43}", printed)
    assert found, printed
    with service.client(found[0]) as client:
        table = f"name,colour\n{word},green\n"
        client.post("ingest", files={"file": (f"{word}.csv", table)}, data={"rows_as_facts": "1"})
        text = f"# {word}\n\nThe {word} nests by the harbour."
        uploaded = client.post("ingest", files={"file": (f"{word}.md", text)}, data={"wait": "60"})
        assert uploaded.status_code in (200, 202), uploaded.text
        golden = client.post("golden-sets", json={"name": word}).json()["id"]
        judged = {"query": word, "judgements": [{"source_uri": f"upload:{word}.md"}]}
        client.post(f"golden-sets/{golden}/queries", json=judged)
        client.post("evaluations", json={"golden_set_id": golden, "name": word})
        client.post("feedback", json={"query": word, "useful": True})
        client.post("profiles", json={"name": word, "ann_method": "exact"})
    return found[0]


def _fuzz(service: Service, key: str, slug: str, limits: Limits) -> bool:
    """True if a check failed."""
    sys.stdout.write(f"\n== as {f'tenant {slug}' if slug else 'nobody'}\n")
    sys.stdout.flush()
    command = [str(Path(sys.executable).with_name("schemathesis")), "--config-file", str(CONFIG)]
    command += ["run", f"{service.url}/api/schema", "--url", service.url, "--checks", "all"]
    command += ["--phases", PHASES, "--max-examples", str(limits.examples), "--no-color"]
    seconds = limits.seconds if key else max(1, limits.seconds // 3)  # it is all one answer
    command += ["--seed", str(limits.seed), "--max-time", str(seconds)]
    command += ["--generation-database", "none"]
    if key:
        command += ["--header", f"Authorization: Bearer {key}"]
    others = " ".join(word for other, word in WORDS.items() if other != slug)
    environment = {
        **os.environ,
        "FUZZ_FOREIGN_WORDS": others,
        "FUZZ_WITHOUT_KEY": "" if key else "1",
        "PYTHONPATH": str(ROOT),
    }
    return subprocess.run(command, cwd=service.home, env=environment, check=False).returncode != 0


if __name__ == "__main__":
    sys.exit(main())
