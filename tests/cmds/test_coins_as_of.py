"""coins --as-of, --unspent and --versions: all coins as of a height, as lines and as a digest."""

import csv
import hashlib
import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from cdb.cmds.coin_lines import PAGE_ROWS
from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coins import CoinInfo
from cdb.schemas import find_schema
from cdb.schemas.memory import MemorySchema
from tests.cmds.test_coins import as_columns, as_json
from tests.conftest import Commands, closed, load_all, ready_schemas

WITH_HISTORY = [name for name in ready_schemas() if find_schema(name).spec.history is not None]
Loaded = Callable[[str], Path]


@pytest.fixture(scope="module")
def model(blocks: tuple[BlockSpendInfo, ...]) -> MemorySchema:
    """All the blocks, in the model."""
    memory = MemorySchema()
    load_all(memory, blocks)
    return memory


def forty_bytes(info: CoinInfo) -> bytes:
    indices = (info.confirmed_index, info.spent_index)
    return info.coin.name() + b"".join(index.to_bytes(4, "big") for index in indices)


def digest_of_state(infos: list[CoinInfo]) -> dict[str, Any]:
    hashes = [hashlib.sha256(forty_bytes(info)).digest() for info in infos]
    total = sum(int.from_bytes(each, "big") for each in hashes) % 2**256
    return {"rows": len(infos), "digest": total.to_bytes(32, "big").hex()}


def digest_of_versions(infos: list[CoinInfo]) -> dict[str, Any]:
    digest = hashlib.sha256(b"".join(map(forty_bytes, infos))).hexdigest()
    return {"rows": len(infos), "digest": digest}


def cases(model: MemorySchema, blocks: tuple[BlockSpendInfo, ...]) -> dict[str, list[CoinInfo]]:
    """Options, and what they find."""
    middle, later = blocks[len(blocks) // 2].index, blocks[-20].index
    then = list(model.state_at(middle))
    return {
        f"--as-of {middle}": then,
        f"--as-of {middle} --unspent": [info for info in then if not info.spent_index],
        f"--as-of {2**40}": list(model.state_at(2**40)),
        "--unspent": list(model.unspent()),
        f"--versions {middle} {later}": list(model.versions(middle, later)),
        f"--versions {later} {middle}": [],
    }


@pytest.mark.parametrize("schema", WITH_HISTORY)
def test_it_tells_what_was(
    run_command: Commands,
    loaded: Loaded,
    schema: str,
    blocks: tuple[BlockSpendInfo, ...],
    model: MemorySchema,
) -> None:
    path = loaded(schema)
    before = closed(path.parent)
    for options, infos in cases(model, blocks).items():
        line = ("coins", schema, str(path), *options.split())
        out = run_command(*line, "--json").fine().out.decode()
        found = [json.loads(each) for each in out.splitlines()]
        if "--versions" in options:
            assert found == as_json(infos)
            expected = digest_of_versions(infos)
        else:
            assert sorted(found, key=str) == sorted(as_json(infos), key=str)
            expected = digest_of_state(infos)
        assert json.loads(run_command(*line, "--digest", "--json").fine().out) == expected
    assert {path: text for path, text in closed(path.parent).items() if "lock" not in path} == {
        path: text for path, text in before.items() if "lock" not in path
    }


def test_lines_are_those_of_keys(
    run_command: Commands,
    loaded: Loaded,
    blocks: tuple[BlockSpendInfo, ...],
    model: MemorySchema,
) -> None:
    path = loaded("memory")
    every = list(model.state_at(2**32))
    assert len(every) > PAGE_ROWS, "the lines are made more than once"
    heads, *rows = run_command("coins", path, "--as-of", 2**32).fine().out.decode().splitlines()
    assert heads.split() == ["name", "confirmed", "spent", "amount", "puzzle", "hash", "parent"]
    assert [row.split() for row in rows] == as_columns(every)
    assert len({len(row) for row in rows}) == 1
    few = run_command("coins", path, "--as-of", 2**32, "--limit", 3).fine().out.decode()
    assert [row.split() for row in few.splitlines()[1:]] == as_columns(every[:3])
    out = run_command("coins", path, "--versions", 0, blocks[-1].index, "--csv").fine().out.decode()
    found = list(csv.DictReader(StringIO(out)))
    versions = as_json(list(model.versions(0, blocks[-1].index)))
    assert found == [{key: str(value) for key, value in row.items()} for row in versions]
    empty = run_command("coins", path, "--versions", 2, 1, "--csv").fine().out.decode()
    assert empty == out.splitlines()[0] + "\n"
    assert run_command("coins", path, "--versions", 2, 1).fine().out == b""
    told = run_command("coins", path, "--unspent", "--digest").fine().out.decode().split()
    expected = digest_of_state(list(model.unspent()))
    assert told == ["rows", f"{expected['rows']:,}", "digest", expected["digest"]]


def test_what_keeps_no_history_says_so(run_command: Commands) -> None:
    run_command.cwd.joinpath("forgetful.py").write_text(
        "from cdb.schemas.memory import MemorySchema\n"
        "class SCHEMA(MemorySchema):\n"
        "    coin_infos_as_of = state_at = unspent = versions = None\n"
    )
    run_command("load_blocks", "forgetful", input=b"").fine()
    error = run_command("coins", "forgetful", "--as-of", 3).error()
    assert error.startswith("schema forgetful keeps no history; ")
    assert "memory" in error
    assert "null" not in error


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ("--as-of 1 --versions 1 2", "leave out --as-of and --unspent"),
        ("--unspent --versions 1 2", "leave out --as-of and --unspent"),
        ("--as-of 1 --confirmed-at 2", "are of all coins: leave out --puzzle-hash"),
        ("--confirmed-at 2 --digest", "are of all coins: leave out --puzzle-hash"),
        ("--digest", "or --as-of, --versions or --unspent without any"),
        ("--as-of 1 --digest --limit 2", "leave out --limit and --csv"),
        ("--as-of 1 --digest --csv", "leave out --limit and --csv"),
        ("--as-of 1 --json --csv", "give one of --json and --csv"),
        ("--as-of -1", "-1"),
        ("--versions 1", "--versions"),
    ],
)
def test_options_that_do_not_go_together(
    run_command: Commands, loaded: Loaded, options: str, problem: str
) -> None:
    error = run_command("coins", loaded("memory"), *options.split()).usage_error()
    assert problem in " ".join(error.split())
