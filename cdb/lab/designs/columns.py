"""A replay as columns: of each coin, in the order of creation, when it was confirmed and spent."""

from array import array
from dataclasses import dataclass
from pathlib import Path

from cdb.contract.coins import NAME_BYTES
from cdb.contract.packed import PackedBlocks
from cdb.errors import storage_errors
from cdb.text.scanner import scan_packed


@dataclass(frozen=True, slots=True)
class Columns:
    """confirmed: heights, by row. spends: pairs of height and row, one after the other."""

    confirmed: "array[int]"
    spends: "array[int]"
    newest: int

    @property
    def pairs(self) -> "zip[tuple[int, int]]":
        """Height and row of each spend, in the order of heights."""
        return zip(self.spends[::2], self.spends[1::2], strict=True)


def read_columns(replay: Path) -> Columns:
    """Raises StorageError or ReplayError."""
    rows: dict[bytes, int] = {}
    confirmed, spends, newest = array("I"), array("I"), 0
    with storage_errors(replay), replay.open("rb") as stream:
        for packed in scan_packed(stream):
            newest = packed.indices[-1]
            _add(packed, rows, confirmed, spends)
    return Columns(confirmed, spends, newest)


def _add(
    packed: PackedBlocks, rows: dict[bytes, int], confirmed: "array[int]", spends: "array[int]"
) -> None:
    names, spent = bytes(packed.names), bytes(packed.spends)
    coin = spend = 0
    for index, confirm_end, spend_end in zip(
        packed.indices, packed.confirm_ends, packed.spend_ends, strict=True
    ):
        for at in range(coin, confirm_end):
            rows[names[at * NAME_BYTES : (at + 1) * NAME_BYTES]] = len(confirmed)
            confirmed.append(index)
        for at in range(spend, spend_end):
            spends.extend((index, rows.pop(spent[at * NAME_BYTES : (at + 1) * NAME_BYTES])))
        coin, spend = confirm_end, spend_end
