"""A damaged node database gives an error or the right answer, never wrong coins.

SQLite has no checksums. A coin's name covers its parent, puzzle hash and amount; but a changed
confirmed_index, spent_index or timestamp is another valid row, and nothing can notice that.
"""

from __future__ import annotations

import random
import sqlite3
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import pytest

from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coins import Coin, CoinInfo, bytes32
from cdb.errors import CorruptDatabaseError, DatabaseError
from cdb.schemas import Schema, find_schema, open_schema
from cdb.stores.node_table.table import NODE_COLUMNS

if TYPE_CHECKING:
    from tests.node.conftest import NodeDatabase

PAGE_BYTES = 4096
FLIPS = 12
INTERIOR, LEAF = 5, 13
NAMED_BY_HASH = ("coin_name", "puzzle_hash", "coin_parent", "amount")
UNNOTICED = ("confirmed_index", "spent_index", "timestamp")
FIXED_SIZES = {0: 0, 5: 6, 6: 8, 7: 8, 8: 0, 9: 0}


class Span(NamedTuple):
    """Bytes of the file: what they are, and which coin's."""

    what: str
    start: int
    end: int
    name: bytes = b""


def varint(data: bytes, at: int) -> tuple[int, int]:
    """An SQLite varint (of less than 9 bytes) and the place after it."""
    value = 0
    while True:
        value = value << 7 | data[at] & 0x7F
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def size_of(serial_type: int) -> int:
    """How many bytes a value has."""
    if serial_type >= 12:
        return (serial_type - 12) // 2
    return FIXED_SIZES.get(serial_type, serial_type)


def leaf_pages(data: bytes, number: int) -> Iterator[int]:
    """Where the leaf pages of a table's B-tree begin in the file."""
    start = (number - 1) * PAGE_BYTES
    if data[start] == LEAF:
        yield start
        return
    assert data[start] == INTERIOR
    for cell in cells(data, start, 12):
        yield from leaf_pages(data, int.from_bytes(data[cell : cell + 4], "big"))
    yield from leaf_pages(data, int.from_bytes(data[start + 8 : start + 12], "big"))


def cells(data: bytes, start: int, header_bytes: int) -> list[int]:
    """Where the cells of a page are in the file."""
    count = int.from_bytes(data[start + 3 : start + 5], "big")
    pointers = range(start + header_bytes, start + header_bytes + 2 * count, 2)
    return [start + int.from_bytes(data[at : at + 2], "big") for at in pointers]


def spans_of_page(data: bytes, start: int) -> Iterator[Span]:
    """What the bytes of a leaf page of coin_record are."""
    places = cells(data, start, 8)
    yield Span("page header", start, start + 8)
    yield Span("cell pointers", start + 8, start + 8 + 2 * len(places))
    for place in places:
        _, at = varint(data, place)
        _, header = varint(data, at)
        yield Span("cell header", place, header)
        header_bytes, at = varint(data, header)
        yield Span("record header", header, header + header_bytes)
        value = header + header_bytes
        name = data[value : value + 32]
        for column in NODE_COLUMNS:
            serial_type, at = varint(data, at)
            yield Span(column, value, value + size_of(serial_type), name)
            value += size_of(serial_type)


