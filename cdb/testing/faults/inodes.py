"""Files and directories of a model disk: as they are, and as they are on the disk for sure."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

SECTOR_BYTES = 512


@dataclass
class Effect:
    """A change of a file's bytes. data None: the file gets the size ``at``."""

    at: int
    data: bytes | None

    def do(self, contents: bytearray) -> None:
        """Apply it."""
        if self.data is None:
            del contents[self.at :]
            contents.extend(bytes(self.at - len(contents)))
            return
        contents.extend(bytes(max(0, self.at - len(contents))))
        contents[self.at : self.at + len(self.data)] = self.data

    def overwritten(self, at: int, data: bytes) -> "Effect":
        """The same change with other bytes where it meets these."""
        if self.data is None:
            return self
        first, last = max(at, self.at), min(at + len(data), self.at + len(self.data))
        if first >= last:
            return self
        mine = bytearray(self.data)
        mine[first - self.at : last - self.at] = data[first - at : last - at]
        return Effect(self.at, bytes(mine))

    def sectors(self) -> Iterable["Effect"]:
        """The parts that a disk writes in one piece each."""
        if self.data is None:
            yield self
            return
        at, end = self.at, self.at + len(self.data)
        while at < end:
            after = min(end, (at // SECTOR_BYTES + 1) * SECTOR_BYTES)
            yield Effect(at, self.data[at - self.at : after - self.at])
            at = after


@dataclass(eq=False)
class Inode:
    """A file or a directory: as it is, as it is on the disk for sure, and what lies between."""

    is_directory: bool
    contents: bytearray = field(default_factory=bytearray)
    durable: bytes = b""
    pending: list[Effect] = field(default_factory=list)
    entries: dict[str, "Inode"] = field(default_factory=dict)
    durable_entries: dict[str, "Inode"] = field(default_factory=dict)

    def change(self, effect: Effect) -> None:
        """Change the contents."""
        effect.do(self.contents)
        self.pending.append(effect)

    def change_durably(self, effect: Effect) -> None:
        """Overwrite a part, and make nothing else durable: what is pending there is this now."""
        assert effect.data is not None
        durable = bytearray(self.durable)
        for contents in (self.contents, durable):
            effect.do(contents)
        self.durable = bytes(durable)
        self.pending = [each.overwritten(effect.at, effect.data) for each in self.pending]

    def sync(self) -> None:
        """Make what is pending durable."""
        if self.pending:
            durable = bytearray(self.durable)
            for effect in self.pending:
                effect.do(durable)
            self.durable = bytes(durable)
            self.pending.clear()


@dataclass
class NameChange:
    """Entries that one call changes, all at once: directory, name, and what is there now.

    is_firm: it names a new file that was synced since.
    """

    entries: list[tuple[Inode, str, Inode | None]]
    is_firm: bool = False

    def do(self, entries_of: Callable[[Inode], dict[str, Inode]]) -> None:
        """Apply it to each directory's entries."""
        for directory, name, inode in self.entries:
            entries = entries_of(directory)
            if inode is None:
                entries.pop(name, None)
            else:
                entries[name] = inode

    def is_in(self, directory: Inode) -> bool:
        """Whether it changes this directory."""
        return any(changed is directory for changed, _, _ in self.entries)

    def makes(self, inode: Inode) -> bool:
        """Whether it is the first name of this file."""
        return len(self.entries) == 1 and self.entries[0][2] is inode

    def concerns(self, inode: Inode) -> bool:
        """Whether it changes this directory, or what this file is called."""
        return self.is_in(inode) or any(named is inode for _, _, named in self.entries)
