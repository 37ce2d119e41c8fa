"""Questions: names to look up, and what has to be answered. They are drawn from a replay's text.

A file of them is records of a name (32 bytes) and its coin's info (INFO_FORMAT).
"""

import random
from dataclasses import dataclass, replace
from pathlib import Path
from struct import iter_unpack

from cdb.coins import NAME_BYTES, Coin, CoinInfo, bytes32
from cdb.packed import INFO_BYTES, INFO_FORMAT

SEED = 1
RECORD_BYTES = NAME_BYTES + INFO_BYTES
PURPOSES = {"warm_up": (0, 9), "warm": (9, 18), "cold": (18, 20)}  # from which twentieth to which
FEW = 20


@dataclass(frozen=True, slots=True)
class Questions:
    """Names without gaps, and the infos that are the right answers; none for names of no coin."""

    names: bytes
    infos: bytes

    @classmethod
    def absent(cls, count: int) -> "Questions":
        """Names of no coin."""
        rand = random.Random(SEED)  # noqa: S311 - reproducible, not secret
        return cls(rand.randbytes(NAME_BYTES * count), b"")

    def __len__(self) -> int:
        return len(self.names) // NAME_BYTES

    def part(self, start: int, stop: int) -> "Questions":
        """Those from start to stop-1."""
        return Questions(
            self.names[NAME_BYTES * start : NAME_BYTES * stop],
            self.infos[INFO_BYTES * start : INFO_BYTES * stop],
        )

    def answers(self, as_of: int | None = None) -> list[CoinInfo]:
        """The coins as they are; as_of: as they were when this was the newest block's index."""
        infos = infos_of(self.infos)
        if as_of is None:
            return infos
        return [
            info if info.spent_index <= as_of else replace(info, spent_index=0)
            for info in infos
            if info.confirmed_index <= as_of
        ]


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
    return Questions(
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
