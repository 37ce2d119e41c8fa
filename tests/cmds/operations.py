"""What is done to a node's database, as trials of power cuts take it (tests/cmds/cuts.py).

Each operation is done to small databases of its own making, and each is checked in every state that
a cut leaves: nothing that was acknowledged is lost, every coin is as it has to be, and the same
command goes on, or is done again.
"""

import os
import shutil
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cdb.contents.state import summarize
from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.progress import no_bar
from cdb.node.backup.directory import file_in, log_in
from cdb.node.backup.making import back_up
from cdb.node.backup.restore import READY, WORK_SUFFIX, restore
from cdb.node.log import log_path_of
from cdb.node.migrate import activation, dropping, migration, new_table, node_coins, reverting
from cdb.node.migrate.activated import activated
from cdb.node.migrate.migration_file import Standing
from cdb.node.migrate.node_file import Keeper, keeper_of
from cdb.node.ops_table import OLD_TABLE
from cdb.node.status import status_of
from cdb.schemas import coin_log
from cdb.schemas.memory import MemorySchema
from cdb.stores.coin_log import binding
from cdb.stores.rows.sqlite import tables_of
from cdb.testing.faults.oracle import Progress
from cdb.text.mainnet_shape import mainnet_shaped_blocks
from tests.cmds.nodes import go_on, make_node, tip_of
from tests.node.made import MadeNode, indexes_of, rows_of

BLOCKS = tuple(mainnet_shaped_blocks(coins=300))
HALF = len(BLOCKS) // 2
OPTIONS: dict[str, Any] = {"tell": lambda plan: None, "bar": no_bar}

Tell = Callable[[str, int], None]
"""Says of a step, by its number, that it is "begun", or "kept" whatever comes."""


class Operation(ABC):
    """One operation on the files below a root. seed: which variant of it."""

    has_moves = False
    """Whether files and directories change places."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root = root
        self.seed = seed
        self.file = root / "node.sqlite"

    @abstractmethod
    def prepare(self) -> None:
        """Make what is there before; no cut comes until that is durable."""

    @abstractmethod
    def do(self, tell: Tell) -> None:
        """Do what is cut."""

    @abstractmethod
    def check(self, progress: Progress) -> None:
        """Raise AssertionError, or whatever the operation does, where a cut was survived badly."""

    def keeper(self) -> Keeper:
        """Who has the coins, and in which table no half of them is."""
        with closing(sqlite3.connect(self.file)) as connection:
            return keeper_of(connection, self.file)

    def check_log(self, blocks: Sequence[BlockSpendInfo]) -> None:
        """The coins in the log of an active file are those of the blocks."""
        assert status_of(self.file).problems == []
        with activated(self.file) as held:
            assert summarize(held.log).digest == digest_of(blocks)


def take_small_steps() -> None:
    """So many in this process that cuts can come between them."""
    node_coins.CHUNK_ROWS = new_table.PART_COINS = binding._READ_CONFIRMS = 40
    migration.SLICE_SECONDS = 0.0


def rows_of_node(blocks: tuple[BlockSpendInfo, ...]) -> list[tuple[Any, ...]]:
    """What a node's table has after these blocks."""
    with TemporaryDirectory() as directory:
        path = Path(directory) / "node.sqlite"
        MadeNode(path, blocks).close()
        return rows_of(path)


def digest_of(blocks: Sequence[BlockSpendInfo]) -> str:
    """Of the state after these blocks, by the reference model."""
    model = MemorySchema()
    for block in blocks:
        model.accept_block(block)
    return summarize(model).digest


def check_copy(file: Path, n_coins: int) -> None:
    """What a copy says of itself is so, and it can be brought to the node's table."""
    log_path = log_path_of(file)
    standing = Standing.read(log_path) if log_path.exists() else None
    if standing is not None and standing.height >= BLOCKS[0].index:
        with coin_log.indexed(log_path, read_only=True) as log:
            promised = max(each.index for each in BLOCKS if each.index <= standing.height)
            newest = log.last_block_index
            assert newest is not None
            assert newest >= promised, f"MIGRATION promises {promised}, the log has {newest}"
    assert migration.migrate(file, **OPTIONS).coins == n_coins


