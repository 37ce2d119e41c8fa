"""Which power cuts show that a durable step is missing, or comes too late.

It shows where something came to the disk that rests on what the step makes durable:
- behind an acknowledgement, and behind each sync: what was not synced is lost;
- behind each other change: it has overtaken all before it of its kind, or the names have overtaken
  all contents; or a part of what is under way is there.

Cuts are drawn in turns: of each of these ways, there of each kind of operation and file, there from
where most files have something to lose. So a few of them meet every kind of step; and where one is
missing, there is more to lose than elsewhere.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from os.path import relpath
from pathlib import Path
from typing import TypeVar

from cdb.testing.faults.crash_states import (
    NAMES,
    NEWEST_CONTENTS,
    NEWEST_NAME,
    NOTHING,
    Survival,
)
from cdb.testing.faults.disk import Disk
from cdb.testing.faults.recorder import Kind, Operation

T = TypeVar("T")
_SYNCS = {Kind.SYNC, Kind.DATA_SYNC}
_NAMES = {Kind.RENAME, Kind.UNLINK, Kind.MKDIR, Kind.RMDIR, Kind.LINK}
HEAD_BYTES = 8192
"""Where files have what says which of the rest counts."""
ACKNOWLEDGED, SYNCED, TORN = "acknowledged", "synced", "torn"
WAYS = (ACKNOWLEDGED, SYNCED, NEWEST_CONTENTS.name, NEWEST_NAME.name, NAMES.name, TORN)
"""In which ways a cut may show it, in the order in which they take turns."""


@dataclass(frozen=True)
class Boundary:
    """way: one of WAYS. kind: of which operation and file.

    at_stake: the files that are not synced then; changes: how many of their changes.
    """

    way: str
    kind: str
    at_stake: frozenset[str]
    changes: int


class Boundaries:
    """Names those of a trace's operations, as they come; all numbers in files' names are one."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._paths: dict[int, str] = {}
        self._kind = ""
        self._unsynced: dict[str, int] = {}
        self._operation: Operation

    def pass_by(self, operation: Operation, disk: Disk) -> None:
        """The next operation, which the disk has taken in."""
        if operation.kind is Kind.OPEN:
            self._paths[operation.descriptor] = operation.path
        path = operation.path or self._paths.get(operation.descriptor, "")
        if operation.kind is Kind.DUPLICATE:
            self._paths[operation.at] = path
        self._operation = operation
        is_head = operation.kind is Kind.WRITE and operation.at < HEAD_BYTES
        file = _like(relpath(path, self._root)) if path else ""
        self._kind = f"{operation.kind.name} {file}{', its head' * is_head}"
        self._unsynced = disk.unsynced()

    def shown_by(self, survival: Survival) -> Boundary | None:
        """What a cut behind the last one may show if so much is left; None: nothing of its own."""
        way = _way(self._operation, survival)
        if way is None:
            return None
        at_stake = frozenset(map(_like, self._unsynced))
        return Boundary(way, self._kind, at_stake, sum(self._unsynced.values()))


def _way(operation: Operation, survival: Survival) -> str | None:
    if operation.kind is Kind.MARK:
        is_promise = operation.data.startswith(b"kept ") and survival is NOTHING
        return ACKNOWLEDGED if is_promise else None
    if survival.torn is not None:
        return TORN
    if operation.kind is Kind.OPEN:  # a file that is new, and empty
        return None
    if operation.kind in _SYNCS:
        return SYNCED if survival is NOTHING else None
    overtaking = (NEWEST_NAME, NAMES) if operation.kind in _NAMES else (NEWEST_CONTENTS,)
    return survival.name if survival in overtaking else None


def _like(path: str) -> str:
    return re.sub("[0-9]+", "N", path)


def in_turns(items: Iterable[tuple[Boundary, T]]) -> Iterator[T]:
    """All of them, so that the first ones are of as many boundaries as can be."""
    ways: dict[str, dict[str, dict[frozenset[str], list[T]]]] = {way: {} for way in WAYS}
    for shown, item in sorted(items, key=lambda each: each[0].changes):
        stakes = ways[shown.way].setdefault(shown.kind, {})
        stakes.setdefault(shown.at_stake, []).append(item)
    return _turns([_turns([_by_stakes(each) for each in way.values()]) for way in ways.values()])


def _by_stakes(stakes: Mapping[frozenset[str], Sequence[T]]) -> Iterator[T]:
    most_first = sorted(stakes, key=lambda files: (-len(files), sorted(files)))
    return _turns([_far_apart(stakes[files]) for files in most_first])


def _turns(queues: Sequence[Iterator[T]]) -> Iterator[T]:
    rounds = chain.from_iterable(zip_longest(*[((each,) for each in queue) for queue in queues]))
    return (each for one in rounds if one is not None for each in one)


def _far_apart(items: Sequence[T]) -> Iterator[T]:
    """The last one, the first one, and then always one in the middle of those that are left out."""
    if items:
        yield items[-1]
    pending = [items[:-1]]
    while pending:
        part = pending.pop(0)
        if part:
            middle = len(part) // 2 if len(part) < len(items) - 1 else 0
            yield part[middle]
            pending += [part[:middle], part[middle + 1 :]]
