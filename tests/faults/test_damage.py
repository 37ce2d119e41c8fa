"""Damage to files: the ways to make it, what counts as found, and what it has found."""

import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from cdb.contents.state import verify
from cdb.contract.durability import Durability
from cdb.errors import CorruptDatabaseError
from cdb.schemas import SchemaInfo, find_schema
from cdb.testing.base import accept_all, expected_state
from cdb.testing.chains import sample_chain
from cdb.testing.faults import BrokenPromiseError, Limit, Subject
from cdb.testing.faults.damage import WAYS
from cdb.testing.faults.damage_trial import rot
from cdb.testing.faults.damaged_reads import Rotting
from cdb.testing.surviving import SurvivingTests
from tests.conftest import PACKAGE_PARENT, index_factories, ready_schemas

BROKEN = "tests.broken.files"
CONTENTS = Random(0).randbytes(20_000)
EARLIER = {3: Random(1).randbytes(10_000), 5: Random(2).randbytes(20_000)}
INDEXED = sorted(index_factories())


@pytest.mark.parametrize("way", WAYS)
def test_each_way_changes_something_and_names_the_place(way: str) -> None:
    damages = [WAYS[way].damage(CONTENTS, EARLIER, Random(seed)) for seed in range(50)]
    contents = {damaged.place: damaged.contents for damaged in damages if damaged is not None}
    assert len(contents) > 10
    assert CONTENTS not in contents.values()
    again = [WAYS[way].damage(CONTENTS, EARLIER, Random(seed)) for seed in range(50)]
    assert again == damages


def test_a_flip_changes_one_bit() -> None:
    damaged = WAYS["flip"].damage(CONTENTS, {}, Random(1))
    assert damaged is not None
    difference = int.from_bytes(damaged.contents, "big") ^ int.from_bytes(CONTENTS, "big")
    assert difference.bit_count() == 1


def test_what_can_not_be_damaged_so_is_left_out() -> None:
    assert WAYS["zero"].damage(bytes(5000), {}, Random(1)) is None
    assert WAYS["swap"].damage(CONTENTS[:1000], {}, Random(1)) is None
    assert WAYS["stale"].damage(CONTENTS, {}, Random(1)) is None
    assert WAYS["stale"].damage(CONTENTS, {3: CONTENTS}, Random(1)) is None


