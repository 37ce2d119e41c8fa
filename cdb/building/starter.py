"""All coins in memory, and one file that each flush replaces: put your own idea in their place.

blocks    SHA-256 of what follows it (32 bytes); all blocks, as replay text
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import Path

from cdb import building


class Blocks:
    """Keeps what a Store has checked; cdb.building.Backend says what each method promises."""

    def __init__(self, path: Path, *, durability: building.Durability, read_only: bool) -> None:
        self._file = path / "blocks"
        self._durable = durability is building.Durability.POWER
        self._texts: dict[int, bytes] = {}  # by the blocks' indices, which rise
        self._coins: dict[building.bytes32, building.CoinInfo] = {}
        if self._file.exists():
            self._take(building.read_blocks(BytesIO(self._text())))
        elif read_only:
            raise building.DatabaseNotFoundError(self._file, "nothing was loaded yet; load into it")
        if not read_only:
            self.commit()  # a process that was killed may have left it unsynced

    @property
    def newest_index(self) -> int | None:
        return next(reversed(self._texts), None)

    def find(self, names: Sequence[building.bytes32]) -> list[building.CoinInfo | None]:
        return [self._coins.get(name) for name in names]

    def add(self, block: building.NamedBlock) -> None:
        self._texts[block.index] = building.block_text(block.plain())
        for name, coin in zip(block.names, block.confirms, strict=True):
            self._coins[name] = building.CoinInfo(coin, block.index, 0)
        for name in block.spends:
            self._coins[name] = replace(self._coins[name], spent_index=block.index)

    def commit(self) -> None:
        text = b"".join(self._texts.values())
        data = hashlib.sha256(text).digest() + text
        building.replace_file(self._file, data, durable=self._durable)

    def rewind(self, block_index: int) -> None:
        kept = [block for block in self.blocks() if block.index <= block_index]
        self._texts, self._coins = {}, {}
        self._take(kept)
        self.commit()

    def block(self, block_index: int) -> building.BlockSpendInfo | None:
        return next(building.read_blocks(BytesIO(self._texts.get(block_index, b""))), None)

    def blocks(self) -> Iterator[building.BlockSpendInfo]:
        texts = list(self._texts.values())
        return (block for text in texts for block in building.read_blocks(BytesIO(text)))

    def close(self) -> None:
        """Nothing is open."""

    def _take(self, blocks: Iterable[building.BlockSpendInfo]) -> None:
        for block in blocks:
            self.add(building.named_block(block, self.newest_index))

    def _text(self) -> bytes:
        with building.storage_errors(self._file):
            data = self._file.read_bytes()
        if hashlib.sha256(data[32:]).digest() != data[:32]:
            raise building.CorruptDatabaseError(self._file, "it does not match its checksum")
        return data[32:]


SCHEMA = building.SchemaSpec(partial(building.open_backend, "starter", Blocks))
