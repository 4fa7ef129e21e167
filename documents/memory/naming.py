"""The keys under which statements are stored: normalised names, aliases, and predicate rules."""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from documents.models import FactAlias, PredicateRule

from .rules.names import name_key, object_key, predicate_key
from .rules.predicates import ALIASES, ValueRule, default_rule
from .statements import Slot


@dataclass(frozen=True, slots=True)
class Naming:
    """The aliases of a namespace for some names, by kind and key."""

    aliases: dict[tuple[str, str], str]

    def subject(self, name: str) -> str:
        key = name_key(name)
        return self.aliases.get((FactAlias.Kind.SUBJECT, key), key)

    def predicate(self, name: str) -> str:
        """Return the predicate's key; the namespace's aliases take precedence over the built-in
        ones."""
        key = predicate_key(name)
        own = self.aliases.get((FactAlias.Kind.PREDICATE, key))
        if own is not None:
            return own
        known = ALIASES.get(key, key)
        return self.aliases.get((FactAlias.Kind.PREDICATE, known), known)

    def object(self, value: Any) -> str:
        """Return the object's key; names as objects have the aliases of subjects."""
        return object_key(value, name=self.subject(value) if isinstance(value, str) else None)

    def slot(self, user: str, subject: str, predicate: str) -> Slot:
        return Slot(user, self.subject(subject), self.predicate(predicate))


def naming_for(
    namespace_id: uuid.UUID, *, names: Iterable[Any] = (), predicates: Iterable[str] = ()
) -> Naming:
    """Read the aliases of these names and predicates. Inside namespace()."""
    keys = {name_key(name) for name in names if isinstance(name, str)}
    forms = {predicate_key(predicate) for predicate in predicates}
    forms |= {ALIASES[form] for form in forms if form in ALIASES}
    found = FactAlias.objects.filter(namespace=namespace_id, alias_key__in=keys | forms)
    return Naming({(a.kind, a.alias_key): a.name_key for a in found})


def rules_of(namespace_id: uuid.UUID, keys: Iterable[str]) -> dict[str, ValueRule]:
    """Return the rule of each normalised predicate. Inside namespace()."""
    wanted = set(keys)
    own = PredicateRule.objects.filter(namespace=namespace_id, predicate_key__in=wanted)
    rules = {key: default_rule(key) for key in wanted}
    rules |= {r.predicate_key: ValueRule(r.is_single, r.half_life_days) for r in own}
    return rules
