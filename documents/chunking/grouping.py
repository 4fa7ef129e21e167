"""Join runs that belong together and fit in one chunk.

A table or code block stays with the sentences around it if they all fit; otherwise it keeps a short
lead-in. Tiny neighbouring sections share a chunk under their common heading.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from documents.chunking.sections import SOLID, Member, Path, Run, RunKind
from documents.text.boundaries import Span

Measure = Callable[[Sequence[Span]], list[float]]

# Fractions of the target chunk size.
TINY_SECTION = 0.3  # larger sections do not share a chunk
LEAD_IN = 0.3  # text up to this size stays with the table or code below it


@dataclass(frozen=True, slots=True)
class _Group:
    """Joined runs that become one passage, or one run that must be cut."""

    run: Run
    tokens: float
    is_whole: bool  # fits the size without cutting
    is_section: bool = False  # everything under its heading, on its page


def group(runs: Sequence[Run], measure: Measure, *, size: int) -> list[tuple[Run, int | None]]:
    """Join runs, keeping every member of every run, in order.

    Each result is a run and its token count if it becomes one passage, or None if it must be cut.
    """
    packed: list[_Group] = []
    for _, section in groupby(runs, key=lambda run: (run.page, run.section)):
        members = list(section)
        groups = list(_within_section(members, measure, size))
        if len(groups) == 1:
            groups = [replace(groups[0], is_section=True)]
        packed.extend(groups)
    joined = _tiny_sections_joined(packed, measure, size)
    return [(each.run, int(each.tokens) if each.is_whole else None) for each in joined]


def _within_section(runs: Sequence[Run], measure: Measure, size: int) -> Iterator[_Group]:
    """Join the runs of a section greedily, forward only, like packing."""
    tokens = iter(measure([(run.start, run.end) for run in runs]))
    pending: _Group | None = None
    for run in runs:
        current = _Group(run, next(tokens), is_whole=False)
        current = replace(current, is_whole=current.tokens <= size)
        if pending is None:
            pending = current
            continue
        if _are_numbered_rows(pending.run, run):
            yield pending
            pending = current
            continue
        joined = _joined(pending.run, run)
        (together,) = measure([(joined.start, joined.end)])
        is_lead_in = pending.run.kind == "text" and pending.tokens <= LEAD_IN * size
        if together <= size:
            pending = _Group(joined, together, is_whole=True)
        elif is_lead_in and run.kind != "text":
            pending = _Group(replace(joined, kind=run.kind), together, is_whole=False)
        else:
            yield pending
            pending = current
    if pending is not None:
        yield pending


def _tiny_sections_joined(
    groups: Sequence[_Group], measure: Measure, size: int
) -> Iterator[_Group]:
    pending: _Group | None = None
    for each in groups:
        if pending is not None and _may_share(pending, each, size):
            joined = _joined(pending.run, each.run)
            (together,) = measure([(joined.start, joined.end)])
            if together <= size:
                pending = _Group(joined, together, is_whole=True, is_section=True)
                continue
        if pending is not None:
            yield pending
        pending = each
    if pending is not None:
        yield pending


def _may_share(before: _Group, after: _Group, size: int) -> bool:
    tiny = TINY_SECTION * size
    return (
        before.is_section
        and after.is_section
        and before.run.page == after.run.page
        and after.tokens <= tiny
        and (before.tokens <= tiny or len(before.run.sections) > 1)
        and bool(common_path([before.run.section, after.run.section]))
    )


def common_path(paths: Sequence[Path]) -> Path:
    shared: list[str] = []
    for names in zip(*paths, strict=False):
        if len(set(names)) > 1:
            break
        shared.append(names[0])
    return tuple(shared)


def _joined(first: Run, second: Run) -> Run:
    members = (*first.members, *second.members)
    return Run(_kind_of(members), members, first.page)


def _kind_of(members: Sequence[Member]) -> RunKind:
    """Return the kind that most of the text has."""
    length: dict[RunKind, int] = {"text": 0, "code": 0, "table": 0}
    for member in members:
        block = member.block
        length[SOLID.get(block.kind, "text")] += block.end - block.start
    return max(length, key=lambda kind: length[kind])


def _are_numbered_rows(first: Run, second: Run) -> bool:
    """Whether both are parts of a sheet, which are cited by their own row numbers."""
    return all("rows" in run.members[-1].block.attributes for run in (first, second))
