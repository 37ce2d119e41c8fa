"""Copies a node's coins into a log beside its file, and verifies them; the file is only read.

The node may run meanwhile: the table is read in slices, each of them in a transaction of its own,
so that none holds up the node's checkpoints. What a slice has copied is noted in the log's
directory, and the next one, or the next run, goes on behind it.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from time import monotonic

from cdb.contract.durability import Durability
from cdb.contract.progress import StepBar
from cdb.disk.home import FORMAT_FILE
from cdb.disk.paths import located
from cdb.disk.room import SPARE_BYTES, check_room, free_bytes_at
from cdb.errors import CorruptDatabaseError, InvariantError, WrongDatabaseError
from cdb.node.log import Log, log_path_of
from cdb.node.migrate.copying import Copy, until
from cdb.node.migrate.migration_file import Standing, remove_copy
from cdb.node.migrate.node_coins import NodeCoins
from cdb.node.migrate.node_file import Keeper, keeper_of
from cdb.node.migrate.oddities import Oddity, told
from cdb.node.migrate.verifying import TableDigest, digest_of_log
from cdb.node.status import check_log
from cdb.schemas import coin_log
from cdb.stores.node_table.table import TABLES
from cdb.stores.rows.snapshot import Snapshot
from cdb.stores.rows.sqlite import PAGE_CACHE_BYTES

SLICE_SECONDS = 10.0
_COIN_BYTES = 90
_COPIED_COINS_A_SECOND = 100_000
VERIFIED_COINS_A_SECOND = 120_000

Slices = Callable[[], AbstractContextManager[NodeCoins]]
"""Opens the table as it is at that moment."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is about to happen: about how long it takes, and how much space."""

    what: str
    seconds: float
    needed_bytes: int
    free_bytes: int

    @classmethod
    def at(cls, path: Path, what: str, seconds: float, needed_bytes: int) -> "Plan":
        """For a file, beside which there is so much space."""
        return cls(what, seconds, needed_bytes, free_bytes_at(path.parent))


@dataclass(frozen=True, slots=True)
class Migrated:
    """What a log holds, and that it is what the table held up to a height.

    digest: of all coins; None where it was verified before. odd: what was left out or changed.
    """

    log_path: Path
    coins: int
    height: int
    digest: str | None
    odd: str


Tell = Callable[[Plan], object]


def migrate(
    path: str | PathLike[str], *, force: bool = False, tell: Tell, bar: StepBar
) -> Migrated:
    """Copy a node's coins, or those that came since, durably, and verify all of them.

    tell: is told the plan before it begins. Raises WrongDatabaseError for a file that is no node's,
    or, without force, for what no chain has; CorruptDatabaseError, DatabaseLockedError,
    InvariantError, MissingEngineError or StorageError.
    """
    place = located(path, read_only=True)
    with Snapshot(place, {}) as snapshot, snapshot.reading():
        if keeper_of(snapshot.connection, place) is Keeper.LOG:
            check_log(place)
            raise WrongDatabaseError(place, f"its coins are in {log_path_of(place)} already")
    standing = standing_of(place)
    with _snapshots(place, standing)() as coins:
        total = coins.about()
    tell(plan_of(place, "migrate", total - standing.coins, total))
    with opened_copy(place) as copy:
        return Migration(copy, _snapshots(place, copy.standing), bar).run(force=force)


class Migration:
    """A copy under way. slices: as the table has to be opened."""

    def __init__(self, copy: Copy, slices: Slices, bar: StepBar) -> None:
        self._copy = copy
        self._slices = slices
        self._bar = bar

    def run(self, *, force: bool, only_once: bool = False) -> Migrated:
        """Copy, verify, and copy what came meanwhile.

        only_once: where nobody changes the table meanwhile. What is verified, on the chain that the
        table has now, is not verified again.
        """
        standing = self._copy.standing
        self.catch_up()
        first = self._first_unverified() if only_once else 0
        digest = None
        if first <= standing.height or not first:
            while (digest := self._verify(first)) is None:
                self.catch_up()
        self._check_oddities(force=force)
        if not only_once:
            self.catch_up()
        of_all = None if first else digest
        odd = told(standing.oddities)
        return Migrated(self._copy.log_path, standing.coins, standing.height, of_all, odd)

    def _first_unverified(self) -> int:
        with self._slices() as coins:
            return first_unverified(coins, self._copy.standing)

    def catch_up(self) -> None:
        """Copy until the newest block."""
        with self._slices() as coins:
            self._copy.standing.oddities[Oddity.UNPLACED] = coins.unplaced()
            total = max(0, coins.about() - self._copy.standing.coins)
        with self._bar("copy", total) as progress:
            is_done = False
            while not is_done:
                with self._slices() as coins:
                    is_done = self._copy.step(coins, SLICE_SECONDS, progress)
                self._copy.commit()

    def _verify(self, first: int) -> str | None:
        """Hold the log against the table, from a height on; the digest of that. None: the chain has
        changed meanwhile."""
        copy = self._copy
        last = copy.standing.height
        table = TableDigest(copy.log, last, first)
        with self._slices() as coins:
            chain = coins.chain(last)
        total = self._n_coins(first)
        with self._bar("verify copy", total) as progress:
            log = digest_of_log(copy.log, progress, remove_copy(copy.log_path), first)
        with self._bar("verify table", total) as progress:
            while not table.is_complete:
                with self._slices() as coins:
                    if copy.fork(coins) < last or coins.chain(last) != chain:
                        return None
                    chunks = coins.chunks(table.next_height, last, with_spends=table.has_spends)
                    table.add(until(monotonic() + SLICE_SECONDS, chunks), progress)
        if log.hex() != table.digest.hex():
            counts = f"{log.coins:,} and {table.digest.coins:,} of them"
            problem = f"{copy.log_path} and {copy.path} have not got the same coins ({counts})"
            raise InvariantError(f"{problem}; {remove_copy(copy.log_path)}")
        copy.standing.verified, copy.standing.chain = last, chain
        copy.standing.oddities[Oddity.ORPHAN] = table.orphans
        copy.standing.save(copy.log_path)
        return log.hex()

    def _n_coins(self, first: int) -> int:
        """How many coins the copy has of blocks from a height on."""
        if not first:
            return self._copy.standing.coins
        return sum(blocks.n_confirms for blocks in self._copy.log.blocks_packed(first))

    def _check_oddities(self, *, force: bool) -> None:
        odd = told(self._copy.standing.oddities)
        if odd and not force:
            problem = f"it holds what no chain has: {odd}"
            raise WrongDatabaseError(self._copy.path, problem, "--force goes on as it says here")


