"""How much memory there is: the least of what the machine and control groups of each kind say."""

import os
from pathlib import Path

import pytest

from cdb.process.memory import memory_bytes
from cdb.schemas import lmdb_kv, rocks_kv

MACHINE_BYTES = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@pytest.mark.parametrize(
    ("groups", "limits", "expected"),
    [
        ("0::/a/b\n", {"a/b/memory.max": "300000000"}, 300_000_000),
        ("0::/a/b\n", {"a/memory.max": "7000000", "a/b/memory.max": "max"}, 7_000_000),
        ("0::/\n", {"memory.max": "9000000"}, 9_000_000),
        ("0::/a\n", {"b/memory.max": "5", "a/memory.max": "max"}, MACHINE_BYTES),
        (
            "5:cpu,memory:/a\n1:cpu:/a\n0::/a\n",
            {"memory/a/memory.limit_in_bytes": "8000000", "cpu/a/memory.limit_in_bytes": "5"},
            8_000_000,
        ),
        ("4:memory:/a:b\n", {"memory/memory.limit_in_bytes": str(2**63 - 4096)}, MACHINE_BYTES),
        ("", {}, MACHINE_BYTES),
        (None, {}, MACHINE_BYTES),
    ],
)
def test_the_least_counts(
    groups: str | None, limits: dict[str, str], expected: int, tmp_path: Path
) -> None:
    for file, text in limits.items():
        (tmp_path / "top" / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "top" / file).write_text(f"{text}\n")
    if groups is not None:
        (tmp_path / "groups").write_text(groups)
    assert memory_bytes(tmp_path / "groups", tmp_path / "top") == expected


@pytest.mark.parametrize(
    ("memory", "in_lmdb", "in_rocksdb"),
    [
        (24 * 10**9, 3_000_000, 3_000_000),
        (3 * 10**9, 3_000_000, 3_000_000),
        (1_300 * 10**6, 377_096, 2_166_666),
        (300 * 10**6, 17_663, 500_000),
        (10**6, 10_000, 10_000),
    ],
)
def test_a_commit_of_a_coin_set_fits_into_it(
    memory: int, in_lmdb: int, in_rocksdb: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cdb.stores.coin_set.schema.memory_bytes", lambda: memory)
    assert lmdb_kv.KIND.commit_entries() == in_lmdb
    assert rocks_kv.KIND.commit_entries() == in_rocksdb
