"""The question of options: each beside its default, and whether it pays."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from cdb.bench.pairs import COMMON, Pair, Verdict
from cdb.report.parts import Block, Cell, Fold, Line, Table, Text
from cdb.report.units import times

WORTH = 1.05
"""A smaller gain, or a smaller cost, decides nothing."""
_HOW = (
    "Base and option run in turns, each in a fresh process over the same replay, all answers "
    "checked. A figure says how many times as good it is with the option: the median of the "
    "rounds, the least and the greatest. Where 1.0 lies between them there is no difference."
)


@dataclass(frozen=True, slots=True)
class Judged:
    """A pair with its verdicts. place: the machine; source: the replay."""

    pair: Pair
    verdicts: Sequence[Verdict]
    place: str
    source: str
    rounds: int

    @property
    def gains(self) -> list[Verdict]:
        """Figures that are better with it."""
        return [each for each in self.verdicts if each.differs and median(each.factors) >= WORTH]

    @property
    def costs(self) -> list[Verdict]:
        """Figures that are worse with it."""
        return [
            each for each in self.verdicts if each.differs and median(each.factors) <= 1 / WORTH
        ]

    @property
    def verdict(self) -> str:
        """In words."""
        gains, costs = _listed(self.gains), _listed(self.costs)
        if gains and costs:
            return f"pays for {gains}; costs {costs}"
        if gains:
            return f"pays: {gains}"
        return f"does not pay: costs {costs}" if costs else "no difference"


def _listed(verdicts: Sequence[Verdict]) -> str:
    return ", ".join(f"{each.measure.label} {times(median(each.factors))}" for each in verdicts)


def options_block(judged: Sequence[Judged]) -> Block:
    """What the pairs say of all options."""
    if not judged:
        return Block("No option was measured here: cdb bench pairs does.", "not measured")
    lines = [
        Line((Cell(f"{each.pair.base} with {each.pair.option}"), Cell(each.verdict)))
        for each in judged
    ]
    paying = sum(1 for each in judged if each.gains and not each.costs)
    mixed = sum(1 for each in judged if each.gains and each.costs)
    finding = (
        f"Of {len(judged)} options measured beside their defaults {paying} only gain, "
        f"{mixed} gain and cost, and {len(judged) - paying - mixed} do not pay."
    )
    one = judged[0]
    where = f"{one.place}, {one.source}, {one.rounds} rounds. {_HOW}"
    table = Table("What each option does", ("option", "verdict"), tuple(lines), words=2)
    return Block(
        finding,
        f"{len(judged)} measured",
        (table, Fold("All figures, and how they were measured", (Text(where), _figures(judged)))),
    )


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
