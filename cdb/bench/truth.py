"""The truth: what a replay's databases must answer, from its text alone.

Its directory holds what the workloads ask for, and what they accept:

    any, recent, sequence    questions (see questions.py) of coins drawn evenly from all, and from
                             the newest tenth; and of coins that lie side by side
    tail.txt                 the replay's last blocks, after one to begin at
    small.txt                what the last coins of it amount to, in small blocks (see tail.py)
    history.json             digests of scans as of heights (see history_truth.py)
"""

import hashlib
import random
import struct
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from cdb.bench.history_truth import HistoryRecorder, HistoryTruth
from cdb.bench.questions import SEED, Questions, names_of, read_questions
from cdb.bench.tail import packs_of, small_blocks
from cdb.contract.coins import NAME_BYTES
from cdb.contract.packed import AMOUNT_BYTES, CONFIRM_BYTES, INFO_FORMAT, PackedBlocks
from cdb.errors import storage_errors
from cdb.lab.process import WorkloadError
from cdb.text.replay import block_text, write_blocks

KINDS = {"any": 1, "recent": 2, "sequence": 4}  # of questions, and their marks
ANY_NAMES = 200_000
RECENT_NAMES = 100_000
SEQUENCE_NAMES = 100_000
RECENT_PART = 10  # the newest tenth
ACCEPTED_COINS = 170_000
REWOUND_HEIGHTS = (1, 10, 100, 1_000, 10_000, 100_000)
HISTORY = "history.json"
REWOUND_PART = 3  # at most a third of the blocks


@dataclass(frozen=True, slots=True)
class Truth:
    """What a replay amounts to; the digest is that of cdb.contents.state.

    tail_index: of the block that tail.txt begins with. accepted_index: of that after which the
    coins of small.txt come. rewound_to: where the first rewinds of REWOUND_HEIGHTS end, each of
    which begins where the one before ended.
    """

    directory: str
    blocks: int
    coins: int
    spends: int
    newest_index: int
    digest: str
    tail_index: int
    accepted_index: int
    rewound_to: list[int]

    @property
    def tail(self) -> Path:
        """The replay's last blocks: that of tail_index and all after it."""
        return Path(self.directory, "tail.txt")

    @property
    def small(self) -> Path:
        """The coins after the block of accepted_index, in small blocks of other indices."""
        return Path(self.directory, "small.txt")

    def questions(self, names: str, purpose: str, count: int | None = None) -> Questions:
        """Those of "any", "recent" or "sequence"; see read_questions."""
        return read_questions(Path(self.directory, names), purpose, count)

    def history(self) -> HistoryTruth:
        """What scans as of heights must give."""
        return HistoryTruth.read(Path(self.directory, HISTORY))


def find_truth(replay: str, directory: str) -> Truth:
    """Read a replay twice, and write the files. Takes about 200 bytes of RAM a spend."""
    spent, indices, coins = _read_spends(replay)
    if len(indices) < 2 or not any(coins):
        raise WorkloadError(f"{replay}: it has too few blocks or coins to measure anything")
    accepted = _accepted_place(coins)
    rewound = list(_rewound_places(indices))
    tail = min(accepted, *rewound)
    spends, recorder = len(spent), HistoryRecorder(indices, coins)
    with storage_errors(Path(directory)):
        digest = _write_files(
            Path(directory), replay, spent, _draw(sum(coins)), indices[tail], recorder
        )
        recorder.truth().write(Path(directory, HISTORY))
    truth = Truth(
        directory=directory,
        blocks=len(indices),
        coins=sum(coins),
        spends=spends,
        newest_index=indices[-1],
        digest=digest,
        tail_index=indices[tail],
        accepted_index=indices[accepted],
        rewound_to=[indices[place] for place in rewound],
    )
    with storage_errors(truth.small), truth.small.open("wb") as stream:
        write_blocks(stream, small_blocks(packs_of(truth.tail, truth.accepted_index)))
    return truth