@pytest.fixture(scope="module")
def original(live: NodeDatabase, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """One whole file, without a -wal."""
    path = live.copy_to(tmp_path_factory.mktemp("damage") / "node.sqlite")
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return path.read_bytes()


@pytest.fixture(scope="module")
def spans(
    live: NodeDatabase, original: bytes, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[Span]]:
    """All parts of coin_record's leaf pages, by what they are."""
    path = tmp_path_factory.mktemp("damage") / "node.sqlite"
    path.write_bytes(original)
    connection = sqlite3.connect(path)
    query = "SELECT rootpage FROM sqlite_master WHERE name = 'coin_record'"
    (root,) = connection.execute(query).fetchone()
    connection.close()
    found: dict[str, list[Span]] = {}
    for start in leaf_pages(original, root):
        for span in spans_of_page(original, start):
            if span.end > span.start:
                found.setdefault(span.what, []).append(span)
    assert {span.name for span in found["coin_name"]} == set(live.names)
    return found


class Damage:
    """A copy of a database, one byte of which is flipped at a time."""

    def __init__(self, path: Path, data: bytes, seed: str) -> None:
        self.path = path
        self.random = random.Random(seed)
        self._data = data
        path.write_bytes(data)

    def flip(self, span: Span) -> None:
        """Flip one byte of a span, and none elsewhere."""
        at = self.random.randrange(span.start, span.end)
        value = self._data[at] ^ self.random.choice([1 << bit for bit in range(8)] + [0xFF])
        with self.path.open("r+b") as file:
            file.write(self._data)
            file.seek(at)
            file.write(bytes([value]))


@pytest.fixture
def damage(request: pytest.FixtureRequest, tmp_path: Path, original: bytes) -> Damage:
    return Damage(tmp_path / "node.sqlite", original, request.node.name)


Answer = TypeVar("Answer")


def error_or(right: Answer, path: Path, ask: Callable[[Schema], Answer | None]) -> None:
    """The answer is right, or the damage is found."""
    try:
        with open_schema("blockchain_v2", path, read_only=True) as database:
            assert ask(database) == right
    except CorruptDatabaseError:
        pass


def assert_found(path: Path, ask: Callable[[Schema], object]) -> None:
    with (
        open_schema("blockchain_v2", path, read_only=True) as database,
        pytest.raises(CorruptDatabaseError),
    ):
        ask(database)


@pytest.fixture(scope="module")
def info_of(live: NodeDatabase) -> dict[bytes, CoinInfo]:
    return dict(zip(live.names, live.state.infos, strict=True))


@pytest.mark.parametrize("column", NAMED_BY_HASH)
def test_a_flip_in_what_names_a_coin_is_found(
    damage: Damage, spans: dict[str, list[Span]], info_of: dict[bytes, CoinInfo], column: str
) -> None:
    for span in damage.random.sample(spans[column], FLIPS):
        damage.flip(span)
        info = info_of[span.name]
        # The primary key's own index may have the name still.
        error_or([info], damage.path, lookup_of([span.name]))
        assert_found(damage.path, lambda database: list(database.blocks()))
        assert_found(damage.path, block_at(info.confirmed_index))


def lookup_of(names: Iterable[bytes]) -> Callable[[Schema], list[CoinInfo]]:
    asked = [bytes32(name) for name in names]
    return lambda database: database.coin_infos_for_coin_names(asked)


def block_at(index: int) -> Callable[[Schema], BlockSpendInfo | None]:
    return lambda database: database.block_info_for_block_index(index)


def test_a_flip_in_a_spent_coins_name_is_found_by_the_block_that_spends_it(
    damage: Damage, spans: dict[str, list[Span]], info_of: dict[bytes, CoinInfo]
) -> None:
    for span in damage.random.sample(spans["coin_name"], len(spans["coin_name"])):
        info = info_of[span.name]
        if info.spent_index > info.confirmed_index:
            damage.flip(span)
            assert_found(damage.path, block_at(info.spent_index))


@pytest.mark.parametrize("what", ["page header", "cell pointers", "cell header"])
def test_a_flip_elsewhere_is_found_or_does_no_harm(
    live: NodeDatabase, damage: Damage, spans: dict[str, list[Span]], what: str
) -> None:
    for span in some(damage, spans[what]):
        damage.flip(span)
        error_or(live.state.blocks, damage.path, lambda database: list(database.blocks()))
        error_or(live.state.infos, damage.path, lookup_of(live.names))


def some(damage: Damage, spans: list[Span]) -> list[Span]:
    return damage.random.sample(spans, min(FLIPS, len(spans)))


@pytest.mark.parametrize("what", [*UNNOTICED, "record header"])
def test_a_flip_that_cannot_be_noticed_leaves_the_coins_right(
    live: NodeDatabase, damage: Damage, spans: dict[str, list[Span]], what: str
) -> None:
    """A record header says which integer a column is: so a flip there may change one, too."""
    all_coins = {row.coin for row in live.state.coins}
    for span in some(damage, spans[what]):
        damage.flip(span)
        error_or((live.state.coin_list, {int}), damage.path, coins_and_types(live.names))
        error_or((all_coins, {int}), damage.path, confirmed_coins_and_types)


def coins_and_types(names: list[bytes32]) -> Callable[[Schema], tuple[list[Coin], set[type[int]]]]:
    def ask(database: Schema) -> tuple[list[Coin], set[type[int]]]:
        infos = database.coin_infos_for_coin_names(names)
        indices = [(info.confirmed_index, info.spent_index) for info in infos]
        return [info.coin for info in infos], {type(index) for pair in indices for index in pair}

    return ask


def confirmed_coins_and_types(database: Schema) -> tuple[set[Coin], set[type[int]]]:
    blocks = list(database.blocks())
    types = {type(number) for block in blocks for number in (block.index, block.timestamp)}
    return {coin for block in blocks for coin in block.confirms}, types


WRONG_VALUES = {
    "coin_name": ["NULL", "-1", "9223372036854775807", "'x'", "x'00'", "x'ff'", "1.5"],
    "confirmed_index": ["NULL", "-1", "4294967296", "'x'", "x'00'", "1.5"],
    "spent_index": ["NULL", "4294967296", "'x'", "x'00'", "1.5"],
    "puzzle_hash": ["NULL", "5", "'x'", "CAST(x'ff' AS TEXT)", "x'00'"],
    "coin_parent": ["NULL", "5", "'x'", "CAST(x'ff' AS TEXT)", "x'00'"],
    "amount": ["NULL", "5", "'x'", "CAST(x'ff' AS TEXT)", "x''", "x'000000000000000000'"],
    "timestamp": ["NULL", "'x'", "x'00'", "1.5"],
}


@pytest.mark.parametrize(
    ("column", "value"),
    [(column, value) for column, values in WRONG_VALUES.items() for value in values],
)
def test_a_value_that_never_belongs_there(
    mainnet: NodeDatabase, tmp_path: Path, column: str, value: str
) -> None:
    path = mainnet.copy_to(tmp_path / "node.sqlite")
    row = mainnet.state.coins[0]
    statement = f"UPDATE coin_record SET {column} = {value} WHERE coin_name = ?"  # noqa: S608
    update(path, statement, row.name)
    error_or(mainnet.state.blocks, path, lambda database: list(database.blocks()))
    if column != "coin_name":
        error_or(mainnet.state.infos, path, lookup_of(mainnet.names))
    if column != "confirmed_index":
        block = next(block for block in mainnet.state.blocks if block.index == row.confirmed_index)
        error_or(block, path, block_at(block.index))


def update(path: Path, statement: str, *parameters: float | bytes) -> None:
    connection = sqlite3.connect(path)
    with connection:
        assert connection.execute(statement, parameters).rowcount == 1
    connection.close()


def test_a_timestamp_that_differs_within_a_block_is_found(
    mainnet: NodeDatabase, tmp_path: Path
) -> None:
    path = mainnet.copy_to(tmp_path / "node.sqlite")
    update(path, "UPDATE coin_record SET timestamp = timestamp + 1 WHERE rowid = 1")
    with (
        open_schema("blockchain_v2", path, read_only=True) as database,
        pytest.raises(CorruptDatabaseError, match="timestamps"),
    ):
        list(database.blocks())


@pytest.mark.parametrize("spent_index", [0.5, 63, 2], ids=["fraction", "above-the-last", "gap"])
def test_a_spend_where_no_block_is_found(
    mainnet: NodeDatabase, tmp_path: Path, spent_index: float
) -> None:
    assert spent_index not in {block.index for block in mainnet.state.blocks}
    path = mainnet.copy_to(tmp_path / "node.sqlite")
    update(path, "UPDATE coin_record SET spent_index = ? WHERE rowid = 1", spent_index)
    assert_found(path, lambda database: list(database.blocks()))


@pytest.mark.parametrize("bytes_kept", [0, 50, 100, PAGE_BYTES, 200 * PAGE_BYTES + 7])
def test_a_truncated_file(original: bytes, tmp_path: Path, bytes_kept: int) -> None:
    path = tmp_path / "node.sqlite"
    path.write_bytes(original[:bytes_kept])
    with (
        pytest.raises(DatabaseError),
        open_schema("blockchain_v2", path, read_only=True) as database,
    ):
        list(database.blocks())
    assert path.read_bytes() == original[:bytes_kept]
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_the_dump_command_reports_damage_in_one_line(
    damage: Damage,
    spans: dict[str, list[Span]],
    dump_command: list[str],
    command_environment: dict[str, str],
) -> None:
    damage.flip(spans["amount"][1000])
    done = subprocess.run(
        [*dump_command, "--db", str(damage.path)],
        env=command_environment,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 4  # with the blocks before it
    assert done.stderr.count(b"\n") == 1
    assert bytes(damage.path) in done.stderr


@pytest.mark.parametrize("fill", [bytes(PAGE_BYTES), bytes([0xA5]) * PAGE_BYTES], ids=["0", "A5"])
def test_a_page_that_is_lost(
    live: NodeDatabase, original: bytes, tmp_path: Path, fill: bytes
) -> None:
    """Whatever it was: an answer is right, or an error; and nothing is mended or left behind."""
    path = tmp_path / "node.sqlite"
    pages = range(0, len(original), PAGE_BYTES)
    for at in [0, *random.Random(0).sample(pages, FLIPS)]:
        lost = original[:at] + fill + original[at + PAGE_BYTES :]
        path.write_bytes(lost)
        error_or(live.state.blocks, path, lambda database: list(database.blocks()))
        error_or(live.state.infos, path, lookup_of(live.names))
        assert path.read_bytes() == lost
        assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_the_check_of_files_finds_a_lost_page(original: bytes, tmp_path: Path) -> None:
    path = tmp_path / "node.sqlite"
    check = find_schema("blockchain_v2").spec.check
    assert check is not None
    path.write_bytes(original)
    assert list(check(path, lambda coins: None)) == []
    at = len(original) // PAGE_BYTES // 2 * PAGE_BYTES
    path.write_bytes(original[:at] + bytes(PAGE_BYTES) + original[at + PAGE_BYTES :])
    with suppress(CorruptDatabaseError):
        assert list(check(path, lambda coins: None))


def test_a_damaged_wal_ends_at_a_whole_block(live: NodeDatabase, tmp_path: Path) -> None:
    """SQLite takes it for torn there: what the last commits wrote is not served by halves."""
    path = live.copy_to(tmp_path / "node.sqlite")
    file, wal = path.read_bytes(), path.with_name("node.sqlite-wal").read_bytes()
    newest = set()
    for seed in range(5):
        changed = bytearray(wal)
        changed[random.Random(seed).randrange(len(wal))] ^= 0x40
        path.with_name("node.sqlite-wal").write_bytes(changed)
        with open_schema("blockchain_v2", path, read_only=True) as database:
            blocks = list(database.blocks())
            infos = database.coin_infos_for_coin_names(live.names)
        assert blocks == live.state.blocks[: len(blocks)]
        assert len(infos) == sum(len(block.confirms) for block in blocks)
        newest.add(len(live.state.blocks) - len(blocks))
        assert path.read_bytes() == file
        assert path.with_name("node.sqlite-wal").read_bytes() == changed
        assert len(list(tmp_path.iterdir())) == 2
    assert max(newest) == 5
    assert len(newest) > 1