def first_unverified(coins: NodeCoins, standing: Standing) -> int:
    """The height up to which all was verified on the chain that the table has now, and 1 more.

    0 also where marks were odd: blocks that came since may have spent such a coin.
    """
    chain = coins.chain(standing.verified)
    is_same_chain = bool(chain) and chain == standing.chain
    return 0 if standing.oddities[Oddity.ORPHAN] or not is_same_chain else standing.verified + 1


def standing_of(path: Path) -> Standing:
    """How far a node's coins are copied; nothing is made or changed.

    Raises WrongDatabaseError for a log that is no copy, and CorruptDatabaseError.
    """
    log_path = log_path_of(path)
    if not log_path.is_dir():
        return Standing()
    with _advice_about_copy(log_path):
        standing = Standing.read(log_path)
        names = (FORMAT_FILE, "log")  # MIGRATION is written once both are durable
        if standing is not None:
            for lost in (log_path / name for name in names if not (log_path / name).exists()):
                raise CorruptDatabaseError(lost, "it is missing")
        if standing is None and all((log_path / name).exists() for name in names):
            with coin_log.indexed(log_path, read_only=True) as log:
                _check_no_coins(log, log_path)
    return standing or Standing()


@contextmanager
def opened_copy(path: Path) -> Iterator[Copy]:
    """The log that a node's coins are copied to, made where it is missing; nobody else writes it.

    To be called behind standing_of(), and raises what that does.
    """
    log_path = log_path_of(path)
    with _advice_about_copy(log_path), closing(opened_log(log_path)) as log:
        standing = Standing.read(log_path)
        if standing is None:
            _check_no_coins(log, log_path)
            standing = Standing()
            standing.save(log_path)
        copy = Copy(path, log, log_path, standing)
        copy.resume()
        yield copy


def _check_no_coins(log: Log, log_path: Path) -> None:
    if log.last_block_index is not None:
        problem = "it holds coins, and is no copy under way"
        raise WrongDatabaseError(log_path, problem, "move it away")


@contextmanager
def _advice_about_copy(log_path: Path) -> Iterator[None]:
    """Damage to a copy is not repaired: what it was made of is there."""
    try:
        yield
    except CorruptDatabaseError as error:
        if log_path not in Path(error.path).parents:
            raise
        raise CorruptDatabaseError(error.path, error.problem, remove_copy(log_path)) from error


def opened_log(log_path: Path) -> Log:
    """The log as a node has it."""
    log: Log = coin_log.indexed(log_path, durability=Durability.POWER)
    return log


def plan_of(path: Path, what: str, copied: int, verified: int) -> Plan:
    """What copying and verifying so many coins takes. Raises StorageError without room for it."""
    copied = max(0, copied)
    needed = copied * _COIN_BYTES + SPARE_BYTES
    seconds = copied / _COPIED_COINS_A_SECOND + verified / VERIFIED_COINS_A_SECOND
    return checked_plan(path, Plan.at(path, what, seconds, needed))


def checked_plan(path: Path, plan: Plan) -> Plan:
    """The plan. Raises StorageError where there is no room for it."""
    check_room(path.parent, f"to {plan.what}", plan.needed_bytes)
    return plan


def _snapshots(path: Path, standing: Standing) -> Slices:
    @contextmanager
    def slices() -> Iterator[NodeCoins]:
        with Snapshot(path, TABLES) as snapshot, snapshot.reading():
            # Spent coins lie all over the table.
            snapshot.connection.execute(f"PRAGMA cache_size = -{PAGE_CACHE_BYTES // 1024}")
            yield NodeCoins(snapshot.connection, left_out=standing.left_out)

    return slices
