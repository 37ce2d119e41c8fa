"""A model of a disk under a file system: what is durable, and what is still on its way.

- EXT4 (data=ordered) has a journal: names change on the disk in the order in which they were
  changed, and any fsync that has to write an inode takes all earlier changes of names with it.
- STRICT promises what POSIX does: fsync of a file makes its contents durable, and fsync of a
  directory its entries. Other names may be lost or kept in any order; but where later ones are
  kept, so is that of a new file that was synced.
- UNORDERED is STRICT, and a file's new size may be durable before what fills it, as on ext4 with
  data=writeback. On the others a file may end early, but has no gaps.

What is overwritten reaches the disk in any order on all of them, by sectors.
"""

from enum import Enum
from os.path import normpath, relpath

from cdb.testing.faults.inodes import Effect, Inode, NameChange
from cdb.testing.faults.recorder import Operation

PUNCH_HOLE, KEEP_SIZE, ZERO_RANGE = 2, 1, 16  # fallocate's modes
O_TRUNC, O_DIRECTORY, O_DSYNC = 0o1000, 0o200000, 0o10000
O_TMPFILE = 0o20000000 | O_DIRECTORY


class FileSystem(Enum):
    """How much a file system promises: from most to least."""

    EXT4 = "ext4"
    STRICT = "strict"
    UNORDERED = "unordered"


class Disk:
    """Takes in the operations of a trace."""

    def __init__(self, root: str, file_system: FileSystem) -> None:
        self.unseen: set[str] = set()
        """Files, below the root, that were written in ways that no trace shows."""
        self.file_system = file_system
        self.root = Inode(is_directory=True)
        self.names: list[NameChange] = []
        """Changes of names that are not durable yet, in order."""
        self.newest: Inode | None = None
        """The file whose contents were changed last."""
        self._root_path = normpath(root)
        self._files: dict[int, tuple[Inode, Operation]] = {}

    def apply(self, operation: Operation) -> bool:
        """Do what the operation did. Returns whether a cut after it may leave something else."""
        do = getattr(self, f"_{operation.kind.name.lower()}")
        return bool(do(operation))

    def unsynced(self) -> dict[str, int]:
        """How many changes a cut may take from each file's contents and each directory's names."""
        unsynced = {}
        pending = [("", self.root)]
        while pending:
            path, inode = pending.pop()
            entries = inode.entries.items()
            changes = len(inode.pending) + len(entries ^ inode.durable_entries.items())
            if changes:
                unsynced[path] = changes
            pending += [(f"{path}/{name}", each) for name, each in entries]
        return unsynced

    # Names

    def _open(self, operation: Operation) -> bool:
        flags = operation.at
        if flags & O_TMPFILE == O_TMPFILE:
            self._files[operation.descriptor] = (Inode(is_directory=False), operation)
            return False
        directory, name = self._place(operation.path)
        inode = directory.entries.get(name) if name else self.root
        changed = inode is None
        if inode is None:
            inode = Inode(is_directory=False)
            self._change_names([(directory, name, inode)])
        if flags & O_TRUNC and inode.contents:
            self._change(inode, Effect(0, None))
            changed = True
        self._files[operation.descriptor] = (inode, operation)
        return changed

    def _close(self, operation: Operation) -> None:
        self._files.pop(operation.descriptor, None)

    def _duplicate(self, operation: Operation) -> None:
        self._files[operation.at] = self._files[operation.descriptor]

    def _mkdir(self, operation: Operation) -> bool:
        directory, name = self._place(operation.path)
        return self._change_names([(directory, name, Inode(is_directory=True))])

    def _unlink(self, operation: Operation) -> bool:
        directory, name = self._place(operation.path)
        return self._change_names([(directory, name, None)])

    _rmdir = _unlink

    def _link(self, operation: Operation) -> bool:
        directory, name = self._place(operation.path)
        to_directory, to_name = self._place(operation.data.decode())
        return self._change_names([(to_directory, to_name, directory.entries[name])])

    def _rename(self, operation: Operation) -> bool:
        directory, name = self._place(operation.path)
        to_directory, to_name = self._place(operation.data.decode())
        inode = directory.entries[name]
        return self._change_names([(directory, name, None), (to_directory, to_name, inode)])

    def _place(self, path: str) -> tuple[Inode, str]:
        """The directory of a path, and its name there; "" for the root itself."""
        below = relpath(normpath(path), self._root_path)
        if below == ".":
            return self.root, ""
        *parents, name = below.split("/")
        directory = self.root
        for parent in parents:
            directory = directory.entries[parent]
        return directory, name

    def _change_names(self, entries: list[tuple[Inode, str, Inode | None]]) -> bool:
        change = NameChange(entries)
        change.do(lambda directory: directory.entries)
        self.names.append(change)
        return True

    # Contents

    def _change(self, inode: Inode, effect: Effect) -> None:
        inode.change(effect)
        self.newest = inode

    def _write(self, operation: Operation) -> bool:
        inode, opened = self._files[operation.descriptor]
        grows = len(inode.durable) < operation.at + len(operation.data)
        if opened.at & O_DSYNC and not grows:
            inode.change_durably(Effect(operation.at, operation.data))
            return True
        self._change(inode, Effect(operation.at, operation.data))
        if opened.at & O_DSYNC:
            self._make_durable(inode, takes_names=True)
        return True

    def _truncate(self, operation: Operation) -> bool:
        inode, _ = self._files[operation.descriptor]
        if len(inode.contents) == operation.at:
            return False
        self._change(inode, Effect(operation.at, None))
        return True

    def _allocate(self, operation: Operation) -> bool:
        inode, _ = self._files[operation.descriptor]
        end = operation.at + operation.length
        if not operation.flags & KEEP_SIZE and end > len(inode.contents):
            self._change(inode, Effect(end, None))
        if operation.flags & (PUNCH_HOLE | ZERO_RANGE):
            zeroed = min(end, len(inode.contents)) - operation.at
            self._change(inode, Effect(operation.at, bytes(max(0, zeroed))))
        return True

    def _unseen(self, operation: Operation) -> None:
        if operation.descriptor >= 0:
            operation = self._files[operation.descriptor][1]
        self.unseen.add(relpath(normpath(operation.path), self._root_path))

    def _mark(self, operation: Operation) -> bool:
        return False

    # Durability

    def _sync(self, operation: Operation) -> bool:
        inode, _ = self._files[operation.descriptor]
        is_changed = bool(inode.pending) or any(change.concerns(inode) for change in self.names)
        self._make_durable(inode, takes_names=is_changed)
        return True

    def _data_sync(self, operation: Operation) -> bool:
        inode, _ = self._files[operation.descriptor]
        self._make_durable(inode, takes_names=len(inode.contents) != len(inode.durable))
        return True

    def _sync_failed(self, operation: Operation) -> None:
        """The kernel gives up what it could not write, and the next fsync succeeds without it."""
        self._files[operation.descriptor][0].pending.clear()

    def _make_durable(self, inode: Inode, *, takes_names: bool) -> None:
        inode.sync()
        later = []
        for change in self.names:
            journals = self.file_system is FileSystem.EXT4
            if takes_names if journals else change.is_in(inode):
                change.do(lambda directory: directory.durable_entries)
            else:
                change.is_firm = change.is_firm or change.makes(inode)
                later.append(change)
        self.names = later
