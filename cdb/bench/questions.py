"""Questions: names to look up, and what has to be answered. They are drawn from a replay's text.

A file of them is records of a name (32 bytes) and its coin's info (INFO_FORMAT).
"""

import random
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from struct import iter_unpack

from cdb.contract.coins import NAME_BYTES, Coin, CoinInfo, bytes32
from cdb.contract.packed import INFO_BYTES, INFO_FORMAT

SEED = 1
RECORD_BYTES = NAME_BYTES + INFO_BYTES
SPENT_BYTES = 4  # at the end of an info
PURPOSES = {"warm_up": (0, 9), "warm": (9, 18), "cold": (18, 20)}  # from which twentieth to which
FEW = 20


@dataclass(frozen=True, slots=True)
class Questions:
    """Names without gaps, and the right answers.

    infos: of each name; zeros where there is no such coin. found: of each name 1 or 0. height: as
    of which they are asked; None for now.
    """

    names: bytes
    infos: bytes
    found: bytes
    height: int | None = None

    @classmethod
    def existing(cls, names: bytes, infos: bytes) -> "Questions":
        """Names of coins, as they are now."""
        return cls(names, infos, b"\1" * (len(names) // NAME_BYTES))

    @classmethod
    def absent(cls, count: int) -> "Questions":
        """Names of no coin."""
        rand = random.Random(SEED)  # noqa: S311 - reproducible, not secret
        return cls(rand.randbytes(NAME_BYTES * count), bytes(INFO_BYTES * count), bytes(count))

    def __len__(self) -> int:
        return len(self.names) // NAME_BYTES

    def part(self, start: int, stop: int) -> "Questions":
        """Those from start to stop-1."""
        return Questions(
            self.names[NAME_BYTES * start : NAME_BYTES * stop],
            self.infos[INFO_BYTES * start : INFO_BYTES * stop],
            self.found[start:stop],
            self.height,
        )

    def as_of(self, height: int) -> "Questions":
        """The same names, asked as of a height: what was confirmed later is absent, and what was
        spent later unspent."""
        infos, found = bytearray(self.infos), bytearray(self.found)
        for place, (confirmed, spent) in enumerate(self.indices()):
            end = INFO_BYTES * (place + 1)
            if confirmed > height:
                infos[end - INFO_BYTES : end] = bytes(INFO_BYTES)
                found[place] = 0
            elif spent > height:
                infos[end - SPENT_BYTES : end] = bytes(SPENT_BYTES)
        return Questions(self.names, bytes(infos), bytes(found), height)

    def ordered(self, places: Iterable[int]) -> "Questions":
        """Those of these places, in their order."""
        names, infos, found = bytearray(), bytearray(), bytearray()
        for place in places:
            names += self.names[NAME_BYTES * place : NAME_BYTES * (place + 1)]
            infos += self.infos[INFO_BYTES * place : INFO_BYTES * (place + 1)]
            found.append(self.found[place])
        return Questions(bytes(names), bytes(infos), bytes(found), self.height)

    def indices(self) -> list[tuple[int, int]]:
        """The confirmed and the spent index of each; zeros where there is no such coin."""
        return [(confirmed, spent) for *_, confirmed, spent in iter_unpack(INFO_FORMAT, self.infos)]

    def answers(self) -> list[CoinInfo]:
        """The coins that are there."""
        return [info for info, found in zip(infos_of(self.infos), self.found, strict=True) if found]


def read_questions(path: Path, purpose: str, count: int | None = None) -> Questions:
    """The questions of a file that are for this purpose, or the first of them.

    Each purpose has questions of its own, unless there are few.
    """
    total = path.stat().st_size // RECORD_BYTES
    start, stop = (total * twentieths // 20 for twentieths in PURPOSES[purpose])
    if total < FEW:
        start, stop = 0, total
    if count is not None:
        stop = min(stop, start + count)
    with path.open("rb") as stream:
        stream.seek(RECORD_BYTES * start)
        written = stream.read(RECORD_BYTES * (stop - start))
    records = [written[at : at + RECORD_BYTES] for at in range(0, len(written), RECORD_BYTES)]
    return Questions.existing(
        b"".join(record[:NAME_BYTES] for record in records),
        b"".join(record[NAME_BYTES:] for record in records),
    )


def names_of(packed_names: bytes) -> list[bytes32]:
    """Names without gaps, one by one."""
    places = range(0, len(packed_names), NAME_BYTES)
    return [bytes32(packed_names[at : at + NAME_BYTES]) for at in places]


def infos_of(packed_infos: bytes) -> list[CoinInfo]:
    """Packed infos as objects."""
    return [
        CoinInfo(Coin(bytes32(parent), bytes32(puzzle_hash), amount), confirmed, spent)
        for parent, puzzle_hash, amount, confirmed, spent in iter_unpack(INFO_FORMAT, packed_infos)
    ]
