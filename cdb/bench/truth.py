"""What a replay's databases must answer, from its text alone, and what the workloads ask of them.

The directory of a truth holds

    questions    coins drawn evenly from all of the replay's: name (32 bytes), INFO_FORMAT
    tail.txt     the replay's last blocks, to be rewound and accepted again, after one to begin at
"""

import hashlib
import random
import struct
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from cdb.bench.process import WorkloadError
from cdb.coins import NAME_BYTES
from cdb.engines.packed_lookups import INFO_BYTES, INFO_FORMAT
from cdb.packed import AMOUNT_BYTES, CONFIRM_BYTES, PackedBlocks
from cdb.replay import block_text
from cdb.scanner import scan_packed

WARM_NAMES = 200_000
COLD_NAMES = 20_000
TAIL_COINS = 200_000
REWOUND_HEIGHTS = 1_000
SEED = 1

_QUESTION_BYTES = NAME_BYTES + INFO_BYTES
_DRAWN_NAMES = 2 * WARM_NAMES + COLD_NAMES


@dataclass(frozen=True, slots=True)
class Truth:
    """What a replay amounts to; the digest is that of cdb.state.

    tail_base_index: of the block that the tail begins after. rewind_index: of that to go back to.
    """

    blocks: int
    coins: int
    spends: int
    newest_index: int
    digest: str
    tail_base_index: int
    rewind_index: int


@dataclass(frozen=True, slots=True)
class Questions:
    """Names without gaps, and the infos that are the right answers."""

    names: bytes
    infos: bytes

    def __len__(self) -> int:
        return len(self.names) // NAME_BYTES

    def part(self, start: int, stop: int) -> "Questions":
        """Those from start to stop-1."""
        return Questions(
            self.names[NAME_BYTES * start : NAME_BYTES * stop],
            self.infos[INFO_BYTES * start : INFO_BYTES * stop],
        )


@dataclass(frozen=True, slots=True)
class Asked:
    """Different coins for each purpose."""

    warm_up: Questions
    warm: Questions
    cold: Questions


def find_truth(replay: str, directory: str) -> Truth:
    """Read a replay twice, and write questions and tail. Takes about 200 bytes of RAM a spend."""
    spent, indices, coins = _read_spends(replay)
    if len(indices) < 2:
        raise WorkloadError(f"{replay}: it has too few blocks to measure anything")
    base = _tail_base(indices, coins)
    digest = hashlib.sha256()
    drawn = _draw(sum(coins))
    questions: list[bytes] = []
    with (Path(directory) / "tail.txt").open("wb") as tail:
        for packed in _packs(replay):
            names, confirms = bytes(packed.names), bytes(packed.confirms)
            for place, (index, start, stop) in enumerate(_blocks(packed, packed.confirm_ends)):
                digest.update(struct.pack(">IQI", index, packed.timestamps[place], stop - start))
                for coin in range(start, stop):
                    name = names[NAME_BYTES * coin : NAME_BYTES * (coin + 1)]
                    state = index, spent.get(name, 0)
                    digest.update(name + struct.pack(">II", *state))
                    if next(drawn):
                        confirm = confirms[CONFIRM_BYTES * coin : CONFIRM_BYTES * (coin + 1)]
                        questions.append(name + _info(confirm, *state))
                if index >= indices[base]:
                    tail.write(block_text(packed.block(place)))
    random.Random(SEED).shuffle(questions)  # noqa: S311 - reproducible, not secret
    (Path(directory) / "questions").write_bytes(b"".join(questions))
    return Truth(
        blocks=len(indices),
        coins=sum(coins),
        spends=len(spent),
        newest_index=indices[-1],
        digest=digest.hexdigest(),
        tail_base_index=indices[base],
        rewind_index=indices[max(base, bisect_right(indices, indices[-1] - REWOUND_HEIGHTS) - 1)],
    )


def asked(directory: str) -> Asked:
    """The questions that find_truth wrote."""
    written = (Path(directory) / "questions").read_bytes()
    records = [written[at : at + _QUESTION_BYTES] for at in range(0, len(written), _QUESTION_BYTES)]
    all_questions = Questions(
        b"".join(record[:NAME_BYTES] for record in records),
        b"".join(record[NAME_BYTES:] for record in records),
    )
    warm = len(records) * WARM_NAMES // _DRAWN_NAMES
    return Asked(
        warm_up=all_questions.part(0, warm),
        warm=all_questions.part(warm, 2 * warm),
        cold=all_questions.part(2 * warm, len(records)),
    )


def tail_packs(directory: str) -> list[PackedBlocks]:
    """The block that the tail begins after, and the tail."""
    return list(_packs(str(Path(directory) / "tail.txt")))


def packs_above(index: int, packs: Iterable[PackedBlocks]) -> list[PackedBlocks]:
    """Those of the blocks that come after an index."""
    parts = (
        packed.part(bisect_right(packed.indices, index), len(packed))
        for packed in packs
        if packed.indices[-1] > index
    )
    return list(parts)


def _read_spends(replay: str) -> tuple[dict[bytes, int], "array[int]", "array[int]"]:
    """Which block spends a coin, the blocks' indices, and their numbers of coins."""
    spent: dict[bytes, int] = {}
    indices, coins = array("Q"), array("Q")
    for packed in _packs(replay):
        names = bytes(packed.spends)
        for index, start, stop in _blocks(packed, packed.spend_ends):
            places = range(NAME_BYTES * start, NAME_BYTES * stop, NAME_BYTES)
            spent.update(dict.fromkeys((names[at : at + NAME_BYTES] for at in places), index))
        indices.extend(packed.indices)
        coins.extend(stop - start for _, start, stop in _blocks(packed, packed.confirm_ends))
    return spent, indices, coins


def _tail_base(indices: "array[int]", coins: "array[int]") -> int:
    """The place of the last block before the tail, which is at most half of the blocks."""
    place, tail_coins = len(indices) - 1, 0
    while place > len(indices) // 2 and (
        tail_coins < TAIL_COINS or indices[-1] - indices[place] < REWOUND_HEIGHTS
    ):
        tail_coins += coins[place]
        place -= 1
    return min(place, len(indices) - 2)


def _draw(coins: int) -> Iterator[bool]:
    """For each coin whether it is among those to ask for."""
    chosen = random.Random(SEED).sample(range(coins), min(_DRAWN_NAMES, coins))  # noqa: S311
    marks = bytearray(coins)
    for coin in chosen:
        marks[coin] = 1
    return map(bool, marks)


def _info(confirm: bytes, confirmed_index: int, spent_index: int) -> bytes:
    amount = int.from_bytes(confirm[-AMOUNT_BYTES:], "big")
    parent, puzzle_hash = confirm[:NAME_BYTES], confirm[NAME_BYTES : 2 * NAME_BYTES]
    return struct.pack(INFO_FORMAT, parent, puzzle_hash, amount, confirmed_index, spent_index)


def _packs(replay: str) -> Iterator[PackedBlocks]:
    with Path(replay).open("rb", buffering=0) as stream:
        yield from scan_packed(stream)


def _blocks(packed: PackedBlocks, ends: "array[int]") -> Iterator[tuple[int, int, int]]:
    """Each block's index, and where its items start and stop."""
    start = 0
    for index, stop in zip(packed.indices, ends, strict=True):
        yield index, start, stop
        start = stop
