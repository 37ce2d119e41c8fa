"""Faults in what goes over any schema: loader, packs, digest and verification, replay scanner."""

from tests.mutants.mutant import Mutant

_PACKED = ("coin_log", "rocks_kv", "sqlite_v3", "sqlite_row", "flat_file", "rocks", "blockchain_v2")
_ALL = (*_PACKED, "memory")

BLIND = (
    Mutant(
        "other-chain-is-loaded-on",
        "cdb/loader.py",
        "elif schema.block_info_for_block_index(index) != block:",
        "elif schema.block_info_for_block_index(index) is None:",
        1,
        "a load goes on only where the database's newest block is the replay's",
        _ALL,
        blind=True,
    ),
    Mutant(
        "pack-too-long-is-taken",
        "cdb/packed.py",
        "if len(buffer) != nbytes:",
        "if len(buffer) < nbytes:",
        15,
        "buffers whose lengths don't agree are a ValueError, and nothing has happened",
        _PACKED,
        blind=True,
    ),
    Mutant(
        "pack-ends-fall",
        "cdb/packed.py",
        "if any(map(gt, ends, ends[1:])):",
        "if any(map(gt, ends[:1], ends[1:])):",
        15,
        "ends that fall are a ValueError, and nothing has happened",
        _PACKED,
        blind=True,
    ),
    Mutant(
        "spent-coins-not-counted",
        "cdb/state.py",
        "if sums.spent != sums.spends:",
        "if sums.spent < sums.spends:",
        11,
        "verify tells of coins that say they are spent, and no block spends",
        _ALL,
        blind=True,
    ),
    Mutant(
        "blocks-alone-not-compared",
        "cdb/state.py",
        "_other_alone(schema, blocks),",
        "",
        11,
        "verify asks for each block alone, too",
        _ALL,
        blind=True,
    ),
    Mutant(
        "spent-before-confirmed",
        "native/state.cpp",
        "return index > 0 && info.spent_index == index && info.confirmed_index <= index;",
        "return index > 0 && info.spent_index == index;",
        11,
        "verify tells of a coin that is spent before it is there",
        _ALL,
        blind=True,
    ),
    Mutant(
        "scanner-takes-an-index-again",
        "native/scan.cpp",
        "text_.take_eol() && static_cast<int64_t>(header->index) > newest_index_;",
        "text_.take_eol() && static_cast<int64_t>(header->index) >= newest_index_;",
        1,
        "a replay with one index twice is an error that names the line",
        _ALL,
        blind=True,
    ),
    Mutant(
        "scanner-leaves-two-unsorted",
        "native/scan.cpp",
        "if (!sorted) std::sort(entries, entries + n, less<Entry>);",
        "if (!sorted && n > 2) std::sort(entries, entries + n, less<Entry>);",
        8,
        "blocks of a replay are put into canonical order",
        _ALL,
        blind=True,
    ),
)