def test_damage_that_verify_overlooks_breaks_a_promise(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """SQLite has bytes that are nobody's; here somebody says that all are checksummed."""
    pretender = Subject("blockchain_v2", checksummed="db")
    monkeypatch.setattr("cdb.testing.faults.damaged_reads.subject_of", lambda spec: pretender)
    rotting = Rotting("blockchain_v2", 1, tmp_path)
    points = rotting.points("flip", WAYS["flip"])
    problems = {str(rotting.judge("flip", point).problem) for point in points}
    assert any(problem.startswith("damage is overlooked: db, bit-") for problem in problems)


@pytest.mark.parametrize(
    ("name", "way", "problem"),
    [
        ("MapsFar", "truncate", "its process ends with -7"),
        ("Reserves", "flip", "undamaged, it gives StorageError"),
        ("BlamesTheDisk", "flip", "damage gives StorageError"),
        ("SeesDamageEverywhere", "flip", "undamaged, it is called damaged"),
        ("SeesNothing", "stale", "asked for whether it is there"),
    ],
)
def test_what_fails_for_another_reason_has_found_no_damage(
    name: str, way: str, problem: str, tmp_path: Path
) -> None:
    with pytest.raises(BrokenPromiseError, match=problem):
        rot(f"{BROKEN}:{name}", 1, tmp_path, way=way)


class Truncated(SurvivingTests):
    """Not collected."""

    __test__ = False
    schema = f"{BROKEN}:MapsFar"


def test_a_store_that_dies_of_a_truncated_file_takes_no_test_along(tmp_path: Path) -> None:
    with pytest.raises(pytest.fail.Exception, match=r"who looks at .*damaged dies: .* -7"):
        Truncated().test_a_truncated_file_is_never_served(tmp_path / "db", tmp_path)


def test_known_limits_are_counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    limit = Limit("flip", ("unseen",), "it has no checksums")
    limited = Subject(f"{BROKEN}:NoChecksum", limits=(limit,))
    monkeypatch.setattr("cdb.testing.faults.damage_trial.subject_of", lambda spec: limited)
    coverage = rot(limited.spec, 1, tmp_path, way="flip")
    assert coverage.found["unseen"]
    assert sum(coverage.found.values()) == coverage.points == coverage.possible


@pytest.mark.parametrize("schema", INDEXED)
@pytest.mark.parametrize("durability", [Durability.POWER, Durability.PROCESS])
def test_an_index_of_rows_that_are_gone_is_damage_unless_power_loss_may_take_them(
    schema: str, durability: Durability, tmp_path: Path
) -> None:
    """The index was thrown away and made anew, in silence."""
    chain, info, path = sample_chain(), find_schema(schema), tmp_path / "db"
    half = len(chain.blocks) // 2
    with info.open(path) as database:
        accept_all(database, chain.blocks[:half])
    shutil.copy(path / "coins.sqlite", tmp_path / "older")
    with info.open(path) as database:
        accept_all(database, chain.blocks[half:])
    shutil.copy(tmp_path / "older", path / "coins.sqlite")
    if durability is Durability.POWER:
        with pytest.raises(CorruptDatabaseError, match=r"commits were lost; cdb verify"):
            info.open(path, durability=durability)
        assert _repaired(info, path)
    with info.open(path, durability=durability) as database:
        assert verify(database) == expected_state(chain.blocks[:half])


def _repaired(info: SchemaInfo, path: Path) -> bool:
    assert info.spec.check is not None
    assert info.spec.repair is not None
    damages = list(info.spec.check(path, lambda coins: None))
    info.spec.repair(path, damages, lambda coins: None)
    return bool(damages) and not list(info.spec.check(path, lambda coins: None))


@pytest.mark.parametrize("spent_index", ["'x'", "x'00'", "-1", "1 << 32", "1.5"])
def test_a_lookup_gives_no_index_that_no_block_has(tmp_path: Path, spent_index: str) -> None:
    chain, path = sample_chain(), tmp_path / "db"
    with find_schema("flat_file").open(path) as database:
        accept_all(database, chain.blocks)
    _change(path, f"UPDATE spend SET spent_index = {spent_index}")  # noqa: S608
    with find_schema("flat_file").open(path) as database, pytest.raises(CorruptDatabaseError):
        database.coin_infos_for_coin_names(chain.names)


def test_nothing_is_added_to_rows_that_lost_their_end(tmp_path: Path) -> None:
    path = tmp_path / "db"
    with find_schema("flat_file").open(path) as database:
        accept_all(database, sample_chain().blocks)
    _change(path, "DELETE FROM block WHERE block_index > 30")
    with pytest.raises(CorruptDatabaseError, match="and its blocks at row"):
        find_schema("flat_file").open(path)


def _change(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path / "coins.sqlite")
    with connection:
        connection.execute(statement)
    connection.close()


@pytest.mark.skipif("rocks_kv" not in ready_schemas(), reason="rocks_kv is missing")
def test_a_table_that_is_damaged_where_it_begins_is_not_the_end_of_the_blocks(
    tmp_path: Path,
) -> None:
    """An iteration ended there, without an error, and so the blocks behind it were lost."""
    info, path = find_schema("rocks_kv:SMALL"), tmp_path / "db"
    with info.open(path) as database:
        for number, block in enumerate(sample_chain().blocks):
            database.accept_block(block)
            if number % 10 == 9:
                database.flush()
    refused = 0
    for table in sorted((path / "db").glob("*.sst")):
        contents = table.read_bytes()
        table.write_bytes(bytes([contents[0] ^ 1]) + contents[1:])
        try:
            with info.open(path, read_only=True) as database:
                assert len(list(database.blocks())) == len(sample_chain().blocks)
        except CorruptDatabaseError:
            refused += 1
        table.write_bytes(contents)
    assert refused > 1


@pytest.mark.parametrize(
    ("problem", "advice"),
    [
        ("page 3 is damaged", "page 3 is damaged; cdb verify SCHEMA --db PATH says"),
        ("page 3 is damaged; load it anew", "page 3 is damaged; load it anew"),
    ],
)
def test_damage_always_says_what_to_do(problem: str, advice: str) -> None:
    assert f"db/run: {advice}" in str(CorruptDatabaseError("db/run", problem))


def test_a_script_that_has_nothing_to_try_has_an_exit_code_of_its_own() -> None:
    """As where no file is written again, so that there is none of before."""
    program = (
        "from dataclasses import replace\n"
        "from cdb.testing.faults import catalogue\n"
        "from cdb.testing.faults.coverage import Coverage\n"
        "def trial(spec, seed, place, **most):\n"
        "    return Coverage('stale', spec, seed, 0, 0, 0)\n"
        "stale = replace(catalogue.CATALOGUE['stale'], trial=trial)\n"
        "catalogue.CATALOGUE = {**catalogue.CATALOGUE, 'stale': stale}\n"
        "from cdb.testing.faults.__main__ import faults\n"
        "faults()\n"
    )
    spec = "tests.broken.files:Good"
    done = subprocess.run(
        [sys.executable, "-c", program, "stale", spec, "--seed", "3"],
        env={**os.environ, "PYTHONPATH": str(PACKAGE_PARENT)},
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 3, done.stderr
    assert done.stdout == f"stale {spec} seed 3: nothing was tried\n".encode()


def test_a_trial_that_finds_nothing_to_do_is_skipped_and_told(tmp_path: Path) -> None:
    (tmp_path / "test_grows.py").write_text(
        "from dataclasses import replace\n"
        "from cdb.testing.faults import suite\n"
        "from cdb.testing.faults.coverage import Coverage\n"
        "def trial(spec, seed, place, **most):\n"
        "    return Coverage('stale', spec, seed, 0, 0, 0)\n"
        "stale = replace(suite.CATALOGUE['stale'], trial=trial)\n"
        "suite.CATALOGUE = {**suite.CATALOGUE, 'stale': stale}\n"
        "class TestGrows(suite.FaultTests):\n"
        "    schema = 'tests.broken.files:Good'\n"
    )
    line = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rs", "-k", "[stale]"]
    done = subprocess.run(
        line,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(PACKAGE_PARENT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout
    assert "nothing was tried: stale found nothing to do" in done.stdout
    assert "stale tests.broken.files:Good seed 5: nothing was tried\n" in done.stdout
    assert "1 skipped" in done.stdout
