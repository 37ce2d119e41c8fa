"""What a power cut leaves of a model disk: everything that was synced, and a part of the rest."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import TypeVar

from cdb.testing.faults.disk import Disk, FileSystem
from cdb.testing.faults.inodes import Inode, NameChange

T = TypeVar("T")
IN_ORDER = ("prefix",)
ANY_PART = ("prefix", "subset", "suffix")

Tree = dict[str, bytes | None]
"""What is below the root: the contents of files, None for directories; parents come first."""


@dataclass(frozen=True)
class Survival:
    """What a cut leaves of the names and of the contents that were not synced.

    torn: if given, a part of them, of its choice. is_newest: of a kind that is not kept, the newest
    change alone, where that was the disk's last.
    """

    name: str
    keep_names: bool
    keep_contents: bool
    torn: Random | None = None
    is_newest: bool = False


NOTHING = Survival("nothing", keep_names=False, keep_contents=False)
EVERYTHING = Survival("everything", keep_names=True, keep_contents=True)
NAMES = Survival("names", keep_names=True, keep_contents=False)
CONTENTS = Survival("contents", keep_names=False, keep_contents=True)
NEWEST_NAME = Survival("newest-name", keep_names=False, keep_contents=True, is_newest=True)
NEWEST_CONTENTS = Survival("newest-contents", keep_names=True, keep_contents=False, is_newest=True)
"""What came last overtakes all before it of its kind, as where a sync between them is missing."""


def crash_state(disk: Disk, survival: Survival) -> Tree:
    """What a cut leaves now."""
    entries = _entries_after(disk, survival)
    contents = _contents_after(disk, survival)
    tree: Tree = {}
    pending = [("", disk.root)]
    while pending:
        prefix, directory = pending.pop()
        for name, inode in sorted(entries(directory).items()):
            tree[prefix + name] = None if inode.is_directory else contents(inode)
            if inode.is_directory:
                pending.append((f"{prefix}{name}/", inode))
    return tree


def read_tree(place: Path) -> Tree:
    """What is below a directory."""
    return {
        str(path.relative_to(place)): None if path.is_dir() else path.read_bytes()
        for path in sorted(place.rglob("*"))
    }


def write_tree(tree: Tree, place: Path) -> None:
    """Write the tree into an empty directory."""
    for name, contents in tree.items():
        if contents is None:
            (place / name).mkdir()
        else:
            (place / name).write_bytes(contents)


def _entries_after(disk: Disk, survival: Survival) -> Callable[[Inode], dict[str, Inode]]:
    if survival.torn is None and survival.keep_names:
        return lambda directory: directory.entries
    part = set(map(id, _kept_names(disk, survival)))
    entries = cache(lambda directory: dict(directory.durable_entries))
    for change in disk.names:
        if id(change) in part or (part and change.is_firm):
            change.do(entries)
    return entries


def _kept_names(disk: Disk, survival: Survival) -> Sequence[NameChange]:
    if survival.torn is not None:
        order = IN_ORDER if disk.file_system is FileSystem.EXT4 else ANY_PART
        return _part(disk.names, order, survival.torn)
    return disk.names[-1:] if survival.is_newest else ()


def _contents_after(disk: Disk, survival: Survival) -> Callable[[Inode], bytes]:
    torn, has_gaps = survival.torn, disk.file_system is FileSystem.UNORDERED
    if torn is not None:
        # One file may have several names.
        return cache(lambda inode: _torn_contents(inode, torn, has_gaps))
    if survival.keep_contents:
        return lambda inode: bytes(inode.contents)
    if survival.is_newest:
        return lambda inode: _newest_contents(inode) if inode is disk.newest else inode.durable
    return lambda inode: inode.durable


def _newest_contents(inode: Inode) -> bytes:
    """What is durable and the newest change; where that would leave a gap, all that was changed."""
    if not inode.pending:
        return inode.durable
    newest = inode.pending[-1]
    if newest.at > len(inode.durable):
        return bytes(inode.contents)
    contents = bytearray(inode.durable)
    newest.do(contents)
    return bytes(contents)


def _torn_contents(inode: Inode, random: Random, has_gaps: bool) -> bytes:
    sectors = [sector for effect in inode.pending for sector in effect.sectors()]
    appended = [each for each in sectors if each.at >= len(inode.durable)]
    kept = _part([each for each in sectors if each.at < len(inode.durable)], ANY_PART, random)
    kept += _part(appended, ANY_PART if has_gaps else IN_ORDER, random)
    chosen = set(map(id, kept))
    contents = bytearray(inode.durable)
    for sector in sectors:
        if id(sector) in chosen:
            sector.do(contents)
    if has_gaps and appended and random.random() < 0.5:
        contents.extend(bytes(max(0, len(inode.contents) - len(contents))))
    return bytes(contents)


def _part(items: list[T], ways: Sequence[str], random: Random) -> list[T]:
    cut = random.randint(0, len(items))
    match random.choice(ways):
        case "prefix":
            return items[:cut]
        case "suffix":
            return items[cut:]
        case _:
            return [item for item in items if random.random() < 0.5]
