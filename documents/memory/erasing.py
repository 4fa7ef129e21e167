"""The right to be forgotten: remove statements for good, with everything derived from them.

Unlike a retraction, this does not keep the fact in the history. What follows from other statements
stays and is derived again. The receipt counts what was erased and contains none of it.
"""

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from django.db.models import Count, Q

from documents.accounts import audit
from documents.accounts.audit import Target
from documents.ingestion.revision import content_changed
from documents.models import Fact, FactAlias, FactErasure, FactState, FactStatement, FactVector
from ragsite.access.actor import current_actor

from . import vectors
from .naming import naming_for
from .rules.names import object_key
from .slots import lock_names, lock_slots, moment, refresh
from .statements import Changes, Slot
from .writing import in_one_transaction

Statements = FactStatement.objects
MAX_LISTED = 100  # documents listed in a response


@dataclass(frozen=True, slots=True)
class DocumentWithRows:
    document_id: uuid.UUID
    title: str
    source_uri: str
    facts: int


@dataclass(frozen=True, slots=True)
class ErasureSelection:
    """What to erase: exactly one of these."""

    ids: tuple[uuid.UUID, ...] = ()
    subject: str = ""
    user: str = ""
    source_uri: str = ""

    @property
    def kind(self) -> str:
        pairs = (("ids", self.ids), ("subject", self.subject), ("user", self.user))
        return next((name for name, value in pairs if value), "source")


@dataclass(frozen=True, slots=True)
class RowsLeft:
    """What rows of tables state about the erased names: those facts are deleted with their
    documents."""

    facts: int = 0
    documents: tuple[DocumentWithRows, ...] = ()  # those with the most facts, at most MAX_LISTED


@dataclass(frozen=True, slots=True)
class Erased:
    """The receipt; the names in the erased facts, for callers that keep copies; and what is left in
    tables."""

    receipt: FactErasure
    called: frozenset[str]  # what the selected subject was called; none if selected otherwise
    names: frozenset[str]  # the same, and subjects and objects as written
    left: RowsLeft


def erase(namespace_id: uuid.UUID, selection: ErasureSelection) -> Erased:
    """Erase statements, the facts that follow from them alone, their vectors and past states. Facts
    from rows of tables stay until their documents are deleted. Call it outside of transactions."""
    changes = Changes()

    def act() -> Erased:
        changes.clear()
        lock_names(namespace_id, exclusively=True)  # no statement is added in between
        return _erase(namespace_id, selection, changes)

    erased = in_one_transaction(namespace_id, act)
    vectors.embed_facts(namespace_id, changes.without_vector)
    return erased


def _erase(namespace_id: uuid.UUID, selection: ErasureSelection, changes: Changes) -> Erased:
    doomed = Statements.filter(_condition(namespace_id, selection), namespace=namespace_id)
    rows = list(doomed)
    slots = {Slot(row.user, row.subject_key, row.predicate_key) for row in rows}
    touched = {row.fact_id for row in rows if row.fact_id}
    ids = [row.pk for row in rows]
    lock_slots(namespace_id, slots)
    at = moment(namespace_id, slots) if slots else None
    Statements.filter(pk__in=ids).delete()
    # Past states may repeat the erased statements, so those of all these facts are deleted.
    past, _ = FactState.objects.filter(fact__in=touched).delete()
    kept = Statements.filter(fact__in=touched).values_list("fact", flat=True)
    gone = (touched - set(kept)) | _retired_copies(namespace_id, touched)
    embedded, _ = FactVector.objects.filter(fact__in=gone).delete()
    facts, _ = Fact.objects.filter(pk__in=gone).delete()
    if at is not None:
        refresh(namespace_id, slots, at, changes)
    left = _rows_left(namespace_id, selection)
    called = _remove_aliases(namespace_id, selection)
    receipt = FactErasure.objects.create(
        namespace_id=namespace_id,
        selected_by=selection.kind,
        facts=facts,
        statements=len(rows),
        vectors=embedded,
        past_states=past,
        queries=0,
        actor_kind=current_actor().kind,
    )
    audit.record("fact.erase", target=Target("facterasure", str(receipt.pk)), count=facts)
    content_changed(namespace_id)
    names = called.union(*({row.subject, *_texts(row.object)} for row in rows))
    return Erased(receipt, frozenset(called), frozenset(names), left)


def _condition(namespace_id: uuid.UUID, selection: ErasureSelection) -> Q:
    if selection.ids:
        return Q(fact__in=_merged_into(selection.ids))
    return _meant(namespace_id, selection)


def _meant(namespace_id: uuid.UUID, selection: ErasureSelection) -> Q:
    """Return a condition on statements or on facts from rows, which have the same fields. Not for
    ids."""
    if selection.subject:
        key = naming_for(namespace_id, names=[selection.subject]).subject(selection.subject)
        # Facts that have the subject as their object are about it, too.
        return Q(subject_key=key) | Q(object_key=object_key("", name=key))
    if selection.user:
        return Q(user=selection.user)
    return Q(source_uri=selection.source_uri)


def _rows_left(namespace_id: uuid.UUID, selection: ErasureSelection) -> RowsLeft:
    """Count the matching facts from rows. Called before aliases are removed, because rows are
    stored under the name that an alias stands for."""
    wanted = Q(pk__in=selection.ids) if selection.ids else _meant(namespace_id, selection)
    rows = Fact.objects.filter(wanted, namespace=namespace_id, source=Fact.Source.ROW)
    grouped = rows.values_list("document_id", "document__title", "document__source_uri")
    counted = grouped.annotate(facts=Count("pk")).order_by("-facts", "document_id")
    documents = tuple(DocumentWithRows(*row) for row in counted)
    return RowsLeft(sum(one.facts for one in documents), documents[:MAX_LISTED])


def _merged_into(ids: Sequence[uuid.UUID]) -> list[uuid.UUID]:
    """Return these facts, and those that were merged into them."""
    return [*ids, *Fact.objects.filter(superseded_by__in=ids).values_list("pk", flat=True)]


def _retired_copies(namespace_id: uuid.UUID, ids: set[uuid.UUID]) -> set[uuid.UUID]:
    """Return the facts that were merged into these, with the words of an erased statement."""
    found: set[uuid.UUID] = set()
    newest = ids
    while newest:
        merged = Fact.objects.filter(namespace=namespace_id, superseded_by__in=newest)
        newest = set(merged.filter(statements=None).values_list("pk", flat=True)) - found
        found |= newest
    return found


def _remove_aliases(namespace_id: uuid.UUID, selection: ErasureSelection) -> set[str]:
    """Delete the aliases of an erased subject, which also identify it. Return all its names."""
    if not selection.subject:
        return set()
    key = naming_for(namespace_id, names=[selection.subject]).subject(selection.subject)
    aliases = FactAlias.objects.filter(namespace=namespace_id, kind=FactAlias.Kind.SUBJECT)
    own = aliases.filter(name_key=key)
    called = {selection.subject, *chain.from_iterable(own.values_list("alias", "name"))}
    own.delete()
    return called


def _texts(value: object) -> Iterator[str]:
    """Yield the strings in an object, which is any JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)