class Migrate(Operation):
    """Copies, and copies again what a node has done meanwhile, which goes back before."""

    def __init__(self, root: Path, seed: int) -> None:
        super().__init__(root, seed)
        fork = HALF - 1 - seed % 3
        # The same coins at other times: another branch.
        other = [
            BlockSpendInfo(each.index, each.timestamp + 1, each.spends, each.confirms)
            for each in BLOCKS[fork:]
        ]
        self.fork = BLOCKS[fork - 1].index
        self.chains = (BLOCKS[:HALF], BLOCKS[:fork], (*BLOCKS[:fork], *other))

    def prepare(self) -> None:
        """The node's file, with half of the blocks."""
        MadeNode(self.file, self.chains[0]).close()

    def do(self, tell: Tell) -> None:
        """Migrate, let the node go to another chain, and migrate again."""
        migration.migrate(self.file, **OPTIONS)
        tell("kept", 1)
        tell("begun", 2)
        node = MadeNode(self.file)
        node.connection.execute(f"PRAGMA synchronous={('NORMAL', 'FULL')[self.seed % 2]}")
        node.roll_back(self.fork)
        node.add(*self.chains[2][len(self.chains[1]) :])
        migration.migrate(self.file, **OPTIONS)
        tell("kept", 2)
        node.close()

    def check(self, progress: Progress) -> None:
        """The node's table is one of its own; the copy comes to have the same."""
        rows = rows_of(self.file)
        [chain] = [each for each in self.chains if sum(len(b.confirms) for b in each) == len(rows)]
        if progress == Progress(kept=1, begun=1):
            standing = Standing.read(log_path_of(self.file))
            assert standing is not None
            assert standing.height == standing.verified == BLOCKS[HALF - 1].index
        check_copy(self.file, len(rows))
        with coin_log.indexed(log_path_of(self.file), read_only=True) as log:
            assert summarize(log).digest == digest_of(chain)
        assert rows_of(self.file) == rows


class Moved(Operation):
    """One that moves coins between a node's table and a log. blocks: of all that there are."""

    def __init__(self, root: Path, seed: int, blocks: tuple[BlockSpendInfo, ...]) -> None:
        super().__init__(root, seed)
        self.blocks = blocks
        self.rows = rows_of_node(blocks)

    def check_table(self) -> None:
        """The node's own table has all, and its indexes; and it can be migrated again."""
        assert self.keeper() is Keeper.NODE
        assert rows_of(self.file) == self.rows
        assert len(indexes_of(self.file)) == 6
        check_copy(self.file, len(self.rows))


class Activate(Moved):
    """Copies the rest, and switches."""

    def __init__(self, root: Path, seed: int) -> None:
        super().__init__(root, seed, BLOCKS)

    def prepare(self) -> None:
        """A node's file, half of which is copied."""
        with MadeNode(self.file, BLOCKS[:HALF]) as node:
            if self.seed % 2:
                migration.migrate(self.file, **OPTIONS)
            node.add(*BLOCKS[HALF:])

    def do(self, tell: Tell) -> None:
        """Activate."""
        activation.activate(self.file, **OPTIONS)
        tell("kept", 1)

    def check(self, progress: Progress) -> None:
        """It is active, or what it was, and can be made the other."""
        keeper = self.keeper()
        assert keeper is Keeper.LOG or not progress.kept
        if keeper is Keeper.NODE:
            check_copy(self.file, len(self.rows))
        activation.activate(self.file, **OPTIONS)
        assert Standing.read(log_path_of(self.file)) is None
        self.check_log(BLOCKS)
        reverting.revert(self.file, **OPTIONS)
        self.check_table()


class Drop(Moved):
    """Drops the old table, of a node that went on or did not."""

    def __init__(self, root: Path, seed: int) -> None:
        super().__init__(root, seed, BLOCKS if seed % 2 else BLOCKS[:HALF])

    def prepare(self) -> None:
        """An active file."""
        MadeNode(self.file, BLOCKS[:HALF]).close()
        activation.activate(self.file, **OPTIONS)
        if self.blocks is BLOCKS:
            go_on(self.file, BLOCKS[HALF:], tip_of(BLOCKS[HALF - 1]))

    def do(self, tell: Tell) -> None:
        """Drop, and have the file written again."""
        dropping.drop(self.file, vacuum=True, **OPTIONS)
        tell("kept", 1)

    def check(self, progress: Progress) -> None:
        """It is active, with or without the table; the other one can be written from the log."""
        self.check_log(self.blocks)
        with closing(sqlite3.connect(self.file)) as connection:
            assert OLD_TABLE not in tables_of(connection) or not progress.kept
        if progress.kept or self.seed % 4 < 2:
            dropping.drop(self.file, vacuum=True, **OPTIONS)
        reverting.revert(self.file, **OPTIONS)
        self.check_table()


