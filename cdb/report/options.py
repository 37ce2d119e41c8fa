"""The question of options: each beside its default, and whether it pays."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from cdb.bench.pairs import COMMON, MEASURED_AT, ROUNDS, Pair, Verdict
from cdb.report.parts import Block, Fold, Items, Table, Text
from cdb.report.units import times

WORTH = 1.05
"""What gains or costs less in any round decides nothing."""
_HOW = (
    "Each round runs a base and its options, beginning with another one, all in fresh processes "
    "over the same replay, and all answers are checked. A figure says how many times as good it is "
    "with the option: the median of {rounds} rounds, the least and the greatest. Where 1.0 lies "
    "between them there is no difference, and less than {worth} % in any round decides nothing. By "
    "chance alone all rounds lie on one side for one figure in {chance}, and {figures} were "
    "judged: a gain in one figure alone is weak. Commit {commit} has all options, and cdb bench "
    "pairs measures them there."
)
ON_PAPER = (
    "last_modified (in memory, when each coin last changed): does not pay. It takes some 40 bytes "
    "per coin, 540 MB for 13.4 million, and a coin's one row says it, as it changes once.",
    "zero_copy (answers that point into the engine's memory): does not pay. A coin is 80 bytes, "
    "which are copied in some 10 ns; the fastest look-up takes 220.",
)
"""Why two others were not built."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A pair with its verdicts. place: the machine; source: the replay."""

    pair: Pair
    verdicts: Sequence[Verdict]
    place: str
    source: str

    @property
    def gains(self) -> list[Verdict]:
        """Figures that are better with it."""
        return [each for each in self.verdicts if each.is_judged and min(each.factors) >= WORTH]

    @property
    def costs(self) -> list[Verdict]:
        """Figures that are worse with it."""
        return [each for each in self.verdicts if each.is_judged and max(each.factors) <= 1 / WORTH]

    @property
    def n_judged(self) -> int:
        """How many of its figures have enough rounds."""
        return sum(1 for each in self.verdicts if each.is_judged)

    @property
    def verdict(self) -> str:
        """In words."""
        if not self.n_judged:
            return "not measured"
        gains, costs = _listed(self.gains), _listed(self.costs)
        if gains and costs:
            return f"pays for {gains}; costs {costs}"
        if gains:
            return f"pays: {gains}"
        return f"does not pay: costs {costs}" if costs else "no difference"


def _listed(verdicts: Sequence[Verdict]) -> str:
    return ", ".join(f"{each.measure.label} {times(median(each.factors))}" for each in verdicts)


def options_block(judged: Sequence[Judged]) -> Block:
    """What the pairs say of all options, of which there is one at least."""
    lines = [[each.pair.other, each.verdict, each.pair.became] for each in judged]
    measured = sum(1 for each in judged if each.n_judged)
    paying = sum(1 for each in judged if each.gains and not each.costs)
    mixed = sum(1 for each in judged if each.gains and each.costs)
    finding = (
        f"Of {measured} options measured beside their defaults {paying} only gain, "
        f"{mixed} gain and cost, and {measured - paying - mixed} do not pay."
    )
    header = ("option", "verdict", "what became of it")
    table = Table.of_texts("What each option does", header, lines, words=3)
    figures = Fold(
        "All figures, and how they were measured", (Text(_how(judged)), _figures(judged))
    )
    return Block(finding, f"{measured} measured", (table, Items(ON_PAPER), figures))


def _how(judged: Sequence[Judged]) -> str:
    places = dict.fromkeys(f"{each.place}, {each.source}" for each in judged)
    how = _HOW.format(
        rounds=ROUNDS,
        worth=round(100 * (WORTH - 1)),
        chance=2 ** (ROUNDS - 1),
        figures=sum(each.n_judged for each in judged),
        commit=MEASURED_AT,
    )
    return f"{'; '.join(places)}. {how}"


def _figures(judged: Sequence[Judged]) -> Table:
    header = ("option", *(measure.label for measure in COMMON), "its own")
    return Table.of_texts(
        "How many times as good with the option",
        header,
        [[each.pair.other, *_cells(each)] for each in judged],
    )


def _cells(judged: Judged) -> list[str]:
    common, own = judged.verdicts[: len(COMMON)], judged.verdicts[len(COMMON) :]
    told = "; ".join(f"{each.measure.label}: {each.text}" for each in own)
    return [*(each.text for each in common), told or "–"]
