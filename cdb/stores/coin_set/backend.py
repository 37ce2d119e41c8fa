"""A coin set in an engine, and beside it NEWEST, which promises how far it has come.

my.cdb/
├── FORMAT, LOCK    see cdb.disk.home
├── db/             the engine's; docs/schemas/rocks_kv.md draws its keys and values
└── NEWEST          how far db/ had come when it was last closed or given a large commit
"""

from pathlib import Path

from cdb.contract.packed import PackedBlocks
from cdb.contract.packed_state import with_names
from cdb.contract.progress import Progress
from cdb.disk.files import make_dir
from cdb.errors import CorruptDatabaseError
from cdb.extensions.native import NativeEngine
from cdb.stores.coin_set.binding import CoinSet, Keys, Options
from cdb.stores.coin_set.check import DB
from cdb.stores.coin_set.promise import (
    NEWEST_FILE,
    Promise,
    reached,
    read_promise,
    shortfall,
    write_promise,
)

BATCH_ENTRIES = 50_000


class PromisedSet(CoinSet):
    """The backend of a coin set: see HistoryBackend, SettlingBackend and KeyedBackend.

    path: of the database, whose engine's directory a writer makes.
    """

    reads_beside = True

    def __init__(self, engine: NativeEngine, path: Path, options: Options) -> None:
        self._newest_file = path / NEWEST_FILE
        promised = read_promise(self._newest_file)
        if not options.read_only:
            make_dir(path / DB, durable=options.sync, folders=engine.folders)
        create = promised is None and not options.read_only
        super().__init__(engine, path / DB, options._replace(create=create))
        self._durable = options.sync
        self._has_keys_to_make = options.keys is Keys.KEPT
        self._ingestions = 0
        self._promised = promised or Promise(-1, 0)
        try:
            if promised is None and not self.state.is_new:
                raise CorruptDatabaseError(self._newest_file, "it is missing")
            if problem := shortfall(self._promised, self):
                raise CorruptDatabaseError(self.path, problem)
            if create:
                self._promise(self._promised)
            self.newest_index = self.state.newest
        except BaseException:
            self.close()
            raise

    def complete(self, step_coins: int, progress: Progress | None) -> None:
        """Of a writer: end a rewind that a crash has cut short, and make the secondary keys that
        are lacking, of so many coins at a time. progress is told of these."""
        self._end_rewind()
        if not self._has_keys_to_make or self.state.has_keys:
            return
        for coins in self.make_keys(step_coins):
            if progress is not None:
                progress(coins)
        self._promise_what_was_ingested()

    def accept(self, blocks: PackedBlocks, *, may_defer: bool) -> PackedBlocks | None:
        """See PackedBackend. No refusal is deferred."""
        accepted = self.add(blocks)
        if accepted:
            self.newest_index = blocks.indices[accepted - 1]
        self._promise_what_was_ingested()
        return None if accepted == len(blocks) else blocks.part(accepted, accepted + 1)

    def commit(self) -> None:
        """See PackedBackend."""
        super().commit()
        self._promise_what_was_ingested()

    def settle(self) -> None:
        """See SettlingBackend."""
        super().settle()
        self._promise(reached(self))

    def rewind(self, block_index: int) -> None:
        """See PackedBackend."""
        self.commit()
        if self._promised.newest > block_index:
            self._promise(Promise(-1, self._promised.sequence))  # fault: promise-kept-by-rewind
        self.begin_rewind(block_index)
        self.newest_index = self.state.newest
        self._end_rewind()

    def finish(self) -> None:
        """See PackedBackend."""
        self.end_reading()
        self.checkpoint()
        self._promise(reached(self))

    def _promise(self, promise: Promise) -> None:
        if promise != self._promised or not self._newest_file.exists():
            write_promise(self._newest_file, promise)
            self._promised = promise

    def _promise_what_was_ingested(self) -> None:
        """Runs that were ingested are not in the log, so a manifest that is cut would lose them.

        Below POWER the log may hold more than was synced, and nothing is promised before a close.
        """
        ingestions = self.state.ingestions
        if self._durable and ingestions != self._ingestions:
            self._ingestions = ingestions
            self._promise(reached(self))

    def _end_rewind(self) -> None:
        """Erase what a rewind has put out of sight, also one that a crash has cut short."""
        if not self.state.is_rewinding:
            return
        first = 0
        # Each batch by a cursor of its own: while one is open, engines may reuse no freed space.
        while rewound := self.rewound(first).next(BATCH_ENTRIES):
            self.erase(with_names(rewound))
            first = rewound.indices[-1] + 1
        self.end_rewind()
