"""Ways to damage a file, as disks, copies and hands do: each changes contents that lie still."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

UNITS_BYTES = (512, 4096)
TRIES = 20


@dataclass(frozen=True)
class Damaged:
    """A file's contents after damage, and where that is, in the terms of the way it came."""

    place: str
    contents: bytes


Damaging = Callable[[bytes, Mapping[int, bytes], Random], Damaged | None]
"""From a file's contents, and those that it had at earlier steps; None if it can't be done so."""


@dataclass(frozen=True)
class Way:
    """One way to damage a file."""

    about: str
    damaging: Damaging

    def damage(
        self, contents: bytes, earlier: Mapping[int, bytes], random: Random
    ) -> Damaged | None:
        """Change contents at a place of random's choice; None where nothing can be changed."""
        for _ in range(TRIES):
            damaged = self.damaging(contents, earlier, random)
            if damaged is not None and damaged.contents != contents:
                return damaged
        return None


def _flip(contents: bytes, earlier: Mapping[int, bytes], random: Random) -> Damaged:
    bit = random.randrange(8 * len(contents))
    changed = bytearray(contents)
    changed[bit // 8] ^= 1 << bit % 8
    return Damaged(f"bit-{bit}", bytes(changed))


def _zero(contents: bytes, earlier: Mapping[int, bytes], random: Random) -> Damaged:
    begin, end = _unit(contents, random)
    zeros = bytes(end - begin)
    return Damaged(f"{begin}-{end}", contents[:begin] + zeros + contents[end:])


def _truncate(contents: bytes, earlier: Mapping[int, bytes], random: Random) -> Damaged:
    length = random.randrange(len(contents))
    return Damaged(str(length), contents[:length])


def _swap(contents: bytes, earlier: Mapping[int, bytes], random: Random) -> Damaged | None:
    unit_bytes = random.choice(UNITS_BYTES)
    begins = range(0, len(contents) - unit_bytes + 1, unit_bytes)
    if len(begins) < 2:
        return None
    one, other = random.sample(begins, 2)
    changed = bytearray(contents)
    changed[one : one + unit_bytes] = contents[other : other + unit_bytes]
    changed[other : other + unit_bytes] = contents[one : one + unit_bytes]
    return Damaged(f"{one}-{other}-{unit_bytes}", bytes(changed))


def _stale(contents: bytes, earlier: Mapping[int, bytes], random: Random) -> Damaged | None:
    if not earlier:
        return None
    step = random.choice(list(earlier))
    old = earlier[step]
    if random.random() < 0.5:
        return Damaged(f"whole-of-step-{step}", old)
    begin, end = _unit(contents, random)
    changed = contents[:begin] + old[begin:end] + contents[begin + len(old[begin:end]) :]
    part = "whole" if changed == old else f"{begin}-{end}"
    return Damaged(f"{part}-of-step-{step}", changed)


def _unit(contents: bytes, random: Random) -> tuple[int, int]:
    """Where a sector or a page of the file begins and ends; the last one may be short."""
    unit_bytes = random.choice(UNITS_BYTES)
    begin = random.randrange(0, len(contents), unit_bytes)
    return begin, min(begin + unit_bytes, len(contents))


WAYS: Mapping[str, Way] = {
    "flip": Way("one bit of a file flips", _flip),
    "zero": Way("a sector or a page of a file becomes zeros", _zero),
    "truncate": Way("a file is cut short", _truncate),
    "swap": Way("two sectors or pages of a file change places", _swap),
    "stale": Way("a file, or a part of it, is as it was earlier", _stale),
}
