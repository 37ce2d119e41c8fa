"""Who keeps history says so, and keeps all of it; scans of masses stay within their memory."""

import os
import re
from pathlib import Path
from typing import Any

import pytest

from cdb.contents.history_digest import digest_of_state, state_rows, unspent_rows
from cdb.contents.loader import accept
from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.history import PAGE_ROWS
from cdb.contract.packed import PackedBlocks
from cdb.contract.schema import HISTORY_METHODS
from cdb.errors import UnsupportedError
from cdb.extensions.native import NativeEngine
from cdb.schemas import Schema, SchemaInfo, find_schema, history_of
from cdb.schemas.memory import MemorySchema
from cdb.schemas.null import NullSchema
from cdb.testing import HistoryConformance
from cdb.testing.base import accept_all
from cdb.testing.chains import hash_of, reward, sample_chain
from cdb.testing.faults.remote import RemoteSchema
from tests.conftest import ready_schemas

MASSES = 200_000
SCAN_BYTES = 64 * 2**20
WITH_HISTORY = [name for name in ready_schemas() if find_schema(name).spec.history is not None]


def test_a_module_says_what_its_databases_offer(own_schema: SchemaInfo, tmp_path: Path) -> None:
    if own_schema.missing is not None:
        pytest.skip(own_schema.missing)
    with own_schema.open(tmp_path / "database") as schema:
        offered = {method for method in HISTORY_METHODS if hasattr(schema, method)}
        assert offered == (set(HISTORY_METHODS) if own_schema.spec.history else set())


def test_states_come_in_the_order_that_the_module_says(
    own_schema: SchemaInfo, tmp_path: Path
) -> None:
    if own_schema.missing is not None:
        pytest.skip(own_schema.missing)
    if own_schema.spec.history is None:
        return
    with own_schema.open(tmp_path / "database") as schema:
        accept_all(schema, sample_chain().blocks)
    with own_schema.open(tmp_path / "database") as schema:
        by_creation = [coin for block in schema.blocks() for coin in block.confirms]
        by_name = sorted(by_creation, key=lambda coin: coin.name())
        orders = {"creation": by_creation, "name": by_name}
        for infos in (history_of(schema).state_at(100), history_of(schema).unspent()):
            coins = [info.coin for info in infos]
            assert coins == [coin for coin in orders[own_schema.spec.history] if coin in {*coins}]


def test_half_a_history_is_a_type_error() -> None:
    class Half(MemorySchema):
        state_at = versions = None  # type: ignore[assignment]

    with pytest.raises(TypeError, match="half a history: it has no state_at, versions"):
        history_of(Half())


def test_no_history_tells_who_keeps_one() -> None:
    with pytest.raises(UnsupportedError, match=r"^schema null keeps no history; (.*) do$") as told:
        history_of(NullSchema(), "null")
    named = re.findall(r"[\w@]+", str(told.value).partition(";")[2])
    assert {"memory", "coin_log", "interval@rocksdb"} <= {*named}
    assert "null" not in named


def test_a_digest_of_a_state_sees_a_row_that_comes_twice() -> None:
    rows = [hash_of(n)[:32] + bytes(8) for n in range(3)]
    digest = digest_of_state(rows)
    assert digest == digest_of_state(rows[::-1])
    assert digest.rows == 3
    assert digest_of_state([*rows, rows[0], rows[0]]).digest != digest.digest


@pytest.mark.parametrize("name", WITH_HISTORY)
def test_names_come_to_native_code_a_page_at_a_time(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two pages Ctrl-C is seen, and others have their turn."""
    most, call = [], NativeEngine.call

    def counting(self: NativeEngine, path: Path, function: str, *arguments: Any) -> None:
        most.append(max([0, *(each for each in arguments if type(each) is int)]))
        call(self, path, function, *arguments)

    confirms = [reward(1, n) for n in range(2 * PAGE_ROWS + 1)]
    names = [name for coin in confirms for name in (coin.name(), hash_of(coin.amount))][::-1]
    with find_schema(name).open(tmp_path / "database") as schema:
        accept(schema, PackedBlocks.of([BlockSpendInfo(1, 0, [], confirms)]))
        expected = schema.coin_infos_for_coin_names(names)
        with monkeypatch.context() as patched:
            patched.setattr(NativeEngine, "call", counting)
            assert history_of(schema).coin_infos_as_of(names, 1) == expected
        assert not history_of(schema).coin_infos_as_of(names, 0)
    assert max(most, default=0) <= PAGE_ROWS


@pytest.mark.long
@pytest.mark.parametrize("name", WITH_HISTORY)
def test_masses(name: str, tmp_path: Path) -> None:
    masses = {"schema": name, "many": MASSES // 8}
    suite = type("Suite", (HistoryConformance,), masses)()
    suite.test_masses_of_coins_in_a_block(tmp_path / "block")
    suite.many = MASSES // 2
    suite.test_scans_hold_no_more_than_a_page_in_memory(tmp_path / "blocks")


@pytest.mark.long
@pytest.mark.parametrize("name", sorted({*WITH_HISTORY} - {"memory"}))
def test_a_scan_takes_little_memory_above_the_open_database(name: str, tmp_path: Path) -> None:
    with find_schema(name).open(tmp_path / "database") as schema:
        for index in range(1, 201):
            confirms = [reward(index, n) for n in range(MASSES // 200)]
            accept(schema, PackedBlocks.of([BlockSpendInfo(index, 0, [], confirms)]))
    with RemoteSchema(name, tmp_path / "database", read_only=True) as remote:
        assert remote.do(scanned_bytes) < SCAN_BYTES


def scanned_bytes(schema: Schema) -> int:
    """How much more memory is resident at the worst while a process scans."""
    history = history_of(schema)
    before = _peak_bytes()
    digest_of_state(state_rows(history, MASSES))
    digest_of_state(unspent_rows(history))
    return _peak_bytes() - before


def _peak_bytes() -> int:
    status = Path(f"/proc/{os.getpid()}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found is not None
    return 1024 * int(found[1])
