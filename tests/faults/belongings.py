"""What a namespace may own beside documents: facts, turns, golden sets, and more."""

from .stage import Tenant

PRICES = b"lamp,price\nAurora,120\nBorealis,180\n"


def furnish(tenant: Tenant, *, states_facts: bool = True) -> None:
    """Give the tenant some of each, through the API."""
    files = {"file": ("prices.csv", PRICES)}
    sent = tenant.client.post("ingest", files=files, data={"rows_as_facts": "true", "wait": "60"})
    assert sent.is_success, sent.text
    document_id = sent.json()["results"][0]["document_id"]
    tenant.stage.ledger.note(tenant.slug, document_id, PRICES)
    turns = [{"role": "user", "content": "The harbour opens at six."}]
    _make(tenant, "memories", {"session": "s", "user": "mara", "turns": turns, "wait": 30})
    fact = {"subject": "Aurora", "predicate": "is made in", "object": "Bergen", "user": "mara"}
    if states_facts:
        _make(tenant, "facts", fact)
    _make(tenant, "collections", {"name": "lamps"})
    _make(tenant, "webhooks", {"url": "https://app.example.invalid/ragsite"})
    golden = _make(tenant, "golden-sets", {"name": "lamps"})
    judged = {
        "query": "What does Aurora cost?",
        "judgements": [{"source_uri": "upload:prices.csv"}],
    }
    _make(tenant, f"golden-sets/{golden}/queries", judged)
    _make(tenant, "evaluations", {"golden_set_id": golden})
    found = tenant.query("What does Aurora cost?").json()
    _make(tenant, "feedback", {"query_id": found["query_id"], "useful": True})


def _make(tenant: Tenant, path: str, body: dict[str, object]) -> str:
    made = tenant.client.post(path, json=body)
    assert made.is_success, f"{path}: {made.status_code} {made.text}"
    return str(made.json().get("id", ""))
