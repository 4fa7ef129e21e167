"""Audit events in words: `deleted 3 documents`, `revoked the API key “ci”`."""

from ragsite.platform.wording import plural

_WHOLE = {
    "login": "signed in",
    "login.fail": "failed to sign in",
    "login.lock": "was locked out after failed sign-ins",
    "logout": "signed out",
    "user.password_change": "changed their own password",
    "backup.make": "made a backup",
    "backup.restore": "restored a backup",
    "namespace.view_all": "looked at all namespaces",
    "verify.repair": "repaired what an audit had found",
}
_VERBS = {
    "add": "added",
    "approve": "approved",
    "assign": "assigned",
    "cancel": "cancelled",
    "change": "changed",
    "create": "created",
    "delete": "deleted",
    "delete_many": "deleted",
    "deleted": "finished deleting",
    "disable": "disabled",
    "erase": "erased",
    "export": "exported",
    "import": "imported",
    "ingest": "took in",
    "install": "installed",
    "move_in": "took over",
    "move_out": "moved away",
    "redeliver": "sent again events of",
    "reindex": "indexed again:",
    "reclaim": "removed the old chunks of",
    "reject": "rejected",
    "remove": "removed",
    "rename": "renamed",
    "retract": "retracted",
    "revoke": "revoked",
    "rotate": "changed the secret of",
    "rollback": "rolled back",
    "set": "set",
    "start": "started",
    "switch": "switched",
    "test": "sent a test to",
    "unlock": "unlocked",
}
_OF_ROWS = ("deleted", "export", "import")
_INTO = {"add": "to", "remove": "from"}
_NOUNS = {
    "apikey": "API key",
    "evaluationrun": "run",
    "goldenquery": "golden query",
    "goldenset": "golden set",
    "indexprofile": "index profile",
    "ingestjob": "job",
    "key": "API key",
    "link": "public link",
    "namespacelink": "public link",
    "operator_key": "operator key",
    "operatorkey": "operator key",
    "profile": "index profile",
}


def heading(action: str) -> str:
    """Describe a kind of action: `API key: created`. Unknown actions are shown unchanged."""
    if action in _WHOLE:
        return _WHOLE[action].capitalize()
    kind, _, verb = action.rpartition(".")
    if verb not in _VERBS:
        return action
    noun = _NOUNS.get(kind, kind.replace("_", " "))
    return f"{noun[:1].upper()}{noun[1:]}: {_VERBS[verb].rstrip(':')}"


def deed(action: str, *, count: int = 1, label: str = "") -> str:
    """Describe what was done, without the actor. Unknown actions are shown unchanged."""
    if action in _WHOLE:
        return _WHOLE[action]
    kind, _, verb = action.rpartition(".")
    if verb not in _VERBS:
        return f"{action}: {label}" if label else action
    if kind == "namespace" and verb in _OF_ROWS:  # they count the rows of one namespace
        return f"{_VERBS[verb]} the namespace “{label}”, {plural(count, 'row')}"
    if kind == "collection" and verb in _INTO:
        return f"{_VERBS[verb]} documents {_INTO[verb]} the collection “{label}”"
    noun = _NOUNS.get(kind, kind.replace("_", " "))
    if count == 1 and label:
        return f"{_VERBS[verb]} the {noun} “{label}”"
    return f"{_VERBS[verb]} {plural(count, noun)}"
