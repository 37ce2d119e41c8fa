"""What a schema in one file is built of; docs/adding-a-schema.md shows how.

This is the public face of the rooms above it, by which cdb's own schemas are built as well. What is
in `__all__` keeps its name, its parameters and what its docstring says; where a version has to
break that, CHANGELOG.md says so, and what to write instead. Nothing else in cdb promises as much.

Begin with one of these:

- Backend, open_backend(): you keep coins and blocks in any way, by eight methods, and the checks,
  the locks, FORMAT, threads, fork() and failed writes are seen to. cdb.building.starter is one.
- PackedBackend, open_backend(): the same with packs of thousands of coins in a call, and you find
  the first block that breaks a rule.
- NameIndex, rows_spec(): coins are SQLite rows, and you find a row by its coin's name; the checks
  and repairs of `cdb verify`, history and packs come with it.
- Shared: you keep the whole contract (cdb.schemas.Schema) yourself, and it makes your calls whole.

The others are for within:

- blocks: BlockSpendInfo, canonical, NamedBlock, named_block, check_against_state, checked_names,
  checked_index; block_text, read_blocks as replay text; PackedBlocks, check_canonical in packs;
- coins: Coin, CoinInfo, bytes32;
- files: Home, Lock, checked_home, repaired_home, located, own, read_own, make_dir, replace_file,
  fsync_file, fsync_dir; file_marks, read_unchanged beside a writer;
- calls of a Store or a Shared: reading, writing, whole, beside;
- history: as_of, the mask, checked_height; BY_CREATION, an order of states;
- errors: those of cdb.errors that a store raises, and storage_errors, which makes them of OSError;
- what the module says: SchemaSpec; Durability, Damage, Progress; Limit.
"""

from cdb.contract.blocks import (
    BlockSpendInfo,
    NamedBlock,
    canonical,
    checked_index,
    checked_names,
)
from cdb.contract.coins import Coin, CoinInfo, bytes32
from cdb.contract.durability import Durability
from cdb.contract.history import BY_CREATION, as_of, checked_height
from cdb.contract.limits import Limit
from cdb.contract.packed import PackedBlocks
from cdb.contract.packed_state import check_canonical
from cdb.contract.progress import Progress
from cdb.contract.rules import check_against_state, named_block
from cdb.contract.spec import SchemaSpec
from cdb.disk.damage import Damage
from cdb.disk.files import fsync_dir, fsync_file, make_dir, replace_file
from cdb.disk.home import Home, Lock, checked_home, repaired_home
from cdb.disk.paths import located, own, read_own
from cdb.disk.sharing import Shared, beside, file_marks, read_unchanged, reading, whole, writing
from cdb.errors import (
    CorruptDatabaseError,
    DatabaseClosedError,
    DatabaseLockedError,
    DatabaseNotFoundError,
    MissingEngineError,
    StorageError,
    UnsupportedError,
    WrongDatabaseError,
    storage_errors,
)
from cdb.front.backend import Backend, BackendFactory, PackedBackend
from cdb.front.store import Store, open_backend
from cdb.stores.rows.index import EMPTY, IndexFactory, NameIndex, Watermark
from cdb.stores.rows.spec import rows_spec
from cdb.text.replay import block_text, read_blocks

__all__ = [
    "BY_CREATION",
    "EMPTY",
    "Backend",
    "BackendFactory",
    "BlockSpendInfo",
    "Coin",
    "CoinInfo",
    "CorruptDatabaseError",
    "Damage",
    "DatabaseClosedError",
    "DatabaseLockedError",
    "DatabaseNotFoundError",
    "Durability",
    "Home",
    "IndexFactory",
    "Limit",
    "Lock",
    "MissingEngineError",
    "NameIndex",
    "NamedBlock",
    "PackedBackend",
    "PackedBlocks",
    "Progress",
    "SchemaSpec",
    "Shared",
    "StorageError",
    "Store",
    "UnsupportedError",
    "Watermark",
    "WrongDatabaseError",
    "as_of",
    "beside",
    "block_text",
    "bytes32",
    "canonical",
    "check_against_state",
    "check_canonical",
    "checked_height",
    "checked_home",
    "checked_index",
    "checked_names",
    "file_marks",
    "fsync_dir",
    "fsync_file",
    "located",
    "make_dir",
    "named_block",
    "open_backend",
    "own",
    "read_blocks",
    "read_own",
    "read_unchanged",
    "reading",
    "repaired_home",
    "replace_file",
    "rows_spec",
    "storage_errors",
    "whole",
    "writing",
]
