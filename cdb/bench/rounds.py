"""Figures of rounds: in each, every contestant runs once, so a ratio is of runs that were made one
after the other."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cdb.lab.process import NotMeasuredError

Run = Mapping[str, Any]
"""As cdb.bench.results reads it."""
Round = Mapping[str, Run]
"""Its runs, by contestant."""
Figure = Callable[[Round], float]
"""Of a round. Raises NotMeasuredError."""


def rounds_of(documents: Sequence[Run]) -> list[Round]:
    """The rounds of one matrix, over one replay."""
    rounds: dict[int, dict[str, Run]] = {}
    for each in documents:
        rounds.setdefault(each["run"], {})[each["contestant"]["name"]] = each
    return list(rounds.values())


def values_of(figure: Figure, rounds: Sequence[Round]) -> tuple[list[float], str]:
    """The figure in each round that has it, and why one has not."""
    values, reason = [], ""
    for one_round in rounds:
        try:
            values.append(figure(one_round))
        except NotMeasuredError as error:
            reason = str(error)
    return values, reason


def figure_of(contestant: str, workload: str, name: str, **parameters: str | int) -> Figure:
    """One of a contestant's case that has these parameters."""

    def figure(of: Round) -> float:
        reason = "the contestant was not measured"
        for case in of[contestant]["cases"] if contestant in of else ():
            if case["workload"] != workload:
                continue
            if case["figures"].get(name) is None:
                reason = case["reason"] or "this machine does not tell"
            elif parameters.items() <= case["parameters"].items():
                return float(case["figures"][name])
        raise NotMeasuredError(reason)

    return figure


def ratio_of(figure: Figure, other: Figure) -> Figure:
    """The one over the other, of the same round."""
    return lambda of: figure(of) / other(of)
