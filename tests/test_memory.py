"""How much memory there is: the least of what the machine and control groups of each kind say."""

import os
from pathlib import Path

import pytest

from cdb.process.memory import memory_bytes

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