class Revert(Moved):
    """Brings the old table back, or a new one, of a node that went on; also where it is dropped."""

    def __init__(self, root: Path, seed: int) -> None:
        super().__init__(root, seed, BLOCKS if seed % 3 else BLOCKS[:HALF])

    def prepare(self) -> None:
        """An active file."""
        MadeNode(self.file, BLOCKS[:HALF]).close()
        activation.activate(self.file, **OPTIONS)
        if self.seed % 3 == 2:
            dropping.drop(self.file, **OPTIONS)
        if self.blocks is BLOCKS:
            go_on(self.file, BLOCKS[HALF:], tip_of(BLOCKS[HALF - 1]))

    def do(self, tell: Tell) -> None:
        """Revert."""
        reverting.revert(self.file, **OPTIONS)
        tell("kept", 1)

    def check(self, progress: Progress) -> None:
        """It is active, and the log has all, or the table has; the same call goes on."""
        if self.keeper() is Keeper.LOG:
            assert not progress.kept
            self.check_log(self.blocks)
            reverting.revert(self.file, **OPTIONS)
        self.check_table()


class BackUp(Operation):
    """Makes a backup of a database whose log is behind."""

    has_moves = True

    def prepare(self) -> None:
        """A node's database."""
        make_node(self.file, BLOCKS)

    def do(self, tell: Tell) -> None:
        """Make a backup."""
        back_up(self.file, self.root / "backup", no_bar)
        tell("kept", 1)

    def check(self, progress: Progress) -> None:
        """The node's own is as it was; the backup is whole, or none."""
        self.check_log(BLOCKS)
        backup = self.root / "backup"
        assert backup.exists() or not progress.kept
        if not backup.exists():
            back_up(self.file, backup, no_bar)
        self.file = self.root / "restored.sqlite"
        restore(backup, self.file, no_bar)
        self.check_log(BLOCKS)


class Restore(Operation):
    """Restores a backup where nothing is."""

    has_moves = True

    def __init__(self, root: Path, seed: int) -> None:
        super().__init__(root, seed)
        self.backup, self.file = root / "backup", root / "new.sqlite"
        self.work = root / f"new.sqlite{WORK_SUFFIX}"

    def prepare(self) -> None:
        """A backup."""
        make_node(self.root / "node.sqlite", BLOCKS)
        back_up(self.root / "node.sqlite", self.backup, no_bar)

    def do(self, tell: Tell) -> None:
        """Restore it."""
        restore(self.backup, self.file, no_bar)
        tell("kept", 1)

    def check(self, progress: Progress) -> None:
        """There is no half of a database; the same call begins again, or finishes."""
        log_path, ready = log_path_of(self.file), self.work / READY
        assert log_path.exists() or not self.file.exists(), "a node would start on half of it"
        if self.file.exists():
            assert status_of(self.file).problems == []
        is_ready = ready.exists()
        assert self.file.exists() or not progress.kept
        if is_ready:
            self._number_anew(ready)
            shutil.move(self.backup, self.root / "shelf")  # which nobody needs any more
        if is_ready or not self.file.exists():
            restore(self.backup, self.file, no_bar)
            assert not self.work.exists()
        self.check_log(BLOCKS)

    def _number_anew(self, ready: Path) -> None:
        """READY tells the copies by their inodes' numbers, and here they have others: a real cut
        leaves them the same."""
        copies = (file_in(self.work), self.file), (log_in(self.work), log_path_of(self.file))
        numbers = [copy.stat().st_ino for pair in copies for copy in pair if copy.exists()]
        source, _, contents = ready.read_bytes().split(b"\n", 2)
        ready.write_bytes(b"\n".join((source, " ".join(map(str, numbers)).encode(), contents)))


OPERATIONS: dict[str, type[Operation]] = {
    "migrate": Migrate,
    "activate": Activate,
    "drop": Drop,
    "revert": Revert,
    "backup": BackUp,
    "restore": Restore,
}


def telling(marks: int) -> Tell:
    """What writes marks to the descriptor that is recorded as such."""

    def tell(word: str, number: int) -> None:
        os.write(marks, f"{word} {number}".encode())

    return tell
