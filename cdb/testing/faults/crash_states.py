"""What a power cut leaves of a model disk: everything that was synced, and a part of the rest."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import TypeVar

from cdb.testing.faults.disk import Disk, FileSystem
from cdb.testing.faults.inodes import Inode

T = TypeVar("T")
IN_ORDER = ("prefix",)
ANY_PART = ("prefix", "subset", "suffix")

Tree = dict[str, bytes | None]
"""What is below the root: the contents of files, None for directories; parents come first."""


@dataclass(frozen=True)
class Survival:
    """What a cut leaves of the names and of the contents that were not synced."""

    name: str
    keep_names: bool
    keep_contents: bool
    torn: Random | None = None
    """If given: a part of them, of its choice."""


NOTHING = Survival("nothing", keep_names=False, keep_contents=False)
EVERYTHING = Survival("everything", keep_names=True, keep_contents=True)
NAMES = Survival("names", keep_names=True, keep_contents=False)
CONTENTS = Survival("contents", keep_names=False, keep_contents=True)


def crash_state(disk: Disk, survival: Survival) -> Tree:
    """What a cut leaves now."""
    entries = _entries_after(disk, survival)
    contents = _contents_after(survival, disk.file_system is FileSystem.UNORDERED)
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
    if survival.torn is None:
        return lambda directory: directory.durable_entries
    entries = cache(lambda directory: dict(directory.durable_entries))
    order = IN_ORDER if disk.file_system is FileSystem.EXT4 else ANY_PART
    part = set(map(id, _part(disk.names, order, survival.torn)))
    for change in disk.names:
        if change.is_firm or id(change) in part:
            change.do(entries)
    return entries


def _contents_after(survival: Survival, has_gaps: bool) -> Callable[[Inode], bytes]:
    torn = survival.torn
    if torn is None and survival.keep_contents:
        return lambda inode: bytes(inode.contents)
    if torn is None:
        return lambda inode: inode.durable
    # One file may have several names.
    return cache(lambda inode: _torn_contents(inode, torn, has_gaps))


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
