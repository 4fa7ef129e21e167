"""Joins runs: what belongs together and fits one chunk is not cut apart.

A table or code block stays with the sentences around it while the whole of them fits, keeps a short
lead-in where it does not, and tiny neighbouring sections share a chunk under their common heading.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from documents.chunking.sections import SOLID, Member, Path, Run, RunKind
from documents.text.boundaries import Span

Measure = Callable[[Sequence[Span]], list[float]]

# Shares of the size a chunk aims for.
TINY_SECTION = 0.3  # a section up to this may share a chunk with its neighbours
LEAD_IN = 0.3  # text up to this goes with the table or code below it


@dataclass(frozen=True, slots=True)
class _Group:
    """Joined runs that become one passage, or one run that is cut."""

    run: Run
    tokens: float
    is_whole: bool  # it fits the size as it is
    is_section: bool = False  # all that stands under its heading, on its page


def group(runs: Sequence[Run], measure: Measure, *, size: int) -> list[tuple[Run, int | None]]:
    """Joined runs in order, which together hold every member of every run once.

    Each comes with its tokens where it becomes one passage, and with None where it must be cut.
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
    """Greedy and forward only, like packing."""
    tokens = iter(measure([(run.start, run.end) for run in runs]))
    pending: _Group | None = None
    for run in runs:
        own = _Group(run, next(tokens), is_whole=False)
        own = replace(own, is_whole=own.tokens <= size)
        if pending is None:
            pending = own
            continue
        if _are_numbered_rows(pending.run, run):
            yield pending
            pending = own
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
            pending = own
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
    """What most of it is."""
    length: dict[RunKind, int] = {"text": 0, "code": 0, "table": 0}
    for member in members:
        block = member.block
        length[SOLID.get(block.kind, "text")] += block.end - block.start
    return max(length, key=lambda kind: length[kind])


def _are_numbered_rows(first: Run, second: Run) -> bool:
    """Parts of a sheet, each cited by its own row numbers."""
    return all("rows" in run.members[-1].block.attributes for run in (first, second))
