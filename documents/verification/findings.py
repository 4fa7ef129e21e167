"""The report of an audit: findings, without content, and whether they were repaired."""

from dataclasses import dataclass, field
from typing import Any

MAX_EXAMPLES = 10


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule that is broken in a namespace. `namespace` is blank for the whole server."""

    check: str
    namespace: str
    what: str
    count: int
    examples: tuple[str, ...]  # ids or storage keys, never content
    can_repair: bool
    repair: str = ""  # what --repair did, and what is left to do

    def as_json(self) -> dict[str, Any]:
        return {
            "check": self.check,
            "namespace": self.namespace,
            "what": self.what,
            "count": self.count,
            "examples": list(self.examples),
            "can_repair": self.can_repair,
            "repair": self.repair,
        }


@dataclass(slots=True)
class Report:
    """The outcome of an audit. `repaired` are findings that the repair has removed."""

    namespaces: int = 0
    checks: int = 0
    findings: list[Finding] = field(default_factory=list)
    repaired: list[Finding] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        return not self.findings

    def as_json(self) -> dict[str, Any]:
        return {
            "clean": self.is_clean,
            "namespaces": self.namespaces,
            "checks": self.checks,
            "findings": [finding.as_json() for finding in self.findings],
            "repaired": [finding.as_json() for finding in self.repaired],
        }
