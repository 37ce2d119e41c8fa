"""A node's database moves onto cdb, lives there, is backed up and restored, and comes back.

    python -m tests.chia.journey --coins 5000000
    python -m tests.chia.journey --file a_node.sqlite
    python -m tests.chia.journey --coins 20000 --kills 500

Each move is a command as an operator types it, in a process of its own. With --coins the database
is made, in mainnet's shape and with hints. chia's own store goes on, with reorgs, while its coins
are copied, and so does cdb's later on, and while it is backed up. Its twin is a copy of the file in
which chia's store does all the same. In the end the table coin_record of what was moved back, and
of what was restored and then moved back, must be the twin's, row by row, with its indexes; on the
way all answers must be the same. With --file there is no chain to go on with: some blocks are
taken away from both instead. With --kills each command is killed by SIGKILL, at random moments and
some times, before it may end; and there are journeys until it were so many kills.
"""

import argparse
import asyncio
import json
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from pathlib import Path
from random import Random
from typing import Any

from cdb.chia.bench.feed import Arrival
from cdb.chia.bench.questions import digest
from cdb.chia.bench.stores import opened
from cdb.node.backup.restore import READY, WORK_SUFFIX
from cdb.node.status import status_of
from cdb.process.meter import size_bytes
from cdb.text.replay import write_blocks
from cdb.text.scanner import scan_packed
from tests.chia.walker import steps
from tests.node.made import indexes_of

FILE = "node.sqlite"
TAIL_COINS = 200_000
USED_STEPS = 300
SPARED = 0.2
IMPORTED = 0.4
"""Of the time that a command takes, so much goes by before it has begun, if it is a short one."""
NEVER = sys.maxsize
TAKEN_AWAY = 3
UNTIL_TOLD = "until told"
ROWS_AT_ONCE = 50_000
_HINTS = (
    "INSERT INTO hints SELECT coin_name, puzzle_hash FROM coin_record"
    " WHERE substr(coin_name, 1, 1) < x'6b'"
)
"""Forty-two coins in a hundred have one, as on mainnet."""
_MARKS = (
    "UPDATE coin_record SET spent_index = -1 WHERE spent_index = 0 AND EXISTS (SELECT 1 FROM"
    " coin_record AS parent WHERE parent.coin_name = coin_record.coin_parent AND"
    " parent.puzzle_hash = coin_record.puzzle_hash AND parent.amount = coin_record.amount)"
)
"""Coins that can be fast-forwarded, as chia marks them."""
_ROWS = (
    "SELECT coin_name, confirmed_index, spent_index, coinbase, puzzle_hash, coin_parent, amount,"
    " timestamp FROM coin_record ORDER BY coin_name"
)
NEW_INDEX = {"coin_record_ph_ff_unspent_idx"}
"""chia makes it in new files alone, and uses it where it is."""


def main() -> int:
    """Make the journey; 0 if what came back is what there had to be."""
    arguments = _parser().parse_args()
    killer = Killer(arguments.kills, Random(arguments.seed))
    while True:
        with tempfile.TemporaryDirectory(prefix="cdb-journey-", dir=arguments.dir) as directory:
            journey = Journey(Path(directory), killer)
            if arguments.file is not None:
                journey.take(arguments.file)
            else:
                journey.make(arguments.coins)
            journey.go()
        _say(json.dumps(journey.seen | killer.killed, indent=2))
        if killer.left <= 0:
            return 0


@dataclass
class Killer:
    """Kills commands at random moments, until it has killed so many. seconds: how long each takes.

    killed: how many there were of each.
    """

    left: int
    random: Random
    seconds: dict[str, float] = field(default_factory=dict)
    killed: Counter[str] = field(default_factory=Counter)

    def comes_before(self, what: str, line: Sequence[str]) -> bool:
        """Start a command, and kill it, if it is its turn. Whether it was killed."""
        usual = self.seconds.get(what)
        if self.left <= 0 or usual is None or self.random.random() < SPARED:
            return False
        with subprocess.Popen(line) as process:
            try:
                code = process.wait(self.random.uniform(IMPORTED, 1.0) * usual)
            except subprocess.TimeoutExpired:
                process.kill()
                code = process.wait()
        assert code in (0, -signal.SIGKILL), f"{what} failed"
        self.left -= code != 0
        self.killed[what] += code != 0
        return True


