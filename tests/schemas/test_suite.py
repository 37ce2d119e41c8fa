"""``pytest --cdb-schema`` holds a schema to the contracts that its module says it keeps."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import PACKAGE_PARENT


@pytest.mark.parametrize(
    ("named", "held_by_keys"),
    [
        (["rocks", "sqlite_v3"], []),
        (
            ["rocks", "blockchain_v2:NODE", "blockchain_v2", "memory"],
            ["blockchain_v2:INDEXED", "memory"],
        ),
    ],
)
def test_secondary_keys_are_held_to_their_contract_where_there_are_any(
    tmp_path: Path, named: list[str], held_by_keys: list[str]
) -> None:
    options = [f"--cdb-schema={name}" for name in named]
    line = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE_PARENT)}
    done = subprocess.run(
        [*line, *options], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stdout
    for name in named:
        assert f"test_an_empty_database_has_no_blocks[{name}]" in done.stdout
    promise = "test_an_empty_database_has_no_coins"
    held = [each for each in done.stdout.splitlines() if promise in each]
    assert [each.partition(promise)[2] for each in held] == [f"[{name}]" for name in held_by_keys]


def test_history_is_held_to_its_contract_where_a_database_has_any_of_it(tmp_path: Path) -> None:
    (tmp_path / "half.py").write_text(
        "from cdb.schemas.memory import MemorySchema\n"
        "class SCHEMA(MemorySchema):\n"
        "    state_at = None\n"
    )
    promise = "test_an_empty_database_has_no_past"
    line = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", promise]
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE_PARENT)}
    options = [f"--cdb-schema={name}" for name in ("half", "memory", "null")]
    done = subprocess.run(
        [*line, *options, "-rA"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert f"::{promise}[memory]" in done.stdout
    assert "half a history: it has no state_at" in done.stdout
    assert f"{promise}[null]" not in done.stdout
    assert "1 failed, 1 passed" in done.stdout