def _write_files(
    directory: Path,
    replay: str,
    spent: dict[bytes, int],
    drawn: bytes,
    tail_index: int,
    recorder: HistoryRecorder,
) -> str:
    """Write tail.txt and the questions that were drawn, and tell the recorder of all blocks;
    returns the digest. It takes from spent what it has made use of."""
    digest = hashlib.sha256()
    asked: dict[str, list[bytes]] = {kind: [] for kind in KINDS}
    number = 0
    with (directory / "tail.txt").open("wb") as tail:
        for packed in packs_of(replay):
            names, confirms = bytes(packed.names), bytes(packed.confirms)
            spends = names_of(bytes(packed.spends))
            spends_of = _blocks(packed, packed.spend_ends)
            for place, (index, start, stop) in enumerate(_blocks(packed, packed.confirm_ends)):
                rows = []
                for coin in range(start, stop):
                    name = names[NAME_BYTES * coin : NAME_BYTES * (coin + 1)]
                    state = index, spent.pop(name, 0)
                    rows.append(name + struct.pack(">II", *state))
                    if drawn[number]:
                        confirm = confirms[CONFIRM_BYTES * coin : CONFIRM_BYTES * (coin + 1)]
                        question = name + _info(confirm, *state)
                        for kind, mark in KINDS.items():
                            if drawn[number] & mark:
                                asked[kind].append(question)
                    number += 1
                digest.update(struct.pack(">IQI", index, packed.timestamps[place], stop - start))
                digest.update(b"".join(rows))
                _, first, last = next(spends_of)
                recorder.add(index, rows, spends[first:last])
                if index >= tail_index:
                    tail.write(block_text(packed.block(place)))
    for kind, questions in asked.items():
        if kind != "sequence":
            random.Random(SEED).shuffle(questions)  # noqa: S311 - reproducible, not secret
        (directory / kind).write_bytes(b"".join(questions))
    return digest.hexdigest()


def _read_spends(replay: str) -> tuple[dict[bytes, int], "array[int]", "array[int]"]:
    """Which block spends a coin, the blocks' indices, and their numbers of coins."""
    spent: dict[bytes, int] = {}
    indices, coins = array("Q"), array("Q")
    for packed in packs_of(replay):
        names = bytes(packed.spends)
        for index, start, stop in _blocks(packed, packed.spend_ends):
            places = range(NAME_BYTES * start, NAME_BYTES * stop, NAME_BYTES)
            spent.update(dict.fromkeys((names[at : at + NAME_BYTES] for at in places), index))
        indices.extend(packed.indices)
        coins.extend(stop - start for _, start, stop in _blocks(packed, packed.confirm_ends))
    return spent, indices, coins


def _accepted_place(coins: "array[int]") -> int:
    """The place of the last block before the newest ACCEPTED_COINS, or half of the blocks."""
    newest_first = list(accumulate(reversed(coins)))
    taken = bisect_left(newest_first, ACCEPTED_COINS) + 1
    return len(coins) - 1 - min(taken, len(coins) // 2)


def _rewound_places(indices: "array[int]") -> Iterator[int]:
    """The place of the newest block after each rewind, which begins where the one before ended."""
    least = len(indices) - 1 - max(len(indices) // REWOUND_PART, 1)
    place = len(indices) - 1
    for heights in REWOUND_HEIGHTS:
        place = bisect_right(indices, indices[place] - heights) - 1
        if place < least:
            return
        yield place


def _draw(coins: int) -> bytes:
    """For each coin the marks of those of KINDS that it is asked for as."""
    recent = max(coins // RECENT_PART, 1)
    sequence = min(SEQUENCE_NAMES, coins)
    first = (coins - sequence) // 2
    chosen = {
        "any": _sample(range(coins), ANY_NAMES),
        "recent": _sample(range(coins - recent, coins), RECENT_NAMES),
        "sequence": range(first, first + sequence),
    }
    marks = bytearray(coins)
    for kind, mark in KINDS.items():
        for coin in chosen[kind]:
            marks[coin] |= mark
    return bytes(marks)


def _sample(coins: range, count: int) -> Sequence[int]:
    return random.Random(SEED).sample(coins, min(count, len(coins)))  # noqa: S311 - as above


def _info(confirm: bytes, confirmed_index: int, spent_index: int) -> bytes:
    amount = int.from_bytes(confirm[-AMOUNT_BYTES:], "big")
    parent, puzzle_hash = confirm[:NAME_BYTES], confirm[NAME_BYTES : 2 * NAME_BYTES]
    return struct.pack(INFO_FORMAT, parent, puzzle_hash, amount, confirmed_index, spent_index)


def _blocks(packed: PackedBlocks, ends: "array[int]") -> Iterator[tuple[int, int, int]]:
    """Each block's index, and where its items start and stop."""
    start = 0
    for index, stop in zip(packed.indices, ends, strict=True):
        yield index, start, stop
        start = stop
