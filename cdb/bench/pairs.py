"""Options beside their defaults: an experiment, and the verdict that its figures give each of them.

In each round a base and what differs from it by one option run, beginning with another one than in
the round before. A factor is of one round: how many times as good the figure is with the option. Of
five the least and the greatest hold the median with 94 % confidence: where 1.0 lies between them,
there is no difference.

Of the options only those that pay are still in cdb: MEASURED_AT is the commit that has all.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from cdb.bench.rounds import Figure, Round, Run, figure_of, ratio_of, rounds_of, values_of
from cdb.bench.schemas import LOAD, Contestant

MEASURED_AT = "119d5d4c"
OPTION, DEFAULT, OUT = "an option", "the default", "taken out"
WEAK = "taken out: a gain in one figure alone may be chance"
UNSEEN = "taken out: its checksums are of decompressed blocks, so verify misses some damage"
ROUNDS = 5
WORKLOADS = ("settle", "read_random", "latest", "historical", "append")


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure of a run. more: whether more of it is better."""

    label: str
    workload: str
    figure: str
    more: bool = True
    parameters: tuple[tuple[str, str | int], ...] = ()

    def factor(self, base: str, other: str) -> Figure:
        """How many times as good it is with the other one as with the base."""
        parameters = dict(self.parameters)
        one, two = (
            figure_of(each, self.workload, self.figure, **parameters) for each in (base, other)
        )
        return ratio_of(two, one) if self.more else ratio_of(one, two)


def _names(label: str, workload: str, **parameters: str | int) -> Measure:
    asked: dict[str, str | int] = {"form": "packed", "names": "existing", **parameters}
    return Measure(label, workload, "names_per_second", parameters=tuple(asked.items()))


COMMON = (
    Measure("load", LOAD, "wall_seconds", more=False),
    Measure("size", LOAD, "size_bytes", more=False),
    _names("look-ups, warm, one by one", "read_random", batch=1, threads=1, cache="warm"),
    _names(
        "look-ups, warm, 1,000 at once",
        "read_random",
        batch=1_000,
        threads=1,
        cache="warm",
        state="settled",
    ),
    _names("look-ups, cold, one by one", "read_random", batch=1, threads=1, cache="cold"),
    _names("look-ups, cold, 1,000 at once", "read_random", batch=1_000, threads=1, cache="cold"),
)
UNSETTLED = _names(
    "as of a height, unsettled", "historical", batch=1_000, height="random", state="unsettled"
)
SETTLED = _names(
    "as of a height, settled",
    "historical",
    batch=1_000,
    height="random",
    state="settled",
    cache="warm",
)
ONE_BY_ONE = _names(
    "as of a height, one by one",
    "historical",
    batch=1,
    height="random",
    state="settled",
    cache="warm",
)
RECENT = _names("look-ups of recent coins", "read_random", names="recent", cache="warm")
SCAN = Measure("all unspent coins", "latest", "rows_per_second", parameters=(("form", "packed"),))
ABSENT = _names(
    "absent names, 1,000 at once",
    "read_random",
    names="absent",
    batch=1_000,
    cache="warm",
)


@dataclass(frozen=True, slots=True)
class Pair:
    """base: a schema. option: NAME=VALUE. own: what it is for, beside COMMON. became: what was made
    of it."""

    base: str
    option: str
    own: tuple[Measure, ...] = ()
    became: str = OUT

    @property
    def name(self) -> str:
        """The option's."""
        return self.option.partition("=")[0]

    @property
    def other(self) -> str:
        """The schema with the option."""
        return f"{self.base},{self.option}"

    @property
    def measures(self) -> tuple[Measure, ...]:
        """All figures that it is judged by."""
        return (*COMMON, *self.own)


PAIRS = (
    Pair("interval@rocksdb", "payload=inline", (SCAN,), became=OPTION),
    Pair("interval@rocksdb", "spends=in_row", (SCAN,), became="taken out: always in_row"),
    Pair("interval@pebble", "cache_mb=512", became=OPTION),
    Pair("interval@rocksdb", "hot_latest_mb=16", (RECENT,)),
    Pair("interval@rocksdb", "max_open_files=20"),
    Pair("interval@rocksdb", "compression=snappy"),
    Pair("interval@rocksdb", "compression=lz4"),
    Pair("interval@rocksdb", "compression=zstd"),
    Pair("interval@pebble", "compression=snappy", became=DEFAULT),
    Pair("interval@pebble", "compression=zstd"),
    Pair("interval@badger", "compression=snappy", became=UNSEEN),
    Pair("interval@badger", "compression=zstd", became=UNSEEN),
    Pair("mono_space@rocksdb", "name32=yes"),
    Pair("mono_space@rocksdb", "prefix_filter=no", (ABSENT,), became="taken out: always yes"),
    Pair("mono_space@pebble", "prefix_filter=no", (ABSENT,), became="taken out: always yes"),
    Pair("mono_space@rocksdb", "height_filter=yes", (UNSETTLED, SETTLED)),
    Pair("mono_space@pebble", "height_filter=yes", (UNSETTLED, SETTLED)),
    Pair("mono_space@rocksdb", "session_reuse=yes", (ONE_BY_ONE,), became=WEAK),
    Pair("mono_space@pebble", "session_reuse=yes", (ONE_BY_ONE,), became=DEFAULT),
)
"""All that were measured, those that are still there first."""


def contestants(pairs: Sequence[Pair]) -> Mapping[str, Contestant]:
    """Each base once, and behind it what differs from it by an option."""
    return {name: Contestant(name) for each in pairs for name in (each.base, each.other)}


@dataclass(frozen=True, slots=True)
class Verdict:
    """Of one figure. factors: of each round; none: why."""

    measure: Measure
    factors: tuple[float, ...]
    reason: str = ""

    @property
    def is_judged(self) -> bool:
        """Whether there are enough rounds."""
        return len(self.factors) >= ROUNDS

    @property
    def differs(self) -> bool:
        """Whether the factors of enough rounds lie on one side of 1.0."""
        return self.is_judged and (min(self.factors) > 1 or max(self.factors) < 1)

    @property
    def text(self) -> str:
        """The median, the least and the greatest; where it does not differ, these two."""
        if not self.factors:
            return self.reason or "not measured"
        width = f"({min(self.factors):.2f}–{max(self.factors):.2f})"
        if self.is_judged and not self.differs:
            return f"no difference {width}"
        rounds = "" if self.is_judged else f", of {len(self.factors)} rounds alone"
        return f"{median(self.factors):.2f} {width}{rounds}"


def verdicts(pair: Pair, rounds: Sequence[Round]) -> Iterator[Verdict]:
    """What the rounds say of an option."""
    for measure in pair.measures:
        factors, reason = values_of(measure.factor(pair.base, pair.other), rounds)
        yield Verdict(measure, tuple(factors), reason)


def pairs_in(documents: Sequence[Run]) -> Iterator[tuple[Pair, list[Verdict]]]:
    """The pairs that runs over one replay were made of, with their verdicts."""
    rounds = rounds_of(documents)
    for pair in PAIRS:
        if any(pair.other in one_round for one_round in rounds):
            yield pair, list(verdicts(pair, rounds))