@dataclass
class Journey:
    """Databases, each in a directory of its own: node, its twin, and what was restored.

    done: the steps of the chain so far. plain_from: from which one on they are without reorgs.
    seen: seconds and bytes, by what they are of.
    """

    directory: Path
    killer: Killer
    has_chain: bool = False
    done: int = 0
    plain_from: int = NEVER
    seen: dict[str, float] = field(default_factory=dict)

    def take(self, file: Path) -> None:
        """Begin with copies of a file, and of its -wal."""
        for name in ("node", "twin"):
            self.place(name).mkdir()
            shutil.copy(file, self.file(name))
            wal = file.with_name(f"{file.name}-wal")
            if wal.exists():
                shutil.copy(wal, self.place(name) / f"{FILE}-wal")

    def make(self, coins: int) -> None:
        """Begin with a file of so many coins, and a chain to go on with."""
        self.has_chain = True
        self.place("node").mkdir()
        replay = self.directory / "replay.txt"
        with self.timed("make the file"), replay.open("wb") as text:
            self.cdb("make_replay", "--coins", coins + TAIL_COINS, stdout=text)
            height = _split(replay, self.tail, coins)
            name = self.file("node")
            options = ["--input", replay, "--max-blocks", height, "--no-digest"]
            self.cdb("load_blocks", "blockchain_v2:NODE", "--db", name, *options)
            replay.unlink()
            _as_chia_has_it(name)
            asyncio.run(_open_once(self.place("node")))
        with closing(sqlite3.connect(name)) as connection:
            connection.execute(_HINTS)
            connection.commit()
        self.place("twin").mkdir()
        shutil.copy(name, self.file("twin"))

    def go(self) -> None:
        """There on and back."""
        node, backup, back = self.file("node"), self.directory / "backup", self.file("restored")
        with self.beside("chia", "node"):
            self.command("migrate", node)
        self.command("migrate", "--activate", node)
        before = node.stat().st_size  # with the old table, which is only put aside
        self.use()
        back.parent.mkdir()
        first = self.plain_from = self.done
        with self.beside("cdb", "node"):
            self.command("backup", node, backup, is_done=backup.exists)
        self.command("restore", backup, back, is_done=lambda: _is_restored(back))
        if self.has_chain:
            self.cdb("node", "status", back)
            begun = first + self._steps_up_to(back, first)
            self.walk("cdb", "restored", begun, self.done - begun)
        self.command("migrate", "--drop", "--vacuum", node)
        self.seen["bytes before"] = before
        self.seen["bytes of file and log after --drop --vacuum"] = size_bytes(self.place("node"))
        for name in ("node", "restored"):
            file = self.file(name)
            self.command("migrate", "--revert", file, is_done=partial(_is_back, file))
            asyncio.run(_open_once(self.place(name)))
            with self.timed(f"compare {name} with its twin"):
                self.seen[f"coins of {name}"] = _compared(self.file(name), self.file("twin"))

    def use(self) -> None:
        """Both stores do the same, and give the same answers."""
        if self.has_chain:
            self.done += self.both(USED_STEPS)
            return
        with closing(sqlite3.connect(self.file("twin"))) as connection:
            [(height,)] = connection.execute("SELECT max(confirmed_index) FROM coin_record")
        changes = [
            asyncio.run(_rolled_back(name, self.place(place), height - TAKEN_AWAY))
            for name, place in _PAIRS
        ]
        assert changes[0] == changes[1], "a rollback changes other coins"

    def both(self, n_steps: int) -> int:
        """Have both stores take so many steps, in turns."""
        with self.timed(f"{n_steps} steps of both"):
            told = [self.walk(name, place, self.done, n_steps) for name, place in _PAIRS]
        assert told[0] == told[1], "the answers differ"
        assert told[0]["steps"] == n_steps, "the chain ended"
        return n_steps

    def walk(self, store: str, name: str, first: int, most: int) -> dict[str, Any]:
        """Have a store take steps; what it says of them."""
        with self._walker(store, name, first, str(most)) as process:
            return _told(process)

    @contextmanager
    def beside(self, store: str, name: str) -> Iterator[None]:
        """Have a store go on meanwhile, and then the twin as far."""
        if not self.has_chain:
            yield
            return
        with self._walker(store, name, self.done, UNTIL_TOLD) as process:
            yield
            told = _told(process)
        n_steps = int(told["steps"])
        _say(f"{n_steps} steps of {store}'s store beside it")
        assert self.walk("chia", "twin", self.done, n_steps) == told, "the answers differ"
        self.done += n_steps

    @contextmanager
    def _walker(
        self, store: str, name: str, first: int, most: str
    ) -> Iterator[subprocess.Popen[str]]:
        words = [store, self.place(name), self.tail, self.plain_from, first, most]
        line = [sys.executable, "-m", "tests.chia.walker", *map(str, words)]
        pipe = subprocess.PIPE
        with subprocess.Popen(line, stdin=pipe, stdout=pipe, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process

    def _steps_up_to(self, file: Path, first: int) -> int:
        """How many steps behind the first ones a file that was restored has."""
        status = status_of(file)
        assert status.next_height is not None
        height = status.next_height
        behind = islice(steps(self.tail, self.plain_from), first, self.done)
        return sum(step.block[0] <= height for [step] in behind if isinstance(step, Arrival))

    def place(self, name: str) -> Path:
        """The directory of a database."""
        return self.directory / name

    def file(self, name: str) -> Path:
        """Its file."""
        return self.place(name) / FILE

    @property
    def tail(self) -> Path:
        """The replay of the blocks to go on with."""
        return self.directory / "tail.txt"

    def command(self, *words: object, is_done: Callable[[], bool] = lambda: False) -> None:
        """Type a command, again and again while it is killed, and note how long it takes.

        is_done: whether there is nothing left to do, and another try would be refused.
        """
        paths = {self.file(name): name for name in ("node", "restored")}
        named = [paths.get(each, each.name) if isinstance(each, Path) else each for each in words]
        what = f"cdb {' '.join(map(str, named))}"
        while self.killer.comes_before(what, _line(words)):
            if is_done():
                return
        with self.timed(what):
            self.cdb(*words)
        self.killer.seconds[what] = self.seen[f"seconds: {what}"]

    def cdb(self, *words: object, **options: Any) -> None:
        """Type a command; it has to succeed."""
        subprocess.run(_line(words), check=True, **options)

    @contextmanager
    def timed(self, what: str) -> Iterator[None]:
        """Note how long that takes."""
        _say(f"-- {what}")
        started = time.monotonic()
        yield
        self.seen[f"seconds: {what}"] = round(time.monotonic() - started, 2)


_PAIRS = (("cdb", "node"), ("chia", "twin"))


def _is_restored(file: Path) -> bool:
    work = file.with_name(file.name + WORK_SUFFIX)
    return file.exists() and not (work / READY).exists()


def _line(words: Sequence[object]) -> list[str]:
    return [sys.executable, "-m", "cdb.cmds.main", *map(str, words)]


def _is_back(file: Path) -> bool:
    """Whether a file has chia's own table."""
    with closing(sqlite3.connect(file)) as connection:
        columns = connection.execute("PRAGMA table_info(coin_record)").fetchall()
    return "coin_name" in {column[1] for column in columns}


def _split(replay: Path, tail: Path, coins: int) -> int:
    """Write the blocks that come after so many coins; the first one's height."""
    first = None
    with replay.open("rb", buffering=0) as stream, tail.open("wb") as out:
        for packed in scan_packed(stream):
            if coins > 0:
                coins -= packed.n_confirms
                continue
            blocks = [packed.block(place) for place in range(len(packed))]
            first = blocks[0].index if first is None else first
            write_blocks(out, blocks)
    assert first is not None
    return first


def _as_chia_has_it(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        for table in ("cdb_block", "cdb_format"):
            connection.execute(f"DROP TABLE {table}")
        connection.execute(_MARKS)
        connection.commit()


async def _open_once(directory: Path) -> None:
    """chia makes what it finds missing."""
    async with opened("chia", directory):
        pass


async def _rolled_back(name: str, directory: Path, height: int) -> str:
    """Take the blocks above a height away; the digest of what became of their coins."""
    async with opened(name, directory) as store:
        return digest([await store.roll_back(height)])


def _told(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Tell a process to end; what it said."""
    said, _ = process.communicate("")
    assert process.returncode == 0
    told: dict[str, Any] = json.loads(said)
    return told


def _compared(ours: Path, theirs: Path) -> int:
    """Hold two files' coins against each other; how many there are."""
    with closing(sqlite3.connect(ours)) as left, closing(sqlite3.connect(theirs)) as right:
        more = indexes_of(ours) - indexes_of(theirs)
        assert indexes_of(ours) >= indexes_of(theirs), "indexes are missing"
        assert more <= NEW_INDEX, more
        n_coins = 0
        for mine, other in zip(_rows(left), chain(_rows(right), [()]), strict=False):
            different = (pair for pair in zip(mine, other, strict=False) if pair[0] != pair[1])
            assert mine == other, next(different, None)
            n_coins += len(mine)
        [(n_theirs,)] = right.execute("SELECT count(*) FROM coin_record").fetchall()
        assert n_coins == n_theirs > 0
        return n_coins


def _rows(connection: sqlite3.Connection) -> Iterator[Sequence[Any]]:
    cursor = connection.execute(_ROWS)
    while rows := cursor.fetchmany(ROWS_AT_ONCE):
        yield rows


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.chia.journey", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--coins", type=int, default=200_000)
    parser.add_argument("--file", type=Path, help="begin with a copy of this, instead")
    parser.add_argument("--kills", type=int, default=0, help="kill commands so often")
    parser.add_argument("--seed", type=int, default=1, help="of the moments of kills")
    parser.add_argument("--dir", type=Path, help="where to put the files; default: where others do")
    return parser


if __name__ == "__main__":
    sys.exit(main())
